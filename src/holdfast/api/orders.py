"""From a call's arguments and the client's defaults to an order that a flow can trust."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from holdfast.api.checks import (
    Given,
    Unset,
    checked_life,
    checked_metadata,
    checked_name,
    checked_ttl,
    checked_wait,
)
from holdfast.durations import Duration
from holdfast.errors import Misuse, Unsupported
from holdfast.flows.order import Order
from holdfast.rules.messages import Want
from holdfast.values import Capabilities, Json, Kind, OnLoss


class Orders:
    """One client's defaults."""

    def __init__(self, capabilities: Capabilities, ttl: Duration, wait: Duration | None) -> None:
        self._capabilities = capabilities
        self._ttl = checked_ttl(ttl, renew=True, capabilities=capabilities)
        self._wait = checked_wait(wait)
        self._lately = Want("lock", 1, 1, self._ttl)  # what was ordered last

    def order(
        self,
        name: str,
        *,
        kind: Kind,
        capacity: int = 1,
        weight: int = 1,
        ttl: Given,
        wait: Given | None,
        max_hold: Duration | None,
        renew: bool,
        reentrant: bool,
        metadata: Mapping[str, Json] | None,
        detached: bool = False,
    ) -> Order:
        """Order ``weight`` of a name's capacity: all, for one holder, unless said otherwise."""
        self.require(kind)
        if detached and not self._capabilities.detached:
            raise Unsupported(
                f"{self._capabilities.backend} frees a lock when the process that took it ends, so"
                " nobody can hold one without a process; sqlite, redis and postgres can"
            )
        span = self._ttl
        if not isinstance(ttl, Unset):
            span = checked_ttl(ttl, renew=renew, capabilities=self._capabilities)
        longest = inf if max_hold is None else checked_life(max_hold, "max_hold")
        want = Want(
            kind=kind,
            capacity=capacity,
            weight=weight,
            ttl=min(span, longest),
            metadata=checked_metadata(metadata),
            detached=detached,
        )
        lately = self._lately
        if want == lately:
            want = lately  # the same object: so wires know that they have written it before
        else:
            self._lately = want
        return Order(
            name=checked_name(name),
            want=want,
            wait=self.wait(wait),
            renew=renew,
            max_hold=longest,
            reentrant=reentrant,
        )

    def require(self, kind: Kind) -> None:
        """Refuse what the backend cannot keep soundly."""
        if kind not in self._capabilities.kinds:
            last = "postgres and advisory" if kind == "rwlock" else "and postgres"
            raise Unsupported(
                f"{self._capabilities.backend} cannot keep a {kind} soundly; memory, sqlite, redis,"
                f" {last} can"
            )

    def wait(self, wait: Given | None) -> float | None:
        """Give how long to wait: as said, or the client's own."""
        return self._wait if isinstance(wait, Unset) else checked_wait(wait)

    def on_loss(self, on_loss: OnLoss) -> OnLoss:
        """Give the policy if it is one."""
        if on_loss not in ("raise", "stop", "flag"):
            raise Misuse(f"on_loss must be 'raise', 'stop' or 'flag', not {on_loss!r}")
        return on_loss
