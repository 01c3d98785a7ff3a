"""What many requests have in common: a script, and all of its words but a few.

So a claim or a release is written from parts that were packed before, and several of them that
differ in nothing else become one command: the server then enters its script, reads its clock and
looks at its birth mark once for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from holdfast.backends.redis.keys import packed
from holdfast.backends.redis.scripts import Script

KEYS_EACH = 5

TOGETHER = 24
"""So many requests are one command at most: the server does nothing else meanwhile. And a bucket
remembers more takes than that, so that none is charged twice when all of them are asked again."""


class Call:
    """A script that is called for requests of one kind.

    ``birth`` is the key of the birth mark, if letters name one; ``common`` are the words that all
    share; ``each`` is the number of words that a request adds to them, ``keys_each`` of keys.
    ``ahead`` is a command that goes before it, whose reply nobody needs.
    """

    __slots__ = (
        "_ahead",
        "_common",
        "_each",
        "_heads",
        "_keys_each",
        "_one",
        "_shared",
        "kind",
        "leads",
        "script",
    )

    def __init__(
        self,
        script: Script,
        birth: tuple[bytes, ...],
        common: tuple[bytes, ...],
        each: int,
        keys_each: int = KEYS_EACH,
        ahead: bytes = b"",
    ) -> None:
        self.script = script
        self.leads = bool(ahead)  # then one reply comes before the one that counts
        self.kind = f"{script.name}, led" if ahead else script.name
        self._ahead = ahead
        self._keys_each = keys_each
        self._common = b"".join(map(packed, (*birth, *common)))
        self._shared = (len(birth), len(common))
        self._each = each
        self._heads: dict[int, bytes] = {}
        self._one = self._head(1)

    def one(self, keys: bytes, words: bytes) -> bytes:
        """Write the command for one request: its keys and its own words, packed."""
        return b"".join((self._one, keys, self._common, words))

    def many(self, keys: Sequence[bytes], words: Sequence[bytes]) -> bytes:
        """Write one command for several requests."""
        head = self._heads.get(len(keys)) or self._head(len(keys))
        return b"%b%b%b%b" % (head, b"".join(keys), self._common, b"".join(words))

    def _head(self, count: int) -> bytes:
        birth, common = self._shared
        keys = self._keys_each * count + birth
        words = (b"EVALSHA", self.script.sha, b"%d" % keys)
        length = len(words) + keys + common + self._each * count
        head = b"%b*%d\r\n%b" % (self._ahead, length, b"".join(map(packed, words)))
        self._heads[count] = head
        return head


Parcel: TypeAlias = tuple[Call, bytes, bytes]
"""One request: what it has in common with others, its keys, and its own words, both packed."""


class Bundle:
    """Parcels with the same call, at most so many as it takes, which travel as one command."""

    __slots__ = ("call", "keys", "words")

    def __init__(self, call: Call) -> None:
        self.call = call
        self.keys: list[bytes] = []
        self.words: list[bytes] = []

    def written(self) -> bytes:
        """Write the command for all of them."""
        return self.call.many(self.keys, self.words)
