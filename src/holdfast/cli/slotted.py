"""``holdfast run --per``: the command as a singleton, once per slot of the backend's clock.

The story is that of ``run``, with a turn instead of a lock: no turn, nothing to do. A command that
ends with 0 closes its slot; one that fails leaves it to the next copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from holdfast.api.client import Client
from holdfast.cli import codes, leased
from holdfast.cli.stage import Stage


class Terms(TypedDict):
    """On which terms the turn is taken, in seconds."""

    ttl: float
    wait: float | None
    max_hold: float | None


def in_slot(
    client: Client,
    name: str,
    per: float,
    terms: Terms,
    unless: str | None,
    command: Sequence[str],
    stage: Stage,
) -> int:
    """Run ``command`` if nobody has completed it in this slot; give the exit code."""
    singleton = client.singleton(name, per, "wait", on_loss="flag", **terms)
    with stage.inbox.interrupting():
        turn = singleton.turn()
    if turn is None:
        return codes.DONE
    lease = turn.lease
    with turn, leased.inheritable(client.lifeline()) as stage.keep_open:
        tether = leased.tether(lease, terms["ttl"], terms["max_hold"], stage)
        if unless is not None and stage.ask(unless, tether):
            return codes.DONE
        code = leased.perform(lease, tether, command, stage)
        if code == codes.DONE and not lease.lost:
            turn.complete()
    return codes.LOST if lease.lost else code
