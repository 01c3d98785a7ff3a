"""Where a name lives: its keys, all in one slot of a cluster, and the way back from key to name.

``holdfast:{orders:42}`` is the record; the others add a word. The braces are Redis's own way of
saying "hash only this"; braces inside a prefix or name are escaped so that they cannot break it.
"""

from __future__ import annotations

from binascii import crc_hqx
from typing import NamedTuple

SLOTS = 16_384
REMEMBERED = 10_000

SUFFIXES = ("", ":ended", ":queue", ":patience", ":waiters")


class Keys(NamedTuple):
    """The keys of one name, its slot, and the keys as they stand in a command, ready to be sent."""

    all: tuple[bytes, ...]
    slot: int
    packed: bytes


class KeyRing:
    """The keys of one prefix; those used lately are remembered."""

    def __init__(self, prefix: str, suffixes: tuple[str, ...] = SUFFIXES) -> None:
        self._prefix = escaped(prefix)
        self._suffixes = suffixes
        self._known: dict[str, Keys] = {}
        self.birth = f"{self._prefix}:birth".encode()

    def of(self, name: str) -> Keys:
        """Give the keys of ``name``."""
        known = self._known.get(name)
        if known is not None:
            return known
        tag = escaped(name)
        record = f"{self._prefix}:{{{tag}}}"
        words = tuple((record + suffix).encode() for suffix in self._suffixes)
        keys = Keys(words, slot_of(tag), b"".join(map(packed, words)))
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        self._known[name] = keys
        return keys

    def of_family(self, family: str, space: str, name: str) -> bytes:
        """Give the one key of a record or a bucket, in the slot of all that has this name."""
        return f"{self._prefix}:{space}:{{{escaped(name)}}}:{family}".encode()

    def inbox(self, client: str) -> str:
        """Give the channel on which a client hears notices."""
        return f"{self._prefix}:inbox:{client}"

    def pattern(self, beginning: str) -> str:
        """Give the pattern that finds the records whose names begin so."""
        return f"{_literal(self._prefix)}:{{{_literal(escaped(beginning))}*}}"

    def name_of(self, record: bytes) -> str:
        """Give the name back from the key of its record."""
        return unescaped(record[len(self._prefix.encode()) + 2 : -1].decode())

    def birth_on(self, slots: frozenset[int]) -> bytes:
        """Give the birth mark of the cluster node that serves these slots."""
        number = 0
        while slot_of(f"birth {number}") not in slots:
            number += 1
        return f"{self._prefix}:{{birth {number}}}:mark".encode()


def packed(word: bytes) -> bytes:
    """Write one word of a command as it travels."""
    return b"$%d\r\n%b\r\n" % (len(word), word)


def slot_of(tag: str) -> int:
    """Give the slot of a cluster in which everything with this tag lives."""
    return crc_hqx(tag.encode(), 0) % SLOTS


def escaped(text: str) -> str:
    """Take away the meaning that braces have in a key."""
    if "{" in text or "}" in text or "%" in text:
        return text.replace("%", "%25").replace("{", "%7B").replace("}", "%7D")
    return text


def unescaped(text: str) -> str:
    """Undo ``escaped``."""
    if "%" in text:
        return text.replace("%7D", "}").replace("%7B", "{").replace("%25", "%")
    return text


def _literal(text: str) -> str:
    return "".join(f"\\{sign}" if sign in "*?[]^\\" else sign for sign in text)
