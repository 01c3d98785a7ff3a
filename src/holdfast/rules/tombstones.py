"""The ids that ended lately, so that none of them is ever granted again.

Kept as one text, oldest first, each an id, a space, a letter for how, and the last millisecond. A
name that is taken and given back in a tight loop carries 64 of them in its record, and a text is
read, searched and written at the speed of the C library, where 64 small objects would cost more
than the transaction around them.
"""

from __future__ import annotations

from holdfast.rules.messages import Ending

KEPT_FOR = 60.0
KEPT = 64

_LETTERS: dict[Ending, str] = {
    "released": "r",
    "withdrawn": "w",
    "lapsed": "l",
    "gone": "g",
    "broken": "b",
}
_ENDINGS: dict[str, Ending] = {letter: how for how, letter in _LETTERS.items()}


def fate(ended: str, claim_id: str) -> Ending | None:
    """Say how ``claim_id`` ended, or ``None`` if it is not among those remembered."""
    at = ended.find(claim_id + " ")
    while at > 0 and ended[at - 1] != ";":  # the end of another id
        at = ended.find(claim_id + " ", at + 1)
    if at < 0:
        return None
    return _ENDINGS[ended[at + len(claim_id) + 1]]


def bury(ended: str, claim_id: str, how: Ending, now: float) -> str:
    """Remember how ``claim_id`` ended; beyond the newest 64 the oldest is forgotten."""
    ended = f"{ended}{claim_id} {_LETTERS[how]}{int((now + KEPT_FOR) * 1000)};"
    return ended[ended.index(";") + 1 :] if ended.count(";") > KEPT else ended


def prune(ended: str, now: float) -> str:
    """Forget those whose sixty seconds are over."""
    while ended:
        end = ended.index(";")
        if int(ended[ended.rindex(" ", 0, end) + 2 : end]) > now * 1000:
            break
        ended = ended[end + 1 :]
    return ended
