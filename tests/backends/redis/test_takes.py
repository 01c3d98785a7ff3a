"""Takes written from packed parts are the very bytes of takes written the long way."""

import pytest

from holdfast.backends.redis.calls import TOGETHER, Parcel
from holdfast.backends.redis.requests import Post
from holdfast.rules.bucket import TAKES_LONGEST
from holdfast.rules.bucket_messages import GiveBack, Take, Terms
from holdfast.rules.record_messages import Get

TAKES = [
    Take("limiter", "x", "AAAABBBBCCCCDDDD", 1, Terms(1, 100_000, 10)),
    Take("limiter", "x", "EEEEFFFFGGGGHHHH", 1, Terms(1, 100_000, 10)),
    Take("limiter", "ä {x} %", "AAAA", 7, Terms(3, 1_000_000, 9), 1 << 52, True),
    Take("limiter", "y", "AAAABBBBCCCCDDDD", 2, Terms(1, 1, 1 << 40), 1 << 60),
]


def _written(parcel: Parcel | None) -> bytes:
    assert parcel is not None
    call, keys, words = parcel
    return call.one(keys, words)


@pytest.mark.parametrize("quarantine", [0.0, 10.0])
def test_they_are_the_same(quarantine: float) -> None:
    """The first take of a client goes the long way; from then on the short one gives the same."""
    post = Post("pre{fix}", quarantine, clustered=False)
    assert post.parcel(TAKES[0]) is None
    post.letter(TAKES[0])
    for _ in range(2):
        for take in TAKES:
            long = Post("pre{fix}", quarantine, clustered=False).letter(take)
            assert _written(post.parcel(take)) == long.data
            assert post.letter(take) == long


def test_others_go_the_long_way() -> None:
    """What is not asked all the time is not written in advance, and nothing is in a cluster."""
    post = Post("p", 0.0, clustered=False)
    post.letter(TAKES[0])
    assert post.parcel(Get("cell", "x")) is None
    assert post.parcel(GiveBack("limiter", "x", "AAAA")) is None
    clustered = Post("p", 0.0, clustered=True)
    clustered.letter(TAKES[0])
    assert clustered.parcel(TAKES[0]) is None


def test_a_bucket_remembers_all_that_travel_together() -> None:
    """When they are all asked again, each is still known, also with permits by the million."""
    entry = len("AAAABBBBCCCCDDDD 1700000000000000 1000000;")
    assert TOGETHER * entry <= TAKES_LONGEST
