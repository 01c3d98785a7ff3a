"""A crew on a holdfast that somebody has spoilt in one place.

Run as a program of its own (``python -m tests.workload.sabotaged NAME FOLDER``): it spoils the
library, forks the workers off, so that they have it spoilt too, and prints the verdict as JSON.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.api import once_run
from holdfast.api.lease import _LeaseFace
from holdfast.flows import limit, once, singleton, swap
from holdfast.rules import lease
from holdfast.rules.desk import Desk
from holdfast.rules.record_messages import Moved
from holdfast.testing.history.terms import Terms
from holdfast.testing.workload import errands
from holdfast.testing.workload.crew import Crew
from holdfast.testing.workload.plan import Habits, Plan

CALM = dict.fromkeys(Habits.__slots__, 0.0)


def replace(owner: object, name: str, value: object) -> None:
    """Put something else in the place of what works."""
    setattr(owner, name, value)


def nothing() -> None:
    """Spoil nothing."""


def room_for_everybody() -> None:
    """Let a newcomer in whoever is there."""
    replace(Desk, "has_room", lambda _desk, _want: True)


def last_come_first_served() -> None:
    """Put whoever comes to the front of the line."""
    usual = Desk.enqueue

    def enqueue(desk: Desk, claim: Any) -> None:
        usual(desk, claim)
        desk.queue = {claim.claim_id: desk.queue.pop(claim.claim_id), **desk.queue}

    replace(Desk, "enqueue", enqueue)


def the_same_token_for_all() -> None:
    """Give every grant the same token."""
    usual = Desk.grant

    def grant(desk: Desk, claim: Any, life: float) -> Any:
        granted = usual(desk, claim, life)
        desk.last_token = 7
        desk.grants[claim.claim_id] = desk.grants[claim.claim_id]._replace(token=7)
        return granted._replace(token=7)

    replace(Desk, "grant", grant)


def believing_too_long() -> None:
    """Add to the deadline what should be taken off."""
    replace(lease, "deadline", lambda asked_at, remaining: asked_at + remaining + 0.5)


def losing_in_silence() -> None:
    """Never call who wants to be told of a loss."""
    replace(_LeaseFace, "on_lost", lambda _lease, _callback: None)


def nobody_passes_it_on() -> None:
    """Never let anybody in from the line."""
    replace(Desk, "hand_over", lambda _desk, _asking=(): None)


def only(*wanted: str) -> None:
    """Let the workers run these errands alone: they meet, however slow the machine is."""
    replace(errands, "possible", lambda _client, _names: wanted)


soundly = swap.replace


async def blindly(session: Any, space: Any, name: str, value: Any, **terms: Any) -> Any:
    """Write over whatever is there."""
    reply = await soundly(session, space, name, value, **terms)
    if isinstance(reply, Moved) and reply.why == "version":
        terms["if_version"] = reply.entry.version
        reply = await soundly(session, space, name, value, **terms)
    return reply


async def nothing_there(*_anything: Any) -> None:
    """Find nothing, or wait for nothing."""


def adding_blindly() -> None:
    """Write a sum over what somebody else has written meanwhile."""
    only("add")
    replace(swap, "replace", blindly)


def doing_it_again() -> None:
    """Do what has been done, and write it over what came of it."""
    only("do once", "run per slot")
    replace(once, "replace", blindly)
    replace(once_run, "recall", nothing_there)
    replace(singleton, "replace", blindly)
    replace(singleton, "_is_closed", lambda _session, _entry: False)


def spending_what_is_reserved() -> None:
    """Take a permit as soon as it is promised."""
    only("take")
    replace(errands, "RATE", 2)  # a rate that even a slow machine exceeds
    replace(errands, "PATIENCE", 10.0)
    replace(limit, "_sleep_until", nothing_there)


@dataclass(frozen=True)
class Sabotage:
    """What is spoilt, and what the workers do so that it shows."""

    spoil: Callable[[], None]
    habits: dict[str, float] = field(default_factory=dict)
    hold: float = 0.05


SABOTAGES = {
    "nothing": Sabotage(nothing, {"unrenewed": 0.3, "limited": 0.3, "errands": 0.5}, 0.6),
    "room for everybody": Sabotage(room_for_everybody),
    "last come, first served": Sabotage(last_come_first_served),
    "the same token for all": Sabotage(the_same_token_for_all),
    "believing too long": Sabotage(believing_too_long, {"unrenewed": 1.0}, 1.6),
    "losing in silence": Sabotage(losing_in_silence, {"limited": 1.0}, 1.2),
    "nobody passes it on": Sabotage(nobody_passes_it_on),
    "adding blindly": Sabotage(adding_blindly, {"errands": 1.0}),
    "doing it again": Sabotage(doing_it_again, {"errands": 1.0}),
    "spending what is reserved": Sabotage(spending_what_is_reserved, {"errands": 1.0}),
}


def main() -> None:
    """Let a crew work for a while."""
    sabotage, folder = SABOTAGES[sys.argv[1]], Path(sys.argv[2])
    (folder / "histories").mkdir()
    plan = Plan(
        url=f"sqlite:///{folder}/locks.db",
        folder=f"{folder}/histories",
        names=("a",),
        ttl=0.4,
        hold=sabotage.hold,
        rest=0.0,
        habits=Habits(**{**CALM, **sabotage.habits}),
    )
    sabotage.spoil()
    with Crew(plan, forking=True) as crew:
        for mode in ("sync", "sync", "async", "threads"):
            crew.start(mode)
        time.sleep(3)
        crew.send_home(8)
        verdict = crew.judge(Terms(waiting_limit=20, idle_limit=5))
    print(json.dumps(verdict.as_json()))  # noqa: T201 - this is how a program reports


if __name__ == "__main__":
    main()
