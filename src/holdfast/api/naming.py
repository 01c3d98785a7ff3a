"""Names put together from parts, so that no part can be mistaken for two."""

from __future__ import annotations

from holdfast.api.checks import checked_name
from holdfast.errors import Misuse

SEPARATOR = ":"

_ESCAPES = str.maketrans({"%": "%25", SEPARATOR: "%3A", "{": "%7B", "}": "%7D"})


def key(*parts: str | int) -> str:
    """Give a name made of ``parts``: ``key("order", 42)`` is ``order:42``.

    A separator inside a part is escaped, so ``key("a:b")`` and ``key("a", "b")`` are two names; so
    are braces, which would be placeholders in a decorator. A part that is empty or nothing at all
    is refused: a forgotten id would otherwise lock everybody's.
    """
    if not parts:
        raise Misuse("a key needs at least one part, like key('order', 42)")
    return checked_name(SEPARATOR.join(map(_escaped, parts)), "key")


def _escaped(part: object) -> str:
    if isinstance(part, bool) or not isinstance(part, (str, int)):
        raise Misuse(
            f"a part of a key must be text or a whole number, not {part!r}: say str() of it"
        )
    text = str(part)
    if not text.strip():
        raise Misuse("a part of a key must not be empty: is there an id missing?")
    return text.translate(_ESCAPES)
