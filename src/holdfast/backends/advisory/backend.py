"""``postgresql+advisory://``: PostgreSQL's own session locks, for who wants them to die with it.

One such object per client: the wires and the ear that it hands out share its desk. After a fork the
child is another client, and gets another desk.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast import clock
from holdfast.backends.advisory import schema
from holdfast.backends.advisory.desk import Desk
from holdfast.backends.advisory.ear import Ear as SessionEar
from holdfast.backends.advisory.greeting import see_to_tables
from holdfast.backends.advisory.sync import KeeperWire, SyncWire
from holdfast.backends.advisory.target import Terms, terms_of
from holdfast.backends.postgres.link import open_link
from holdfast.errors import Misuse
from holdfast.ports import Ear, Wire
from holdfast.rules.messages import Notice
from holdfast.settings import Address
from holdfast.values import Capabilities, Holder

MAKING_LIMIT = 30.0
"""Somebody else may be making the tables just now."""

NOTES = (
    "advisory locks have no local deadline: they end with their session",
    "a session that somebody else ends frees its locks at once; the holder is told just after that",
)


class AdvisoryBackend:
    """One client's way to the sessions of a PostgreSQL server."""

    capabilities = Capabilities(
        backend="advisory",
        scope="network",
        wakeup="push",
        notices_crash=True,
        min_ttl=0.5,
        kinds=("lock", "rwlock", "lead"),
        notes=NOTES,
        detached=False,
    )

    def __init__(self, terms: Terms, prefix: str) -> None:
        self._terms = terms
        self._prefix = prefix
        self._desks: dict[str, Desk] = {}

    def sync_wire(self, holder: Holder) -> Wire:
        """Open the way in for threads."""
        return SyncWire(self._desk(holder))

    def aio_wire(self, holder: Holder) -> Wire:
        """Open the way in for tasks."""
        from holdfast.backends.advisory.aio import AioWire  # asyncio only when it is used

        return AioWire(self._desk(holder))

    def keeper_wire(self, holder: Holder) -> Wire:
        """Open the keeper's own way in."""
        return KeeperWire(self._desk(holder))

    def ear(self, holder: Holder, deliver: Callable[[Notice], None]) -> Ear:
        """Watch over the client's sessions."""
        desk = self._desk(holder)
        desk.ledger.tell = deliver
        return SessionEar(desk, holder.client)

    def _desk(self, holder: Holder) -> Desk:
        desk = self._desks.get(holder.client)
        if desk is None:
            label = holder.label if holder.label.isascii() and holder.label.isprintable() else ""
            application = f"holdfast {label or holder.client}"[:63]  # the server keeps no more
            desk = Desk(self._terms, self._prefix, holder.client, application)
            self._desks[holder.client] = desk
        return desk


def connect(address: Address, prefix: str) -> AdvisoryBackend:
    """Read the address; nothing is connected before the first question."""
    return AdvisoryBackend(terms_of(address), prefix)


def migrate(address: Address) -> str:
    """Make the tables ahead of time; say in words what was done."""
    terms = terms_of(address)
    until = clock.now() + MAKING_LIMIT
    link = open_link(terms.target, "holdfast migrate", until)
    try:
        made = see_to_tables(link, terms, until, by_hand=True)
    finally:
        link.close()
    target, version = terms.target, schema.VERSION
    if made:
        return f"{target.shown}: made the schema {target.schema}, version {version}"
    return f"{target.shown}: the schema {target.schema} is of version {version}: nothing to do"


def script(address: Address, since: int = 0) -> str:
    """Give the statements that ``migrate`` would carry out on an empty database."""
    if since:
        raise Misuse(f"there is no version {since} of these tables to begin from; leave that out")
    return schema.for_people(terms_of(address).target.schema)
