"""Taking away what a trial leaves on a backend: the keys or rows of its own prefix, by their names.

Nothing is searched for and nothing is guessed: the names are the trial's own. What cannot be taken
away (no permission, no way) expires by itself, and the sentence that says so is what is returned.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.errors import BackendUnavailable, HoldfastError
from holdfast.settings import Address, default_file

if TYPE_CHECKING:
    from holdfast.backends.redis.target import Target, Where

WITHIN = 5.0
A_DAY = "what it left under its prefix expires by itself within two days"


def clean(address: Address, prefix: str, names: Sequence[str]) -> str:
    """Remove everything of ``prefix``; say what stays, if anything does."""
    cleaner = _CLEANERS.get(address.scheme)
    if cleaner is None:
        return f"verify cannot clean up on {address.scheme}://; {A_DAY}"
    try:
        return cleaner(address, prefix, names)
    except (HoldfastError, OSError, sqlite3.Error) as error:
        return f"cleaning up failed ({error}); {A_DAY}"


def _nothing(_address: Address, _prefix: str, _names: Sequence[str]) -> str:
    return ""  # it went with the workers' process, or with their sessions


def _sqlite(address: Address, prefix: str, _names: Sequence[str]) -> str:
    place = address.place.removeprefix("/")
    file = Path(place).expanduser() if place else default_file()
    connection = sqlite3.connect(file, timeout=WITHIN, isolation_level=None)
    try:
        connection.execute("DELETE FROM names WHERE prefix = ?", (prefix,))
    finally:
        connection.close()
    return "pipes of killed workers stay beside the file until it is used an hour later"


def _redlock(address: Address, prefix: str, names: Sequence[str]) -> str:
    from holdfast.backends.redlock.requests import Post
    from holdfast.backends.redlock.target import quorum_of

    keys = Post(prefix).keys
    doomed = [key for name in names for key in keys.of(name).all[:2]]
    deadline = clock.now() + WITHIN
    for target in quorum_of(address).targets:
        _delete(target, target.seeds[0], [*doomed, keys.birth], deadline)
    return ""


def _redis(address: Address, prefix: str, names: Sequence[str]) -> str:
    from holdfast.backends.redis.office import Office
    from holdfast.backends.redis.target import target_of

    office = Office(target_of(address), prefix)
    deadline = clock.now() + WITHIN
    office.topology.find(deadline)
    doomed: dict[Where, list[bytes]] = {}
    for name in names:
        keys = office.keys.of(name)
        where = office.topology.known(keys.slot)
        if where is not None:
            doomed.setdefault(where, []).extend(keys.all)
    for where in office.topology.masters():
        birth = office.births.key(where) if office.births else office.keys.birth
        doomed.setdefault(where, []).append(birth)
    for where, keys_there in doomed.items():
        _delete(office.target, where, [key for key in keys_there if key], deadline)
    return ""


def _postgres(address: Address, prefix: str, _names: Sequence[str]) -> str:
    from holdfast.backends.postgres.link import open_link
    from holdfast.backends.postgres.target import target_of

    target, deadline = target_of(address), clock.now() + WITHIN
    link = open_link(target, "holdfast verify", deadline)
    quoted = prefix.replace("'", "''")
    try:
        for table in ("seats", "waiters", "records", "buckets"):
            link.query(f"DELETE FROM {target.schema}.{table} WHERE prefix = '{quoted}'", deadline)  # noqa: S608 - a prefix of our own, quoted
    finally:
        link.close()
    return ""


def _delete(target: Target, where: Where, keys: Sequence[bytes], deadline: float) -> None:
    """Delete keys one by one: in a cluster a command may not name two slots."""
    from holdfast.backends.redis.link import open_link
    from holdfast.backends.redis.requests import command

    link = open_link(target, where, deadline)
    try:
        data = b"".join(command("DEL", key) for key in keys)
        for reply in link.exchange(data, len(keys), deadline):
            if isinstance(reply, Exception):
                raise BackendUnavailable(str(reply))
    finally:
        link.close()


_CLEANERS: dict[str, Callable[[Address, str, Sequence[str]], str]] = {
    "memory": _nothing,
    **dict.fromkeys(("postgresql+advisory", "postgres+advisory"), _nothing),
    "sqlite": _sqlite,
    **dict.fromkeys(("postgresql", "postgres"), _postgres),
    **dict.fromkeys(("redlock", "redlock+tls"), _redlock),
    **dict.fromkeys(
        ("redis", "rediss", "redis+unix", "valkey", "redis+sentinel", "redis+cluster"), _redis
    ),
}
