"""Takes of permits, written from parts that were packed before: a limiter is asked all the time.

Counterpart of ``Post.quick``, for the one request of the other families that is worth it. Loaded
with the first take.
"""

from __future__ import annotations

from typing import Any

from holdfast.backends.redis.family_requests import EXACT
from holdfast.backends.redis.keys import REMEMBERED, KeyRing, packed
from holdfast.backends.redis.scripts import script
from holdfast.rules.bucket_messages import Short, Take, Terms, Took
from holdfast.rules.messages import Request

WORDS = 7
"""How many words a take has after its keys and the quarantine."""


class Takes:
    """Writes the takes of one client. ``tail`` is what follows the key: birth mark, quarantine."""

    def __init__(self, keys: KeyRing, tail: tuple[bytes, ...]) -> None:
        self._keys = keys
        called = script("bucket_take")
        count = len(tail)  # the key and what follows it, less the quarantine, which is no key
        head = (b"EVALSHA", called.sha, b"%d" % count)
        self._head = b"*%d\r\n" % (3 + 1 + len(tail) + WORDS) + b"".join(map(packed, head))
        self._tail = b"".join(map(packed, tail))
        self._places: dict[tuple[str, str], bytes] = {}
        self._terms: dict[tuple[int, Terms, int, bool], bytes] = {}

    def written(self, take: Request) -> bytes | None:
        """Write one take; ``None`` for any other request."""
        if not isinstance(take, Take):
            return None
        space, name, take_id, permits, terms, wait, adopt = take
        place = self._places.get((space, name)) or self._place(space, name)
        about = self._terms.get((permits, terms, wait, adopt))
        if about is None:
            about = self._about(permits, terms, wait, adopt=adopt)
        return b"%b%b$%d\r\n%b\r\n%b" % (
            self._head, place, len(take_id), take_id.encode(), about,
        )  # fmt: skip

    def _place(self, space: str, name: str) -> bytes:
        if len(self._places) >= REMEMBERED:
            self._places.clear()
        place = packed(self._keys.of_family("bucket", space, name)) + self._tail
        self._places[space, name] = place
        return place

    def _about(self, permits: int, terms: Terms, wait: int, *, adopt: bool) -> bytes:
        if len(self._terms) >= REMEMBERED:
            self._terms.clear()
        words = (permits, *terms, min(wait, EXACT), int(adopt))
        about = b"".join(packed(b"%d" % word) for word in words)
        self._terms[permits, terms, wait, adopt] = about
        return about


def read(raw: list[Any]) -> Took | Short | None:
    """Read what most takes get; ``None`` for anything else."""
    what = raw[1]
    if what == b"took":
        return Took(raw[2], raw[3])
    return Short(raw[2], raw[3]) if what == b"short" else None
