"""Which database, and which of our options: the rest of the URL is read as for the lease table."""

from __future__ import annotations

from typing import NamedTuple

from psycopg import pq

from holdfast.backends.advisory.schema import SCHEMA
from holdfast.backends.postgres.target import Target, target_of
from holdfast.errors import Misuse
from holdfast.settings import Address

WAITS = 16

OURS = frozenset({"pooler", "waits"})
SHARED = frozenset({"schema", "install"})


class Terms(NamedTuple):
    """A database, and how its sessions may be used."""

    target: Target
    waits: int  # so many sessions of one client may wait at the same time
    pooled: bool  # a pooler stands between, of which the user says that it gives whole sessions


def terms_of(address: Address) -> Terms:
    """Read the URL."""
    libpq = {option.keyword.decode() for option in pq.Conninfo.get_defaults()}
    address.refuse_unknown(OURS | SHARED | libpq)
    pooled = address.option("pooler", ("none", "session"), "none") == "session"
    waits = address.options.get("waits", str(WAITS))
    if not waits.isdecimal() or not 1 <= int(waits) <= 1000:  # noqa: PLR2004 - a bound for people
        raise Misuse(f"waits={waits} in {address.shown}: a number of sessions from 1 to 1000")
    options = {name: text for name, text in address.options.items() if name not in OURS}
    target = target_of(address._replace(options={"schema": SCHEMA, **options}))
    return Terms(target, int(waits), pooled)
