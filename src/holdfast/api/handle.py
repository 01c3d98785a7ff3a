"""A lease held without a process: taken by one command, renewed or released by another.

Its handle carries the claim's secret id: whoever has the handle can end the lease. It is made to be
kept in a variable of a shell script, and never appears in a listing.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.api.checks import UNSET, Given, checked_name
from holdfast.api.client import Client
from holdfast.durations import Duration, positive
from holdfast.errors import BackendUnavailable, LockLost, Misuse
from holdfast.flows.acquire import acquire
from holdfast.flows.session import ask_until
from holdfast.rules.messages import Ended, Granted, Item, Release, Renew, Renewed, Reply
from holdfast.runtimes.step import run
from holdfast.values import Json, printable

_MARK = "hf1-"


@dataclass(frozen=True, slots=True)
class Handle:
    """A name, its token and ttl, and the secret that ends the lease."""

    name: str
    token: int
    ttl: float
    claim_id: str = field(repr=False)

    def __str__(self) -> str:
        cells = json.dumps([self.name, self.token, self.ttl, self.claim_id], ensure_ascii=False)
        return _MARK + base64.urlsafe_b64encode(cells.encode()).decode().rstrip("=")

    @classmethod
    def parse(cls, text: str) -> Handle:
        """Read what ``str`` wrote; ``Misuse`` for anything else, whatever was done to it."""
        text = text.strip()
        try:
            if not text.startswith(_MARK):
                raise ValueError(text)
            body = text.removeprefix(_MARK)
            cells = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))
            name, token, ttl, claim_id = json.loads(cells)
            return cls(checked_name(name), _token(token), _ttl(ttl), checked_name(claim_id))
        except (Misuse, ValueError, TypeError, RecursionError):
            # Not what these say: they may quote the secret.
            raise Misuse(
                "this is not a handle; give the line that `holdfast acquire` printed"
            ) from None


def _token(value: object) -> int:
    if type(value) is int and 0 < value < 1 << 63:
        return value
    raise ValueError("token")


def _ttl(value: object) -> float:
    if type(value) is float or type(value) is int:
        return positive(value, "ttl")
    raise ValueError("ttl")


def acquire_handle(
    client: Client,
    name: str,
    *,
    ttl: Given = UNSET,
    wait: Given | None = UNSET,
    metadata: Mapping[str, Json] | None = None,
) -> Handle:
    """Hold ``name`` for ``ttl`` on behalf of nobody in particular; it is not renewed by itself."""
    order = client._orders.order(  # noqa: SLF001 - one room
        name,
        kind="lock",
        ttl=ttl,
        wait=wait,
        max_hold=None,
        renew=False,
        reentrant=False,
        metadata=metadata,
        detached=True,
    )
    state = run(acquire(client._engine.session, order, ("", 0)))  # noqa: SLF001
    return Handle(name, state.token, order.want.ttl, state.claim_id)


def renew_handle(client: Client, handle: Handle, ttl: Duration | None = None) -> float:
    """Let the lease live for ``ttl`` from now (its own by default); give what it has left."""
    span = handle.ttl if ttl is None else positive(ttl, "ttl")
    item = Item(handle.claim_id, handle.token, span)
    reply = _asked(client, Renew(handle.name, (item,)))
    answer = reply.answers[0] if isinstance(reply, Renewed) else reply
    match answer:
        case Granted():
            return answer.remaining
        case Ended():
            raise _lost(client, handle, answer)
        case _:
            raise BackendUnavailable(f"unexpected answer ({type(answer).__name__})")


def release_handle(client: Client, handle: Handle) -> None:
    """Give the lease back; ``LockLost`` if it had ended before. Repeating it is harmless."""
    reply = _asked(client, Release(handle.name, handle.claim_id))
    if isinstance(reply, Ended) and reply.how != "released":
        raise _lost(client, handle, reply)


def _asked(client: Client, request: Renew | Release) -> Reply:
    session = client._engine.session  # noqa: SLF001 - one room
    reply, _ = run(ask_until(session, request, session.runtime.now() + session.call_limit))
    return reply


def _lost(client: Client, handle: Handle, answer: Ended) -> LockLost:
    name, reason = printable(handle.name), answer.reason or answer.how
    return LockLost(
        f"the lease on {name!r} (token {handle.token}) is over: {printable(reason)}."
        f" {client._engine.session.look(handle.name)} tells who has it now.",  # noqa: SLF001
        name=handle.name,
        token=handle.token,
        reason=reason,
    )
