"""Names from parts: readable, and never the same for two different lists of parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdfast
from holdfast import Misuse, key

PART = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=8).filter(
    lambda text: bool(text.strip())
)


def test_parts_are_joined() -> None:
    """What needs no escape reads as it is."""
    assert key("order", 42) == "order:42"
    assert key("tenant-7", "invoice", -1, "send") == "tenant-7:invoice:-1:send"


def test_separators_inside_a_part_are_escaped() -> None:
    """A part cannot pretend to be two."""
    assert key("a:b", "c") == "a%3Ab:c"
    assert key("a", "b:c") == "a:b%3Ac"
    assert key("100%") == "100%25"


def test_braces_are_no_placeholders() -> None:
    """A name made from what users typed is not a template for a decorator."""
    with holdfast.Client("memory://naming") as client:

        @client.lock(key("user", "{secret}"))
        def work(secret: str) -> str:
            return secret

        assert work("s") == "s"


@given(st.lists(PART, min_size=1, max_size=3), st.lists(PART, min_size=1, max_size=3))
def test_two_lists_of_parts_are_two_names(one: list[str], other: list[str]) -> None:
    """Keys are equal only if all parts are."""
    assert (key(*one) == key(*other)) == (one == other)


@pytest.mark.parametrize(
    "parts", [(), ("",), ("order", ""), ("order", "  "), (None,), (True,), (1.5,), ("a\n",)]
)
def test_what_is_missing_is_refused(parts: tuple[str, ...]) -> None:
    """An id that was forgotten would lock everybody's: it is refused instead."""
    with pytest.raises(Misuse):
        key(*parts)


def test_a_key_is_no_longer_than_a_name() -> None:
    """The limit of names holds for keys."""
    with pytest.raises(Misuse, match="512"):
        key("a" * 300, "b" * 300)
