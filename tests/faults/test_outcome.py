"""A fault run counts only if people worked, every fault happened, and everybody went on."""

from collections import Counter
from typing import Any

import pytest

from holdfast.testing.history.verdict import Verdict, Violation
from tests.faults.outcome import JUDGED, Outcome


def outcome(**different: Any) -> Outcome:
    """Give the outcome of a run in which all was well, but for what is said."""
    verdict = Verdict(operations=1000, seconds=10.0, judged=dict.fromkeys(JUDGED, 5))
    well: dict[str, Any] = {
        "ground": "redis",
        "seed": 1,
        "torments": Counter(kill=1),
        "missing": [],
        "left_out": [],
        "verdict": verdict,
        "resumed": Counter(a=20, b=1),
    }
    return Outcome(**{**well, **different})


def test_a_good_run_has_no_problems() -> None:
    """The numbers are in the summary."""
    good = outcome(left_out=["clocks"])
    assert good.problems() == []
    assert "redis: 0 violations in 1,000 operations" in good.summary()
    assert "left out: clocks" in good.summary()


@pytest.mark.parametrize(
    "different, words",
    [
        ({"missing": ["outage"]}, "outage never happened"),
        ({"resumed": Counter(a=20, b=0)}, "'b' was never taken after the last fault"),
        ({"resumed": Counter(a=2, b=1)}, "taken only 3 times"),
        ({"left_held": ["a"]}, "still held when all was over: a"),
        ({"stuck": ["sync-1: in acquire"]}, "did not come home: sync-1"),
        ({"failed": ["sync-1: OSError"]}, "ended with an error: sync-1"),
        ({"verdict": Verdict(operations=20, seconds=10.0)}, "nobody worked"),
        (
            {"verdict": Verdict(operations=999, seconds=1.0, judged=dict.fromkeys(JUDGED, 0))},
            "nothing was judged by tokens",
        ),
    ],
)
def test_whatever_was_wrong_is_named(different: dict[str, Any], words: str) -> None:
    """A run in which nobody worked proves nothing, and says so."""
    assert words in "\n".join(outcome(**different).problems())


def test_violations_are_problems() -> None:
    """With the lines that prove them."""
    bad = outcome()
    bad.verdict.violations.append(Violation("tokens", "went back", ()))
    assert bad.problems() == ["tokens: went back"]
