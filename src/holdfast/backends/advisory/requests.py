"""What is said to a session: one function of the schema each, ready to be sent. No I/O."""

from __future__ import annotations

import json
from collections.abc import Sequence

from holdfast.backends.advisory.hold import Hold
from holdfast.backends.postgres.requests import Statement

LONGEST = 2_000_000_000
"""Milliseconds: the server counts in 32 bits, and three weeks are as good as for ever."""

_ARGUMENTS = {
    "claim": "$1::bigint, $2, $3, $4, $5::integer, $6::integer, $7::integer, $8, $9, $10::bigint,"
    " $11::integer, $12::boolean",
    "register": "$1::bigint, $2, $3, $4, $5::integer, $6::integer, $7::integer, $8, $9,"
    " $10::integer",
    "wait": "$1::bigint, $2::boolean, $3::bigint",
    "arrived": "$1::integer, $2::bigint",
    "unlock": "$1::bigint, $2::boolean, $3::bigint, $4::integer",
    "renew": "$1::integer",
    "extend": "$1::bigint, $2::integer",
    "cancel": "$1::integer, $2::bigint",
    "mark": "$1::bigint, $2::bigint, $3, $4::boolean",
    "evict": "$1::bigint, $2::bigint, $3::integer",
    "look": "$1::bigint",
    "listing": "$1, $2, $3::boolean",
}

_UNLOCK_ALL = (
    "SELECT json_build_array(pg_backend_pid(), 'unlocked', (SELECT json_agg("
    "{schema}.unlock(u.key, u.shared, u.token, $4::integer) -> 2 ORDER BY u.place) FROM"
    " unnest($1::bigint[], $2::boolean[], $3::bigint[])"
    " WITH ORDINALITY AS u(key, shared, token, place)))"
)


class Script:
    """Writes the statements of one client."""

    def __init__(self, schema: str, prefix: str) -> None:
        self._prefix = prefix
        self._texts = {
            name: f"SELECT {schema}.{name}({arguments})".encode()
            for name, arguments in _ARGUMENTS.items()
        }
        self._texts["unlock_all"] = _UNLOCK_ALL.format(schema=schema).encode()

    def claim(self, hold: Hold, idle: float, *, again: bool) -> Statement:
        """Try once, on a session that then is to live on for ``idle`` seconds of silence."""
        seen = hold.claim.seen_token
        return self._say("claim", *self._described(hold), seen, milliseconds(idle), again)

    def register(self, hold: Hold, idle: float) -> Statement:
        """Say who is about to wait on a session."""
        return self._say("register", *self._described(hold), milliseconds(idle))

    def wait(self, hold: Hold) -> Statement:
        """Stand in line."""
        return self._say("wait", hold.number, hold.shared, hold.claim.seen_token)

    def arrived(self, pid: int, number: int) -> Statement:
        """See that another session of ours stands in line, or has it."""
        return self._say("arrived", pid, number)

    def unlock(self, hold: Hold, idle: float) -> Statement:
        """Give one back."""
        return self._say("unlock", hold.number, hold.shared, hold.token, milliseconds(idle))

    def unlock_all(self, holds: Sequence[Hold], idle: float) -> Statement:
        """Give many back, in one question."""
        columns = (
            [hold.number for hold in holds],
            [hold.shared for hold in holds],
            [hold.token for hold in holds],
        )
        return self._say("unlock_all", *columns, milliseconds(idle))

    def renew(self, idle: float) -> Statement:
        """Let a session live on."""
        return self._say("renew", milliseconds(idle))

    def extend(self, token: int, ttl: float) -> Statement:
        """Show a longer life."""
        return self._say("extend", token, milliseconds(ttl))

    def cancel(self, pid: int, number: int) -> Statement:
        """Let another session of ours stop waiting."""
        return self._say("cancel", pid, number)

    def mark(self, number: int, token: int, reason: str, *, force: bool) -> Statement:
        """Mark a grant as broken."""
        return self._say("mark", number, token, reason, force)

    def evict(self, number: int, token: int, grace: int) -> Statement:
        """End the session that has a grant, after so many milliseconds of grace."""
        return self._say("evict", number, token, grace)

    def look(self, number: int) -> Statement:
        """See who has one number."""
        return self._say("look", number)

    def listing(self, start: str, *, foreign: bool) -> Statement:
        """See every name that starts like that, and what other programs have."""
        return self._say("listing", self._prefix, start, foreign)

    def _described(self, hold: Hold) -> tuple[object, ...]:
        claim, want = hold.claim, hold.claim.want
        return (
            hold.number,
            self._prefix,
            claim.name,
            want.kind,
            want.capacity,
            want.weight,
            milliseconds(want.ttl),
            json.dumps(claim.holder),
            want.metadata,
        )

    def _say(self, name: str, *values: object) -> Statement:
        return Statement(name, self._texts[name], tuple(map(_written, values)), ())


def milliseconds(seconds: float) -> int:
    """Give a span as the server counts it, rounded up: a session must not end before its lease."""
    return min(int(seconds * 1000) + 1, LONGEST) if seconds else 0


def _written(value: object) -> bytes:
    if isinstance(value, bool):
        return b"t" if value else b"f"
    if isinstance(value, list):
        return b"{%s}" % b",".join(map(_written, value))
    return str(value).encode()
