"""The tables and functions, put together from ``schema/``; how they get into a database.

``VERSION`` is that of this program. It works with a schema that is as new or newer, as long as that
one still serves it.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from zlib import crc32

VERSION = 1

INSTALLING = crc32(b"holdfast schema")
"""The number of the advisory lock under which a schema is made: one at a time."""


def statements(schema: str) -> str:
    """Give all that makes the schema, as one script for one transaction."""
    return f"CREATE SCHEMA IF NOT EXISTS {schema};\n\n{_text(schema)}"


def for_people(schema: str) -> str:
    """Give the script as a database administrator would run it, in one transaction."""
    return f"BEGIN;\nSELECT pg_advisory_xact_lock({INSTALLING});\n{statements(schema)}\nCOMMIT;\n"


@cache
def _text(schema: str) -> str:
    folder = files(__package__) / "schema"
    parts = sorted(part.name for part in folder.iterdir() if part.name.endswith(".sql"))
    text = "\n".join((folder / part).read_text(encoding="utf-8") for part in parts)
    return text if schema == "holdfast" else re.sub(r"\bholdfast\.", f"{schema}.", text)
