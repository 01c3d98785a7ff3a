"""Making the tables ahead of time, by somebody who may; or the script that makes them by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from holdfast import clock
from holdfast.backends.postgres import faults, schema
from holdfast.backends.postgres.greeting import greet, install
from holdfast.backends.postgres.link import open_link
from holdfast.backends.postgres.survey import Survey
from holdfast.backends.postgres.target import target_of
from holdfast.errors import BackendUnavailable, Misuse
from holdfast.settings import Address

Query: TypeAlias = Callable[[str, float], list[list[str]]]

LIMIT = 30.0
"""Somebody else may be making them just now, or reading the tables in a long transaction."""


def migrate(address: Address) -> str:
    """Bring the schema to the version of this program; say in words what was done."""
    target = target_of(address)
    until = clock.now() + LIMIT
    link = open_link(target, "holdfast migrate", until)
    try:
        before = _version(link.query, target.schema, until)
        if before is None or schema.NEEDS <= before < schema.VERSION:
            install(link, target, until, by_hand=True)
        greet(link, target, Survey(target.shown, push=False), until)
    finally:
        link.close()
    if before is None:
        return f"{target.shown}: made the schema {target.schema}, version {schema.VERSION}"
    if before < schema.VERSION:
        return (
            f"{target.shown}: brought the schema {target.schema} from version {before} to"
            f" {schema.VERSION}"
        )
    return f"{target.shown}: the schema {target.schema} is of version {before}: nothing to do"


def script(address: Address, since: int) -> str:
    """Give the statements that ``migrate`` carries out where version ``since`` is; 0 is none."""
    if not 0 <= since < schema.VERSION:
        raise Misuse(
            f"there is nothing to do since version {since}: this holdfast makes version"
            f" {schema.VERSION}, and 0 is an empty database"
        )
    return schema.for_people(target_of(address).schema, since)


def _version(query: Query, name: str, until: float) -> int | None:
    try:
        rows = query(f"SELECT {name}.version()", until)
    except BackendUnavailable as error:
        if getattr(error, "state", "") in faults.MISSING:
            return None
        raise
    return int(rows[0][0])
