"""Losing a lease on demand: broken by force, told, and waited for until it has been told."""

from __future__ import annotations

from holdfast.api.checks import checked_name
from holdfast.api.lease import AsyncLease, Lease
from holdfast.errors import Misuse
from holdfast.rules.messages import Break, Broke, Look, Seen
from holdfast.testing.sandbox.backend import SandboxBackend
from holdfast.testing.sandbox.ground import Ground
from holdfast.values import Tenure, printable


def lose(ground: Ground, lease: Lease | AsyncLease | str, reason: str) -> None:
    """Take ``lease`` away, or whatever is held under that name."""
    if isinstance(lease, str):
        prefix, tenures = _held(ground, checked_name(lease))
        name = lease
    elif isinstance(lease, (Lease, AsyncLease)):
        prefix, tenures = _of(ground, lease)
        name = lease.name
    else:
        raise Misuse(f"lose() takes a lease or a name, not {lease!r}")
    for held in tenures:
        _refuse_untellable(ground, name, held)
    for held in tenures:
        broken = Break(name, held.token, reason, force=True)
        (reply,) = ground.space.answer(prefix, (broken,))
        if not isinstance(reply, Broke):
            raise Misuse(f"{printable(name)!r} was let go in this very moment")
        _wait_until_told(ground, held.holder.client)


def _held(ground: Ground, name: str) -> tuple[str, tuple[Tenure, ...]]:
    found = [
        (prefix, tenures)
        for prefix in sorted(ground.prefixes)
        if (tenures := _tenures(ground, prefix, name))
    ]
    if not found:
        raise Misuse(f"nobody holds {printable(name)!r}, so nobody can lose it")
    if len(found) > 1:
        raise Misuse(
            f"{printable(name)!r} is held under several prefixes; say which by giving the lease"
        )
    return found[0]


def _of(ground: Ground, lease: Lease | AsyncLease) -> tuple[str, tuple[Tenure, ...]]:
    backend = lease._engine.backend  # noqa: SLF001 - one library
    if not isinstance(backend, SandboxBackend) or backend.ground is not ground:
        raise Misuse(f"{lease!r} is not held in this sandbox, so it cannot be lost here")
    tenures = _tenures(ground, backend.prefix, lease.name)
    mine = tuple(held for held in tenures if held.token == lease.token)
    if not mine:
        raise Misuse(f"{lease!r} is over already, so it cannot be lost")
    return backend.prefix, mine


def _tenures(ground: Ground, prefix: str, name: str) -> tuple[Tenure, ...]:
    (reply,) = ground.space.answer(prefix, (Look(name),))
    return reply.locks[0].holders if isinstance(reply, Seen) else ()


def _refuse_untellable(ground: Ground, name: str, held: Tenure) -> None:
    client = held.holder.client
    if client not in ground.ears:
        raise Misuse(
            f"{printable(name)!r} is held by {held.holder}, who is no client of this sandbox: a"
            " rival is released, not lost"
        )
    if ground.conditions.outage(client) is not None:
        raise Misuse(
            f"{held.holder} is cut off, so nobody can tell it that {printable(name)!r} is lost: end"
            " the outage first, or let the time of its lease run out"
        )


def _wait_until_told(ground: Ground, client: str) -> None:
    """Wait for the keeper, on whose thread the loss is told: it has been when that sleeps again."""
    rest = ground.time.rest
    if rest.is_keeper():  # a callback of one lease that loses another: told after it has returned
        return
    seat = rest.seated(client)
    if seat is not None:
        rest.wait(seat)
