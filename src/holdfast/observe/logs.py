"""The observer that is on by default: logger ``holdfast``, quiet unless something is wrong.

Waiting long and losing are said at WARNING, the rest at DEBUG. Labels are escaped by ``Holder``.
"""

from __future__ import annotations

import logging

from holdfast.durations import readable
from holdfast.observe.events import (
    Broken,
    Event,
    Lost,
    ReleaseFailed,
    RenewalUnknown,
    Unrecorded,
    Waited,
)
from holdfast.values import Tenure, printable

logger = logging.getLogger("holdfast")


def log(event: Event) -> None:
    """Write ``event`` to the log, at the level that it deserves."""
    name = printable(event.name)
    match event:
        case Waited(waited_for=waited_for, holders=holders):
            logger.warning("waiting %s for %s, %s", readable(waited_for), name, held_by(holders))
        case Lost(token=token, held_for=held_for, reason=reason):
            logger.error(
                "lost %s (token %d) after %s: %s",
                name,
                token,
                readable(held_for),
                printable(reason),
            )
        case RenewalUnknown(token=token, remaining=remaining, error=error):
            logger.warning(
                "could not renew %s (token %d), %s left: %s",
                name,
                token,
                readable(remaining),
                error,
            )
        case ReleaseFailed(token=token, error=error):
            logger.warning(
                "could not release %s (token %d); it ends by itself: %s", name, token, error
            )
        case Unrecorded(token=token, error=error):
            logger.warning(
                "the lead of %s (token %d) is not in its journal: %s", name, token, printable(error)
            )
        case Broken(token=token, reason=reason, forced=forced):
            how = "by force" if forced else "at its holder's next word"
            logger.warning("broke %s (token %d) %s: %s", name, token, how, printable(reason))
        case _:
            logger.debug("%r", event)


def held_by(holders: tuple[Tenure, ...]) -> str:
    """Name who holds, for a person."""
    if not holders:
        return "held by nobody right now"
    first = holders[0]
    others = f" and {len(holders) - 1} more" if len(holders) > 1 else ""
    return f"held by {first.holder}{others}"
