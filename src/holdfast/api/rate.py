"""Rates as users write them, ``"10/s"`` or ``"5000/h"``, turned into a bucket's terms once."""

from __future__ import annotations

from math import gcd

from holdfast.durations import positive
from holdfast.errors import Misuse
from holdfast.rules.bucket import OWED_LIMIT
from holdfast.rules.bucket_messages import Terms


def terms_of(rate: object, burst: object) -> Terms:
    """Give the terms of a rate; without a ``burst`` it is the number per period."""
    if not isinstance(rate, str):
        raise Misuse(f"a rate is text like '10/s', '600/m' or '5000/h', not {rate!r}")
    number, slash, span = (part.strip() for part in rate.partition("/"))
    if not slash or not number.isdecimal() or not int(number) or not span:
        raise Misuse(
            f"{rate!r} is not a rate: write a whole number, a slash and a period, like '10/s',"
            " '600/m', '5000/h' or '1/250ms'"
        )
    if not span[0].isdigit():
        span = f"1{span}"
    amount, period = int(number), round(positive(span, f"the period of the rate {rate!r}") * 1e6)
    most = amount if burst is None else _burst(burst)
    shared = (
        gcd(amount, period) if period else 1
    )  # smaller numbers count further, and mean the same
    terms = Terms(amount // shared, period // shared, most)
    if not terms.period or max(terms.burst * terms.period, terms.amount) > OWED_LIMIT:
        raise Misuse(
            f"a rate of {rate!r} with a burst of {most} is too much to be counted exactly: use a"
            " smaller burst, a rounder number, or a shorter period"
        )
    return terms


def _burst(burst: object) -> int:
    if not isinstance(burst, int) or isinstance(burst, bool) or burst < 1:
        raise Misuse(f"burst must be a whole number, 1 at least, not {burst!r}")
    return burst
