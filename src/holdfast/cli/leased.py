"""What a lease means to a command: full when it starts, its limit while it runs, told to it.

Shared by ``run`` and ``lead``. Whether and when a command is started is their business; how it is
attended is in ``stage`` and ``attend``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from holdfast.api.lease import Lease
from holdfast.cli.report import say
from holdfast.cli.stage import Stage
from holdfast.cli.tether import LeaseTether, full_life

FULL = 2 / 3
"""A lease with less than this share of its life left was handed over and not yet filled up."""


def tether(lease: Lease, ttl: float, max_hold: float | None, stage: Stage) -> LeaseTether:
    """Fill the lease up to its full life, and tie what is performed on ``stage`` to it."""
    if lease.remaining < full_life(ttl, max_hold) * FULL:
        lease.extend(ttl)
    lease.on_lost(stage.inbox.ring)
    return LeaseTether(lease, ttl, max_hold)


def perform(lease: Lease, tether: LeaseTether, command: Sequence[str], stage: Stage) -> int:
    """Run ``command`` under ``lease`` until nothing of it is left; give its exit code."""
    stage.env = {**os.environ, **_told(lease)}
    code = stage.perform(command, tether)
    if lease.lost:  # we were paused, and cannot know whether the command ended in time
        say(tether.why())
    return code


def _told(lease: Lease) -> dict[str, str]:
    """Say in the command's environment what it holds."""
    told = {"HOLDFAST_NAME": lease.name, "HOLDFAST_TOKEN": str(lease.token)}
    if lease.slots:
        told["HOLDFAST_SLOT"] = str(lease.slot)
        told["HOLDFAST_SLOTS"] = ",".join(map(str, lease.slots))
    return told


@contextmanager
def inheritable(descriptor: int | None) -> Iterator[tuple[int, ...]]:
    """Copy a descriptor for a child: the library closes its own one in every fork."""
    if descriptor is None:
        yield ()
        return
    copy = os.dup(descriptor)
    try:
        yield (copy,)
    finally:
        os.close(copy)
