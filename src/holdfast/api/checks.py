"""Arguments as users give them, checked once; inside, nobody checks again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Final, Literal, TypeAlias
from unicodedata import category

from holdfast.durations import Duration, positive, readable, seconds
from holdfast.errors import Misuse
from holdfast.values import (
    METADATA_LIMIT,
    NAME_LIMIT,
    PERMITS_LIMIT,
    Capabilities,
    Json,
    NameSpace,
    apart,
)

if TYPE_CHECKING:
    from signal import Signals

SHORTEST_LIFE = 0.01

LARGEST = 2**63
"""Tokens and versions are smaller, on every backend."""

NAMES_LIMIT = 100
"""How many names are held together at most: one step over all of them keeps others waiting."""


class Unset(Enum):
    """The mark of an argument that was not given."""

    UNSET = "the client's own"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET
Given: TypeAlias = "Duration | Literal[Unset.UNSET]"
"""A duration, or the client's own."""


def checked_name(name: object, what: str = "name") -> str:
    """Give the name if it is one: non-empty text, 512 bytes at most, no control characters."""
    text = _checked_text(name, what)
    if not text:
        raise Misuse(f"{what} must not be empty")
    if not text.isprintable() and any(category(character) == "Cc" for character in text):
        raise Misuse(f"the {what} {text!r} has control characters in it")
    return text


def checked_names(names: object) -> tuple[str, ...]:
    """Give the names that are to be held together: different ones, a hundred at most."""
    if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
        raise Misuse(f"names must be several of them, like ['a', 'b'], not {names!r}")
    found = tuple(dict.fromkeys(checked_name(name) for name in names))
    if not found:
        raise Misuse("names must not be empty: there is nothing to lock")
    if len(found) > NAMES_LIMIT:
        raise Misuse(f"at most {NAMES_LIMIT} names are held together, not {len(found)}")
    return found


def checked_place(name: object, space: NameSpace) -> str:
    """Give the name under which the claims on ``name`` are kept in this space."""
    if space not in ("lock", "once", "singleton"):
        raise Misuse(f"space must be 'lock', 'once' or 'singleton', not {space!r}")
    return apart(space, checked_name(name))


def checked_ttl(ttl: Duration, *, renew: bool, capabilities: Capabilities) -> float:
    """Give the TTL in seconds, if a lease can be kept with it."""
    span = positive(ttl, "ttl")
    if renew and span < capabilities.min_ttl:
        raise Misuse(
            f"a ttl of {readable(span)} leaves no time to renew it on {capabilities.backend}: use"
            f" at least {readable(capabilities.min_ttl)}, or renew=False"
        )
    return checked_life(span, "ttl")


def checked_life(span: Duration, what: str) -> float:
    """Give how long something lives, in seconds, if that is long enough to be of use."""
    life = positive(span, what)
    if life < SHORTEST_LIFE:
        raise Misuse(
            f"a {what} of {life * 1000:g} ms is too short to be of use: 10 ms is the least"
        )
    return life


def checked_wait(wait: Duration | None) -> float | None:
    """Give how long to wait, in seconds; ``None`` is for ever."""
    return None if wait is None else seconds(wait, "wait")


def checked_permits(permits: object) -> int:
    """Give how many may hold at once, if that is a number of permits."""
    count = _checked_count(permits, "permits")
    if count > PERMITS_LIMIT:
        raise Misuse(f"permits may be {PERMITS_LIMIT} at most, not {count}: count in larger units")
    return count


def checked_weight(weight: object, permits: int) -> int:
    """Give how many of the permits are asked for at once."""
    count = _checked_count(weight, "weight")
    if count > permits:
        raise Misuse(f"a weight of {count} can never be had: there are {permits} permits")
    return count


def _checked_count(count: object, what: str) -> int:
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise Misuse(f"{what} must be a whole number of at least 1, not {count!r}")
    return count


def checked_token(token: object, what: str = "token") -> int:
    """Give a number that a backend has given out: a token, or a version."""
    if not isinstance(token, int) or isinstance(token, bool) or not 0 <= token < LARGEST:
        raise Misuse(f"{what} must be a whole number that holdfast has given you, not {token!r}")
    return token


def checked_signals(names: Iterable[str | int]) -> tuple[Signals, ...]:
    """Give the signals that are named, if a program can be told by them."""
    from signal import Signals  # only for who names some

    if isinstance(names, str):
        raise Misuse(f"resign_on must be several signals, like ('SIGTERM',), not {names!r}")
    found: list[Signals] = []
    for name in names:
        try:
            one = Signals[name] if isinstance(name, str) else Signals(name)
        except (KeyError, ValueError):
            raise Misuse(f"{name!r} is not a signal; name one like 'SIGTERM'") from None
        if one.name in ("SIGKILL", "SIGSTOP"):
            raise Misuse(f"nobody can resign on {one.name}: it cannot be caught")
        found.append(one)
    return tuple(dict.fromkeys(found))


def checked_metadata(metadata: Mapping[str, Json] | None) -> str:
    """Give the metadata as JSON text, empty for none."""
    if metadata is None:
        return ""
    import json

    try:
        text = json.dumps(metadata, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise Misuse(f"metadata must be something JSON can say: {error}") from None
    if not isinstance(metadata, Mapping):
        raise Misuse(f"metadata must be a mapping, not {metadata!r}")
    if size > METADATA_LIMIT:
        raise Misuse(f"metadata may have {METADATA_LIMIT} bytes as JSON, this has {size}")
    return text


def checked_label(label: object) -> str:
    """Give the label that a client gives itself; it is shown to people, escaped."""
    return "" if label is None else _checked_text(label, "holder")


def checked_reason(reason: object) -> str:
    """Give the reason for breaking a lock; its holder and the log will see it."""
    return _checked_text(reason, "reason")


def checked_beginning(prefix: object) -> str:
    """Give what listed names are to begin with; empty for all."""
    return _checked_text(prefix, "prefix")


def _checked_text(text: object, what: str) -> str:
    if not isinstance(text, str):
        raise Misuse(f"{what} must be a string, not {text!r}")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise Misuse(f"the {what} {text!r} is not valid Unicode text") from None
    if size > NAME_LIMIT:
        raise Misuse(f"{what} may have {NAME_LIMIT} bytes, this one has {size}: {text[:40]!r}…")
    return text
