"""A trial's outcome as JSON: versions, the server's own notes, counts, faults, and every proof."""

from __future__ import annotations

import platform
from collections import Counter
from typing import Any

from holdfast import __version__
from holdfast.testing.verify.trial import Outcome

FORMAT = 1


def as_json(outcome: Outcome) -> dict[str, Any]:
    """Give everything that somebody who reads it later needs to know."""
    capabilities = outcome.capabilities
    return {
        "format": FORMAT,
        "holdfast": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "url": outcome.address.shown,
        "backend": capabilities.backend,
        "scope": capabilities.scope,
        "survives": list(capabilities.survives),
        "notes": list(capabilities.notes),
        "seed": outcome.seed,
        "seconds": outcome.seconds,
        "workers": dict(Counter(outcome.modes)),
        "ok": outcome.verdict.ok,
        "verdict": outcome.verdict.as_json(),
        "primitives": outcome.primitives,
        "not_covered": outcome.not_covered,
        "stuck": outcome.stuck,
        "left_behind": outcome.left_behind or None,
        "histories": str(outcome.histories) if outcome.histories else None,
    }
