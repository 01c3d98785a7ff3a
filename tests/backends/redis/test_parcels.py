"""Claims and releases are written from known parts, byte for byte as the long way would do."""

import pytest

from holdfast.backends.redis.calls import Parcel
from holdfast.backends.redis.keys import packed
from holdfast.backends.redis.requests import Post
from holdfast.rules.messages import Claim, Release, Want
from holdfast.values import Holder

HOLDER = Holder("0123456789abcdef", "host", 1)
WANT = Want("lock", 1, 1, 10.0)


def _parcel(post: Post, request: Claim | Release) -> Parcel:
    parcel = post.parcel(request)
    assert parcel is not None
    return parcel


@pytest.mark.parametrize(
    "claim_id", ["abcdefghijklmnop", "short", "a" * 17, "äbcdefghijklmnop", "ä"]
)
@pytest.mark.parametrize(
    "seen", [0, 7, 10**15 - 1, 10**15, 1_794_836_986_622_335, 10**16 - 1, 10**16, 2**62]
)
def test_words_have_the_length_they_say(claim_id: str, seen: int) -> None:
    """Ids of any length and script, tokens of any size."""
    post = Post("holdfast", 10.0, clustered=False)
    own = packed(claim_id.encode())
    claim = Claim("x", claim_id, WANT, HOLDER, "inbox", 3.0, seen)
    assert _parcel(post, claim)[2] == own + packed(b"%d" % seen)
    assert _parcel(post, Release("x", claim_id))[2] == own


def test_claims_that_want_something_else_do_not_share_a_call() -> None:
    """Whichever of their terms differs from what was written last, or however equal they are."""
    post = Post("holdfast", 10.0, clustered=False)
    first = Claim("x", "abcdefghijklmnop", WANT, HOLDER, "inbox", 3.0)
    others = [
        first._replace(want=WANT._replace(ttl=11.0)),
        first._replace(want=WANT._replace(metadata='{"a":1}')),
        first._replace(holder=HOLDER._replace(client="fedcba9876543210")),
        first._replace(inbox="another"),
        first._replace(patience=0.0),
    ]
    call = _parcel(post, first)[0]
    for other in others:
        theirs = _parcel(post, other)[0]
        assert theirs is not call
        assert _parcel(post, first._replace(want=Want("lock", 1, 1, 10.0)))[0] is call
        assert _parcel(post, other)[0] is theirs
        assert _parcel(post, first)[0] is call
    assert len({post.letter(one).data for one in (first, *others)}) == len(others) + 1
