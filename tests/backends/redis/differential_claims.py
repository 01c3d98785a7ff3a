"""Claims as production makes them, for tests of the scripts: ids, holders, inboxes."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha1

from holdfast.rules.messages import Claim, Want
from holdfast.values import Holder, Kind
from tests.backends.redis.differential_server import ServerSide

NAME = "orders:42"


def claim_id_of(number: int) -> str:
    """Make an id: the base64 of twelve bytes."""
    return b64encode(sha1(b"%d" % number, usedforsecurity=False).digest()[:12]).decode()


def claim_of(
    side: ServerSide,
    number: int,
    *,
    kind: Kind = "lock",
    capacity: int = 1,
    ttl: float = 10.0,
    patience: float = 0.0,
) -> Claim:
    """Let client ``number`` claim one share of the name."""
    client = f"client{number}"
    want = Want(kind, capacity, 1, ttl)
    return Claim(
        NAME,
        claim_id_of(number),
        want,
        Holder(client, "host", number),
        side.inbox(client),
        patience,
    )
