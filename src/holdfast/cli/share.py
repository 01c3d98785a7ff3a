"""How much of a name a command takes: all of it, a reader's or the writer's side, some permits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps

import click

from holdfast.api.client import Client
from holdfast.api.lease import Lease
from holdfast.api.lock import Lock
from holdfast.cli.options import Command
from holdfast.values import PERMITS_LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What ``--shared``, ``--exclusive``, ``--permits`` and ``--weight`` say together."""

    shared: bool = False
    exclusive: bool = False
    permits: int | None = None
    weight: int = 1

    def claim(
        self, client: Client, name: str, *, ttl: float, wait: float | None, max_hold: float | None
    ) -> Callable[[], Lease]:
        """Give the call that acquires it; what the caller makes of a loss is its own business."""
        if self.permits is not None:
            semaphore = client.semaphore(
                name, permits=self.permits, ttl=ttl, wait=wait, max_hold=max_hold, on_loss="flag"
            )
            return partial(semaphore.acquire, self.weight)
        make: Callable[..., Lock] = partial(client.lock, name)
        if self.shared or self.exclusive:
            sides = client.rwlock(name)
            make = sides.read if self.shared else sides.write
        return make(ttl=ttl, wait=wait, max_hold=max_hold, on_loss="flag").acquire


def sharing(command: Command) -> Command:
    """Add the options that say how much is taken; the command gets ``share``."""

    @click.option("--shared", is_flag=True, help="Run beside others with --shared: as a reader.")
    @click.option(
        "--exclusive", is_flag=True, help="Run beside nobody, where others use --shared: as writer."
    )
    @click.option(
        "--permits",
        type=click.IntRange(1, PERMITS_LIMIT),
        metavar="N",
        help="Run beside others, at most N at a time; $HOLDFAST_SLOT is then below N.",
    )
    @click.option(
        "--weight",
        type=click.IntRange(1),
        metavar="W",
        help="Take so many of the N permits.  [default: 1]",
    )
    @wraps(command)
    def merged(
        *,
        shared: bool,
        exclusive: bool,
        permits: int | None,
        weight: int | None,
        **others: object,
    ) -> int:
        if shared + exclusive + (permits is not None) > 1:
            raise click.UsageError("--shared, --exclusive and --permits exclude each other.")
        if weight is not None and permits is None:
            raise click.UsageError("--weight is for --permits.")
        if weight is not None and permits is not None and weight > permits:
            raise click.UsageError(f"a weight of {weight} can never be had of {permits} permits.")
        share = Share(shared=shared, exclusive=exclusive, permits=permits, weight=weight or 1)
        return command(share=share, **others)

    return merged
