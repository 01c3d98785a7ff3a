"""The newest ids of a record or bucket, each with what came of it, so that nothing is done twice.

Kept as one text, oldest first: an id, a space, what came of it, a semicolon. It may grow to a
kibibyte or two, some thirty ids each; then the oldest go. A text is searched and written at the
speed of the C library, and stored as it is (decision 0009). Ids are base64: they contain neither
a space nor a semicolon.
"""

from __future__ import annotations


def outcome(text: str, one: str) -> str | None:
    """Say what came of the id ``one``, or ``None`` if it is not remembered."""
    at = text.find(one + " ")
    while at > 0 and text[at - 1] != ";":  # the end of another id
        at = text.find(one + " ", at + 1)
    if at < 0:
        return None
    start = at + len(one) + 1
    return text[start : text.index(";", start)]


def remember(text: str, one: str, what: str, longest: int) -> tuple[str, str]:
    """Add an id at the end; give the text, and what came of the last that had to go for it."""
    text = f"{text}{one} {what};"
    forgotten = ""
    while len(text) > longest:
        first, _, text = text.partition(";")
        forgotten = first[first.index(" ") + 1 :]
    return text, forgotten


def without_last(text: str, one: str) -> str | None:
    """Give the text without ``one`` if that is its last, else ``None``."""
    before = text.rfind(";", 0, -1) + 1
    return text[:before] if text.startswith(one + " ", before) else None
