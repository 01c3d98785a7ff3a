"""The tables and functions, put together from ``schema/``; how they get into a database.

The files of ``schema/`` make version 1; each file of ``schema/steps/`` is the way to the version it
begins with. So a database of any version is brought up by the steps that it lacks, and a new one by
all of them. ``VERSION`` is that of this program. It works with a schema that is as new or newer, as
long as that one still serves it, and with an older one that has what it ``NEEDS``.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from zlib import crc32

VERSION = 2

NEEDS = 1
"""The oldest schema that leases work on; what came later is for ``holdfast.postgres`` alone."""

INSTALLING = crc32(b"holdfast schema")
"""The number of the advisory lock under which a schema is made: one at a time."""


def statements(schema: str, since: int = 0) -> str:
    """Give all that a schema of version ``since`` lacks, as one script for one transaction."""
    text = _text(since)
    if schema != "holdfast":
        text = re.sub(r"\bholdfast\.", f"{schema}.", text)
    return text if since else f"{made(schema)}\n\n{text}"


def made(schema: str) -> str:
    """Give what makes the schema unless it is there: IF NOT EXISTS takes the right to make one."""
    return (
        f"DO $$ BEGIN IF to_regnamespace('{schema}') IS NULL THEN CREATE SCHEMA {schema};"
        " END IF; END $$;"
    )


def for_people(schema: str, since: int = 0) -> str:
    """Give the script as a database administrator would run it, in one transaction."""
    script = statements(schema, since)
    return f"BEGIN;\nSELECT pg_advisory_xact_lock({INSTALLING});\n{script}\nCOMMIT;\n"


@cache
def _text(since: int) -> str:
    folder = files(__package__) / "schema"
    first = [] if since else _scripts(folder)
    steps = [
        step
        for step in _scripts(folder / "steps")
        if since < int(step.name.partition("_")[0]) <= VERSION
    ]
    return "\n".join(part.read_text(encoding="utf-8") for part in [*first, *steps])


def _scripts(folder: Traversable) -> list[Traversable]:
    found = [part for part in folder.iterdir() if part.name.endswith(".sql")]
    return sorted(found, key=lambda part: int(part.name.partition("_")[0]))
