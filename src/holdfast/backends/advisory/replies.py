"""What the functions of the schema answer, as the rule's own values. No I/O."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from holdfast.backends.advisory.names import written
from holdfast.rules.messages import Refused
from holdfast.values import Holder, Kind, LockInfo, Place, Tenure, printable


class Row(NamedTuple):
    """One advisory lock that is held or waited for, with what is known of it."""

    number: str
    paired: bool
    pid: int
    granted: bool
    shared: bool
    token: int
    prefix: str | None
    name: str | None
    kind: Kind | None
    capacity: int | None
    weight: int | None
    since: float | None
    remaining: float | None
    holder: str | None
    metadata: str | None
    broken: str | None
    application: str | None
    address: str | None

    @property
    def title(self) -> str:
        """The name, or the number if the name is not known."""
        return self.name if self.name is not None else written(self.number, paired=self.paired)

    @property
    def session(self) -> str:
        """Which session of the server it is, for a person."""
        application = f", {printable(self.application)}" if self.application else ""
        return f"server process {self.pid}{application}, from {_place(self.address)}"


def rows_of(found: list[list[Any]]) -> list[Row]:
    """Read what the server knows of some locks."""
    return [Row(*one) for one in found]


def holders_of(rows: Iterable[Row]) -> tuple[Tenure, ...]:
    """Give those who hold."""
    return tuple(_tenure(row) for row in rows if row.granted)


def lock_info(title: str, rows: list[Row]) -> LockInfo:
    """Show one name as the server has it."""
    kind: Kind = next((row.kind for row in rows if row.kind is not None), "lock")
    if all(row.kind is None for row in rows) and any(row.shared for row in rows):
        kind = "rwlock"
    holders = holders_of(rows)
    return LockInfo(
        name=title,
        kind=kind,
        capacity=next((row.capacity for row in rows if row.capacity is not None), 1),
        token=max((held.token for held in holders), default=0),
        holders=holders,
        queue=tuple(
            Place(_holder(row), row.weight or 1, row.since or 0.0, row.session)
            for row in rows
            if not row.granted
        ),
    )


def listed(rows: list[Row]) -> list[LockInfo]:
    """Show every name, in the order of their bytes."""
    by_title: dict[str, list[Row]] = {}
    for row in rows:
        by_title.setdefault(row.title, []).append(row)
    return [lock_info(title, by_title[title]) for title in sorted(by_title, key=str.encode)]


def refusal(answer: list[Any], name: str, kind: Kind) -> Refused | None:
    """Say why a claim can never be right, if that is the answer."""
    match answer[1:]:
        case ["kind", other]:
            return Refused("kind", f"it is in use as a {other}, not as a {kind}")
        case ["collision", prefix, other]:
            return Refused(
                "kind",
                f"its 64-bit number is that of {printable(other)!r} (prefix {printable(prefix)!r}),"
                f" which is in use: PostgreSQL cannot tell the two apart. Rename"
                f" {printable(name)!r}, or keep leases in the table (postgresql://…)",
            )
        case _:
            return None


def _tenure(row: Row) -> Tenure:
    return Tenure(
        holder=_holder(row),
        token=row.token,
        weight=row.weight or 1,
        since=row.since or 0.0,
        expires_in=row.remaining or 0.0,
        metadata=row.metadata or "",
        broken=row.broken or "",
        session=row.session,
    )


def _holder(row: Row) -> Holder:
    if row.holder is not None:
        return Holder(*json.loads(row.holder))
    return Holder("", _place(row.address), row.pid, row.application or "another program")


def _place(address: str | None) -> str:
    return printable(address) if address else "the server's own host"
