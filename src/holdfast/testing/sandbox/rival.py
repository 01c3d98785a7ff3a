"""Somebody else who holds a name: nobody's client, so that busy paths can be tried."""

from __future__ import annotations

import secrets
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from holdfast.errors import Misuse
from holdfast.flows.explain import tenure
from holdfast.flows.order import Order
from holdfast.rules.messages import Busy, Claim, Granted, Refused, Release, Want
from holdfast.runtimes.engine import Engine
from holdfast.testing.sandbox.backend import SandboxBackend
from holdfast.testing.sandbox.ground import Ground
from holdfast.values import Holder, Kind, printable

FOR_EVER = 10 * 365 * 86400.0


class Holdable(Protocol):
    """What a client makes of a name: a lock, a semaphore, a side of a readers/writer lock."""

    @property
    def name(self) -> str:
        """What is locked."""
        ...


class Share(NamedTuple):
    """What is held of which name, as the rule counts it."""

    name: str
    prefix: str
    kind: Kind = "lock"
    capacity: int = 1
    weight: int = 1


def share_of(ground: Ground, what: Holdable) -> Share:
    """Say what ``what`` would take."""
    order, engine = getattr(what, "_order", None), getattr(what, "_engine", None)
    if not isinstance(order, Order) or not isinstance(engine, Engine):
        raise Misuse(f"hold() takes a name, or the lock that is to be busy, not {what!r}")
    if len(getattr(what, "names", (order.name,))) > 1:
        raise Misuse(f"hold() takes one name: hold each of those of {what!r} by itself")
    backend = engine.backend
    if not isinstance(backend, SandboxBackend) or backend.ground is not ground:
        raise Misuse(f"{what!r} is not of this sandbox, so nobody can hold it here")
    want = order.want
    return Share(order.name, backend.prefix, want.kind, want.capacity, want.weight)


class Rival:
    """A hold on one name until it is released, or until its time is over. A context manager."""

    def __init__(self, ground: Ground, share: Share, label: str, lives_for: float | None) -> None:
        self._ground = ground
        self._prefix = share.prefix
        self._claim_id = secrets.token_hex(8)
        self.name = name = share.name
        self.holder = Holder(secrets.token_hex(8), "elsewhere", 1, label)
        ttl = FOR_EVER if lives_for is None else lives_for
        want = Want(share.kind, share.capacity, share.weight, ttl)
        claim = Claim(name, self._claim_id, want, self.holder, "", 0.0)
        (reply,) = ground.space.answer(share.prefix, (claim,))
        match reply:
            case Granted():
                self.token = reply.token
            case Busy():
                who = "; ".join(tenure(held) for held in reply.holders) or "those in its line"
                raise Misuse(
                    f"{printable(name)!r} is not free, so nobody else can hold it: it belongs to"
                    f" {who}. Let hold() come before the tested code takes it."
                )
            case Refused():
                raise Misuse(f"{printable(name)!r} cannot be held: {reply.detail}")
            case _:
                raise Misuse(f"{printable(name)!r} cannot be held ({type(reply).__name__})")

    def release(self) -> None:
        """Let go: who waits for the name gets it. Harmless when repeated."""
        self._ground.space.answer(self._prefix, (Release(self.name, self._claim_id),))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()

    def __repr__(self) -> str:
        return f"<Rival {self.holder.label!r} on {self.name!r} token={self.token}>"
