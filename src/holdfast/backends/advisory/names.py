"""Names as numbers: PostgreSQL locks 64 bits, and a name is longer than that.

Two names of a billion in use at the same time share a number with a chance of about three in a
hundred; of a million, of three in a hundred million. If it happens it is noticed, see ``refusal``
in the schema.
"""

from __future__ import annotations

from hashlib import blake2b


def number_of(prefix: str, name: str) -> int:
    """Give the number under which ``name`` is locked."""
    digest = blake2b(f"{prefix}\0{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def written(number: str, *, paired: bool) -> str:
    """Write a number whose name nobody knows: another program has locked it."""
    if not paired:
        return f"#{number}"
    high, low = divmod(int(number) % 2**64, 2**32)
    return f"#{_signed(high)},{_signed(low)}"


def _signed(half: int) -> int:
    return half - 2**32 if half >= 2**31 else half
