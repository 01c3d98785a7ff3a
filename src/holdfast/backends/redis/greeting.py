"""The first words on a connection: protocol, login, name, database, inbox. No I/O here.

Everything is sent at once and answered in order. ``HELLO 3`` brings RESP3, in which notices come
as pushes between the replies; where a server or proxy does not speak it, RESP2 does, and the inbox
gets a connection of its own.
"""

from __future__ import annotations

from typing import Any

from holdfast.backends.redis import faults
from holdfast.backends.redis.requests import command
from holdfast.backends.redis.target import Login, Target

CLIENT_NAME = "holdfast"


def greeting(login: Login, database: int, protocol: int) -> list[bytes]:
    """Give the commands that open a connection."""
    words: list[bytes] = []
    if protocol == 3:  # noqa: PLR2004 - RESP3
        secret = ("AUTH", login.username or "default", login.password) if _given(login) else ()
        words.append(command("HELLO", 3, *secret, "SETNAME", CLIENT_NAME))
    else:
        if _given(login):
            user = (login.username,) if login.username else ()
            words.append(command("AUTH", *user, login.password))
        words.append(command("CLIENT", "SETNAME", CLIENT_NAME))
    if database:
        words.append(command("SELECT", database))
    return words


def refusal(target: Target, replies: list[Any]) -> Exception | None:
    """Say why the server did not let us in, if so."""
    for reply in replies:
        if isinstance(reply, Exception):
            return faults.refused(target.shown, str(reply))
    return None


def speaks_old(replies: list[Any]) -> bool:
    """Whether the server knows no RESP3."""
    first = replies[0]
    if not isinstance(first, Exception):
        return False
    return str(first).startswith(("NOPROTO", "ERR unknown command", "ERR unsupported"))


def _given(login: Login) -> bool:
    return bool(login.username or login.password)
