"""Takes of permits, written from parts that were packed before: a limiter is asked all the time.

Counterpart of ``Post.parcel``, for the one request of the other families that is worth it. All
takes of a client can travel together, whatever they want. Loaded with the first of them.
"""

from __future__ import annotations

import struct

from holdfast.backends.redis.calls import Call, Parcel
from holdfast.backends.redis.family_requests import wanted
from holdfast.backends.redis.keys import REMEMBERED, KeyRing, packed
from holdfast.backends.redis.scripts import script
from holdfast.rules.bucket_messages import Short, Take, Terms, Took
from holdfast.rules.messages import Request

TOOK = 3
_ANSWER = struct.Struct("<Bdqq").unpack


class Takes:
    """Wraps the takes of one client. ``birth`` is the key of the birth mark, if there is one."""

    def __init__(self, keys: KeyRing, birth: tuple[bytes, ...], quarantine: bytes) -> None:
        self._keys = keys
        self._call = Call(script("bucket_take"), birth, (quarantine,), 2, 1)
        self._places: dict[tuple[str, str], bytes] = {}
        self._wants: dict[tuple[int, Terms, int, bool], bytes] = {}

    def parcel(self, take: Request) -> Parcel | None:
        """Wrap one take; ``None`` for any other request."""
        if not isinstance(take, Take):
            return None
        space, name, take_id, permits, terms, wait, adopt = take
        place = self._places.get((space, name)) or self._place(space, name)
        want = self._wants.get((permits, terms, wait, adopt))
        if want is None:
            want = self._want(permits, terms, wait, adopt=adopt)
        return self._call, place, f"${len(take_id)}\r\n{take_id}\r\n".encode() + want

    def _place(self, space: str, name: str) -> bytes:
        if len(self._places) >= REMEMBERED:
            self._places.clear()
        place = packed(self._keys.of_family("bucket", space, name))
        self._places[space, name] = place
        return place

    def _want(self, permits: int, terms: Terms, wait: int, *, adopt: bool) -> bytes:
        if len(self._wants) >= REMEMBERED:
            self._wants.clear()
        want = packed(wanted(permits, terms, wait, adopt=adopt))
        self._wants[permits, terms, wait, adopt] = want
        return want


def read(raw: bytes, mark: int) -> Took | Short | None:
    """Read the answer to a take; ``None`` under another birth mark."""
    what, marked, wait, remaining = _ANSWER(raw)
    if marked != mark:
        return None
    return Took(wait, remaining) if what == TOOK else Short(wait, remaining)
