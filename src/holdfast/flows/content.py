"""Values as records keep them: JSON or bytes, told apart by their first byte.

What comes back equals what was put in; what could not is refused before it is written: a tuple
would come back as a list, and the keys 1 and "1" as one.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from holdfast.errors import BackendUnavailable, Misuse
from holdfast.rules.record import VALUE_LIMIT

JSON, BYTES = b"j", b"b"

SIZE_LIMIT = VALUE_LIMIT - 64
"""What is left of a record's value beside our own marks."""

DIGEST_SIZE = 32


def packed(value: object, what: str) -> bytes:
    """Write a value down; ``Misuse`` says which part of ``what`` cannot be."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        data = BYTES + bytes(value)
    else:
        text = _written(value, what)
        if not isinstance(value, (str, int, float, type(None))) and json.loads(text) != value:
            raise Misuse(
                f"{what} would not come back as it is: JSON knows lists, not tuples, and every key"
                f" is text. Write {text[:80]!r}{'…' if len(text) > 80 else ''} as what it is."  # noqa: PLR2004
            )
        data = JSON + text.encode()
    if len(data) > SIZE_LIMIT:
        raise Misuse(
            f"{what} has {len(data)} bytes; {SIZE_LIMIT} are the most. Keep the large part where"
            " large things are kept, and its address here."
        )
    return data


def unpacked(data: bytes | None, backend: str) -> Any:
    """Read what ``packed`` wrote; nothing is ``None``."""
    if data is None:
        return None
    if data[:1] == BYTES:
        return data[1:]
    if data[:1] == JSON:
        return json.loads(data[1:])
    raise unreadable(backend)


def digest(key: str, payload: object) -> bytes:
    """Give what is kept of a payload: enough to know it again, not enough to read it.

    Two payloads that mean the same as JSON are the same, whatever the order of their keys. The key
    goes in, so that equal payloads under two keys do not look equal.
    """
    if isinstance(payload, (bytes, bytearray, memoryview)):
        written = BYTES + bytes(payload)
    else:
        written = JSON + _written(payload, "payload", in_order=True).encode()
    return hashlib.sha256(key.encode() + b"\0" + written).digest()


def unreadable(backend: str) -> BackendUnavailable:
    """Say that a newer version has written this, or somebody else altogether."""
    return BackendUnavailable(
        f"what is kept here on {backend} is in a form that this holdfast cannot read: upgrade it"
        " here, or find out who else writes there.",
        backend=backend,
        transient=False,
    )


def _written(value: object, what: str, *, in_order: bool = False) -> str:
    try:
        text = json.dumps(
            value,
            ensure_ascii=False,
            separators=(",", ":"),
            allow_nan=False,
            sort_keys=in_order,
        )
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise Misuse(f"{what} must be bytes, or something that JSON can say: {error}") from None
    return text
