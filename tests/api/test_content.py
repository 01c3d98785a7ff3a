"""What records keep: equal when it comes back, never readable as a payload."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import BackendUnavailable, Misuse
from holdfast.flows.content import SIZE_LIMIT, digest, packed, unpacked

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    SCALARS.filter(lambda value: value not in {float("inf"), float("-inf")}),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES | st.binary())
def test_what_goes_in_comes_out(value: Any) -> None:
    """Every JSON value and all bytes come back equal, and of their type."""
    back = unpacked(packed(value, "value"), "memory")
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize(
    "value",
    [(1, 2), [(1,)], {1: 2}, {None: 1}, {1, 2}, ..., float("inf"), {"a": float("nan")}],
    ids=repr,
)
def test_what_would_come_back_as_something_else_is_refused(value: Any) -> None:
    """JSON would make a list of a tuple and text of every key: that is said, not done."""
    with pytest.raises(Misuse, match="value"):
        packed(value, "value")


def test_the_largest_value() -> None:
    """The limit is a megabyte, less a few bytes for our own marks."""
    assert unpacked(packed(b"x" * (SIZE_LIMIT - 1), "value"), "memory")
    with pytest.raises(Misuse, match=str(SIZE_LIMIT)):
        packed(b"x" * SIZE_LIMIT, "value")


def test_a_recursive_value() -> None:
    """What never ends is refused, too."""
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(Misuse):
        packed(endless, "value")


def test_a_form_of_the_future() -> None:
    """What a newer version has written is not guessed at."""
    with pytest.raises(BackendUnavailable, match="upgrade"):
        unpacked(b"?something", "redis")


def test_a_digest_says_nothing_of_the_payload() -> None:
    """It is the same for the same payload under the same key only, and it is not the payload."""
    payload = {"card": "4111", "amount": 5}
    same = digest("k", json.loads('{"amount": 5, "card": "4111"}'))
    assert digest("k", payload) == same
    assert digest("other", payload) != same
    assert digest("k", b'{"amount":5,"card":"4111"}') != same
    assert b"4111" not in same
