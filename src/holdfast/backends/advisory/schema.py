"""The tables and functions that explain locks, put together from ``schema/``.

Made under PostgreSQL's own lock, so that of twenty programs that start at once one makes them.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from zlib import crc32

from holdfast.backends.postgres.schema import made

VERSION = 1

SCHEMA = "holdfast_advisory"

MAKING = crc32(b"holdfast advisory schema")
"""The number of the lock under which the schema is made."""


@cache
def statements(schema: str) -> str:
    """Give all that makes the schema, for one transaction."""
    folder = files(__package__) / "schema"
    parts = sorted(part.name for part in folder.iterdir() if part.name.endswith(".sql"))
    text = "\n".join((folder / part).read_text(encoding="utf-8") for part in parts)
    if schema != SCHEMA:
        text = re.sub(rf"\b{SCHEMA}\.", f"{schema}.", text)
    return f"{made(schema)}\n\n{text}"


def for_people(schema: str) -> str:
    """Give the script as a database administrator would run it."""
    return f"BEGIN;\nSELECT pg_advisory_xact_lock({MAKING});\n{statements(schema)}\nCOMMIT;\n"
