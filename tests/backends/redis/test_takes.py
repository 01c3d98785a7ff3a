"""Takes written from packed parts are the very bytes of takes written the long way."""

import pytest

from holdfast.backends.redis.requests import Post
from holdfast.rules.bucket_messages import GiveBack, Take, Terms
from holdfast.rules.record_messages import Get

TAKES = [
    Take("limiter", "x", "AAAABBBBCCCCDDDD", 1, Terms(1, 100_000, 10)),
    Take("limiter", "x", "EEEEFFFFGGGGHHHH", 1, Terms(1, 100_000, 10)),
    Take("limiter", "ä {x} %", "AAAA", 7, Terms(3, 1_000_000, 9), 1 << 52, True),
    Take("limiter", "y", "AAAABBBBCCCCDDDD", 2, Terms(1, 1, 1 << 40), 1 << 60),
]


@pytest.mark.parametrize("quarantine", [0.0, 10.0])
def test_they_are_the_same(quarantine: float) -> None:
    """The first take goes the long way; from then on the short one gives the same."""
    post = Post("pre{fix}", quarantine, clustered=False)
    assert post.quick(TAKES[0]) is None
    for _ in range(2):
        for take in TAKES:
            assert post.quick(take) in {None, post.letter(take).data}
            assert post.quick(take) == post.letter(take).data


def test_others_go_the_long_way() -> None:
    """What is not asked all the time is not written in advance, and nothing is in a cluster."""
    post = Post("p", 0.0, clustered=False)
    post.letter(TAKES[0])
    assert post.quick(Get("cell", "x")) is None
    assert post.quick(GiveBack("limiter", "x", "AAAA")) is None
    clustered = Post("p", 0.0, clustered=True)
    clustered.letter(TAKES[0])
    assert clustered.quick(TAKES[0]) is None
