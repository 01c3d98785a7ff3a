"""Rates as people write them."""

import pytest

from holdfast import Client, Misuse
from holdfast.api.rate import terms_of
from holdfast.rules.bucket_messages import Terms

SECOND = 1_000_000


@pytest.mark.parametrize(
    "rate, burst, terms",
    [
        ("10/s", None, Terms(1, SECOND // 10, 10)),
        ("600/m", None, Terms(1, SECOND // 10, 600)),
        ("5000/h", None, Terms(1, 720_000, 5000)),
        ("1/d", None, Terms(1, 86_400 * SECOND, 1)),
        ("3/s", 1, Terms(3, SECOND, 1)),
        ("1/250ms", 4, Terms(1, SECOND // 4, 4)),
        (" 10 / 2s ", None, Terms(1, SECOND // 5, 10)),
        ("1000000/d", None, Terms(1, 86_400, 1_000_000)),
        ("100/1m30s", 1, Terms(1, 900_000, 1)),
    ],
)
def test_a_rate_in_lowest_terms(rate: str, burst: int | None, terms: Terms) -> None:
    """The same rate is the same terms however it is written; the burst is the number per period."""
    assert terms_of(rate, burst) == terms


@pytest.mark.parametrize("rate", ["fast", "10 per second", "1e3/s", "10//s", "/s", "٣/s", "10/s/s"])
def test_what_is_no_rate_is_explained(rate: str) -> None:
    """The error shows how to write one."""
    if rate == "٣/s":  # digits of any script count
        assert terms_of(rate, None).burst == 3
        return
    with pytest.raises(Misuse, match=r"'10/s'|duration"):
        terms_of(rate, None)


def test_what_cannot_be_counted_is_refused_at_once() -> None:
    """Numbers beyond what every backend counts exactly are found when the limiter is described."""
    with Client("memory://rates") as client, pytest.raises(Misuse, match="too much to be counted"):
        client.limiter("x", "999983/365d")
