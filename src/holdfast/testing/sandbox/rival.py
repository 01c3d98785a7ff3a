"""Somebody else who holds a name: nobody's client, so that busy paths can be tried."""

from __future__ import annotations

import secrets
from types import TracebackType
from typing import Self

from holdfast.errors import Misuse
from holdfast.flows.explain import tenure
from holdfast.rules.messages import Busy, Claim, Granted, Refused, Release, Want
from holdfast.testing.sandbox.ground import Ground
from holdfast.values import Holder, printable

FOR_EVER = 10 * 365 * 86400.0


class Rival:
    """A hold on one name until it is released, or until its time is over. A context manager."""

    def __init__(
        self, ground: Ground, prefix: str, name: str, label: str, lives_for: float | None
    ) -> None:
        self._ground = ground
        self._prefix = prefix
        self._claim_id = secrets.token_hex(8)
        self.name = name
        self.holder = Holder(secrets.token_hex(8), "elsewhere", 1, label)
        want = Want("lock", 1, 1, FOR_EVER if lives_for is None else lives_for)
        claim = Claim(name, self._claim_id, want, self.holder, "", 0.0)
        (reply,) = ground.space.answer(prefix, (claim,))
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
                raise Misuse(f"{printable(name)!r} cannot be held as a lock: {reply.detail}")
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
