"""How the name of a schema is written in statements: in quotes where it is a word of SQL's own.

Only there: what is sent, printed and made for every other name stays as it was, to the byte.
"""

from __future__ import annotations

import re

from holdfast.errors import Misuse

SCHEMA = "holdfast"

_PLAIN = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")

WORDS = frozenset(
    """
    all analyse analyze and any array as asc asymmetric authorization between bigint binary bit
    boolean both case cast char character check coalesce collate collation column concurrently
    constraint create cross current_catalog current_date current_role current_schema
    current_time current_timestamp current_user dec decimal default deferrable desc distinct do
    else end except exists extract false fetch float for foreign freeze from full grant greatest
    group grouping having ilike in initially inner inout int integer intersect interval into is
    isnull join json json_array json_arrayagg json_exists json_object json_objectagg json_query
    json_scalar json_serialize json_table json_value lateral leading least left like limit
    localtime localtimestamp loop merge_action national natural nchar none normalize not notnull
    null nullif numeric offset on only or order out outer overlaps overlay placing position
    precision primary real references returning right row select session_user setof similar
    smallint some substring symmetric system_user table tablesample then time timestamp to
    trailing treat trim true union unique user using values varchar variadic verbose when where
    window with xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse
    xmlpi xmlroot xmlserialize xmltable
    """.split()  # noqa: SIM905 - a list of them would have a line for each
)
"""Words that are no names without quotes: all that ``pg_get_keywords`` calls reserved in one way or
another, and ``loop``, which is one inside functions."""


def spelled(name: str) -> str:
    """Give the name of a schema as statements have it, or refuse it in words.

    Capitals are refused, not quoted: whoever writes them may well mean the schema that SQL makes of
    the name without quotes, and would get another one beside it.
    """
    if not _PLAIN.fullmatch(name):
        raise Misuse(f"schema={name!r}: a plain name of lower-case letters, digits and underscores")
    return f'"{name}"' if name in WORDS else name
