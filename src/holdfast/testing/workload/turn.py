"""One turn of a worker, drawn from its dice: threads and tasks play the same script."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import Enum, auto

from holdfast.testing.workload.kinds import kind_of
from holdfast.testing.workload.plan import Plan

MANY_STEPS = 4
LITTLE = 0.3
"""How long a worker waits at most if it waits little."""


class Step(Enum):
    """What a holder does between two checks."""

    REST = auto()
    WRITE = auto()
    SCRIBBLE = auto()
    EXTEND = auto()
    BLOCK = auto()
    FORK = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Which lock, how it is asked for, and what is done under it."""

    name: str
    wait: float | None
    ttl: float
    renew: bool
    max_hold: float | None
    steps: tuple[Step, ...]
    pause: float
    errs: bool
    breaks: bool
    forces: bool
    cancel_after: float | None
    rest: float
    shares: bool = False
    """Where a name can be shared: one share of it, instead of all."""

    @classmethod
    def drawn(cls, plan: Plan, dice: random.Random, *, task: bool, may_fork: bool) -> Turn:
        """Roll the dice, always the same number of times up to the steps."""
        habits = plan.habits
        name = dice.choice(plan.names)
        patience = dice.random()
        little = dice.uniform(0.01, LITTLE)
        wait: float | None = None
        if patience < habits.tries:
            wait = 0.0
        elif patience < habits.tries + habits.waits_little:
            wait = little
        renew = dice.random() >= habits.unrenewed
        limit = plan.ttl * dice.uniform(0.05, 1.0)
        limited = dice.random() < habits.limited
        cancelled = dice.random() < habits.cancels
        cancel_after = dice.choice([0.0, 0.001, 0.01, 0.1]) * dice.random()
        kind = kind_of(name)
        shares = kind == "semaphore" or (kind == "rwlock" and dice.random() < habits.shares)
        return cls(
            name=name,
            wait=wait,
            ttl=plan.ttl,
            renew=renew,
            max_hold=limit if limited else None,
            errs=dice.random() < habits.errs,
            breaks=dice.random() < habits.breaks,
            forces=dice.random() < habits.forces,
            cancel_after=cancel_after if task and cancelled else None,
            rest=dice.uniform(0.0, plan.rest),
            pause=dice.uniform(0.0, plan.hold) / MANY_STEPS,
            shares=shares,
            steps=_steps(plan, dice, task=task, may_fork=may_fork, shares=shares),
        )


def _steps(
    plan: Plan, dice: random.Random, *, task: bool, may_fork: bool, shares: bool
) -> tuple[Step, ...]:
    habits = plan.habits
    usual = (Step.REST, Step.WRITE, Step.WRITE, Step.SCRIBBLE)
    if shares:  # nothing is written under what others may hold as well
        usual = (Step.REST, Step.REST, Step.REST, Step.REST)
    steps = [dice.choice(usual) for _ in range(dice.randint(0, MANY_STEPS))]
    if dice.random() < habits.extends:
        steps.append(Step.EXTEND)
    if task and dice.random() < habits.blocks:
        steps.append(Step.BLOCK)
    if may_fork and dice.random() < habits.forks:
        steps.append(Step.FORK)
    return tuple(steps)
