"""Spans of time as users write them."""

from datetime import timedelta
from typing import Any

import pytest

from holdfast.durations import positive, readable, seconds
from holdfast.errors import Misuse


@pytest.mark.parametrize(
    "written, span",
    [
        (0, 0.0),
        (3, 3.0),
        (0.25, 0.25),
        ("250ms", 0.25),
        ("10s", 10.0),
        ("1.5s", 1.5),
        ("5m", 300.0),
        ("2h", 7200.0),
        ("7d", 604800.0),
        ("1h30m", 5400.0),
        ("1h 30m", 5400.0),
        ("0s", 0.0),
        (timedelta(minutes=2, milliseconds=5), 120.005),
    ],
)
def test_every_written_form_is_seconds(written: Any, span: float) -> None:
    """Numbers, timedeltas and short strings all become float seconds."""
    found = seconds(written, "ttl")
    assert found == pytest.approx(span)
    assert type(found) is float


@pytest.mark.parametrize(
    "text", ["", " ", "10", "s", "ten seconds", "10 sec", "-1s", "1e3s", "5m!", "1.s", "ms250"]
)
def test_a_bad_string_says_how_to_write_it(text: str) -> None:
    """Text that is not a duration is refused whole, with examples and the parameter's name."""
    with pytest.raises(Misuse, match=r"^ttl .*write it like '250ms', '10s'"):
        seconds(text, "ttl")


@pytest.mark.parametrize("thing", [None, True, [], object(), b"10s", 1j])
def test_another_type_says_what_is_taken(thing: Any) -> None:
    """What is no span at all is refused, naming the forms there are; a bool is no number."""
    with pytest.raises(Misuse, match=r"wait must be seconds, a timedelta or a string"):
        seconds(thing, "wait")


@pytest.mark.parametrize(
    "span", [-1, -0.001, float("nan"), float("inf"), "3651d", timedelta(days=-1), 10**10]
)
def test_spans_have_bounds(span: Any) -> None:
    """Negative, endless and absurd spans are refused."""
    with pytest.raises(Misuse, match="between 0 and ten years"):
        seconds(span, "ttl")


def test_ten_years_are_allowed() -> None:
    """The bound itself is a span."""
    assert seconds("3650d", "ttl") == 3650 * 86400


def test_huge_numbers_are_misuse() -> None:
    """An integer too large for a float is refused in the same words, not with an OverflowError."""
    with pytest.raises(Misuse):
        seconds(10**400, "ttl")


@pytest.mark.parametrize("nothing", [0, "0s", 0.0, timedelta(0)])
def test_where_zero_makes_no_sense_it_is_refused(nothing: Any) -> None:
    """A call limit or a ttl of zero is ``Misuse``."""
    with pytest.raises(Misuse, match="call_limit must be longer than zero"):
        positive(nothing, "call_limit")


@pytest.mark.parametrize(
    "span, words",
    [
        (0.0, "0 ms"),
        (0.25, "250 ms"),
        (4.21, "4.2 s"),
        (119, "119.0 s"),
        (180, "3 min"),
        (7199, "120 min"),
        (7200, "2.0 h"),
    ],
)
def test_spans_are_written_for_people(span: float, words: str) -> None:
    """Each size of span has the unit in which a person would say it."""
    assert readable(span) == words
