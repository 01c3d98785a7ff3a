"""Taking away what a trial leaves on a backend: the keys or rows of its own prefix, by their names.

Nothing is searched for and nothing is guessed: the names are the trial's own (``traces``). Whoever
was killed may have sent something that the server has not read yet, so everything is swept again
until a sweep finds nothing. What cannot be taken away (no permission, no way) expires by itself,
and the sentence that says so is what is returned.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.errors import BackendUnavailable, HoldfastError
from holdfast.settings import Address
from holdfast.testing.workload.traces import Traces

if TYPE_CHECKING:
    from holdfast.backends.postgres.target import Target as Database
    from holdfast.backends.redis.target import Target, Where

WITHIN = 5.0
"""How long one sweep may take."""

BETWEEN = 0.1
SWEEPS = 20
TOGETHER = 1000
"""So many commands are sent before their replies are read."""

TWO_DAYS = "what is left under its prefix expires by itself within two days"


def clean(address: Address, prefix: str, traces: Traces) -> str:
    """Remove everything of ``prefix``; say what stays, if anything does."""
    sweep = _SWEEPERS.get(address.scheme)
    if sweep is None:
        return f"verify cannot clean up on {address.scheme}://; {TWO_DAYS}"
    try:
        found = sweep(address, prefix, traces)
        for _ in range(SWEEPS):
            time.sleep(BETWEEN)
            found = sweep(address, prefix, traces)
            if not found:
                return ""
    except (HoldfastError, OSError, sqlite3.Error) as error:
        return f"cleaning up failed ({error}); {TWO_DAYS}"
    return f"{found} keys or rows came back after each of {SWEEPS} sweeps; {TWO_DAYS}"


def _nothing(_address: Address, _prefix: str, _traces: Traces) -> int:
    return 0  # it went with the process of the workers


def _sqlite(address: Address, prefix: str, traces: Traces) -> int:
    from holdfast.backends.sqlite.backend import inboxes_of, path_of
    from holdfast.backends.sqlite.inbox import is_dead

    file = path_of(address)
    connection = sqlite3.connect(file, timeout=WITHIN, isolation_level=None)
    try:
        named = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        there = {name for (name,) in named.fetchall()}
        found = 0
        for table in ("names", "records", "buckets"):
            if table in there:
                statement = f"DELETE FROM {table} WHERE prefix = ?"  # noqa: S608 - constants
                found += connection.execute(statement, (prefix,)).rowcount
    finally:
        connection.close()
    inboxes = inboxes_of(file)
    for client in traces.clients:
        pipe = inboxes / client
        if pipe.exists():
            found += 1
            if is_dead(inboxes, client):
                pipe.unlink(missing_ok=True)
    return found


def _redlock(address: Address, prefix: str, traces: Traces) -> int:
    from holdfast.backends.redlock.requests import Post
    from holdfast.backends.redlock.target import quorum_of

    keys = Post(prefix).keys
    doomed = [keys.birth, *(key for name in traces.claims for key in keys.of(name).all)]
    deadline = clock.now() + WITHIN
    voters = quorum_of(address).targets
    return sum(_deleted(voter, voter.seeds[0], doomed, deadline) for voter in voters)


def _redis(address: Address, prefix: str, traces: Traces) -> int:
    from holdfast.backends.redis.office import Office
    from holdfast.backends.redis.target import target_of

    office = Office(target_of(address), prefix)
    ring = office.keys
    deadline = clock.now() + WITHIN
    office.topology.find(deadline)
    doomed: dict[Where, list[bytes]] = {}
    for where in office.topology.masters():
        birth = office.births.key(where) if office.births else ring.birth
        doomed[where] = [birth] if birth else []
    families = [("record", *place) for place in traces.records]
    families += [("bucket", *place) for place in traces.buckets]
    placed = [(ring.of(name).slot, ring.of(name).all) for name in traces.claims]
    placed += [(ring.of(one[-1]).slot, (ring.of_family(*one),)) for one in families]
    for slot, keys in placed:
        master = office.topology.known(slot)
        if master is None:
            raise BackendUnavailable(f"no server has the slot {slot}", backend="redis")
        doomed.setdefault(master, []).extend(keys)
    return sum(_deleted(office.target, where, keys, deadline) for where, keys in doomed.items())


def _postgres(address: Address, prefix: str, _traces: Traces) -> int:
    from holdfast.backends.postgres.target import target_of

    return _rows(target_of(address), ("seats", "waiters", "records", "buckets"), prefix)


def _advisory(address: Address, prefix: str, _traces: Traces) -> int:
    from holdfast.backends.advisory.target import terms_of

    return _rows(terms_of(address).target, ("claims",), prefix)  # what explained their locks


def _rows(target: Database, tables: Iterable[str], prefix: str) -> int:
    from holdfast.backends.postgres.link import open_link

    deadline, found = clock.now() + WITHIN, 0
    link = open_link(target, "holdfast verify", deadline)
    quoted = prefix.replace("'", "''")
    try:
        for table in tables:
            rows = f"DELETE FROM {target.schema}.{table} WHERE prefix = '{quoted}' RETURNING 1"  # noqa: S608 - a prefix of our own, quoted
            found += len(link.query(rows, deadline))
    finally:
        link.close()
    return found


def _deleted(target: Target, where: Where, keys: Sequence[bytes], deadline: float) -> int:
    """Delete keys one by one (in a cluster a command may not name two slots); count them."""
    from holdfast.backends.redis.link import open_link
    from holdfast.backends.redis.requests import command

    link, found = open_link(target, where, deadline), 0
    try:
        for first in range(0, len(keys), TOGETHER):
            some = keys[first : first + TOGETHER]
            data = b"".join(command("DEL", key) for key in some)
            for reply in link.exchange(data, len(some), deadline):
                if isinstance(reply, Exception):
                    raise BackendUnavailable(str(reply))
                found += int(reply)
    finally:
        link.close()
    return found


_SWEEPERS: dict[str, Callable[[Address, str, Traces], int]] = {
    "memory": _nothing,
    "sqlite": _sqlite,
    **dict.fromkeys(("postgresql+advisory", "postgres+advisory"), _advisory),
    **dict.fromkeys(("postgresql", "postgres"), _postgres),
    **dict.fromkeys(("redlock", "redlock+tls"), _redlock),
    **dict.fromkeys(
        ("redis", "rediss", "redis+unix", "valkey", "redis+sentinel", "redis+cluster"), _redis
    ),
}
