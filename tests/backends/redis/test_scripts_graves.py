"""What the server remembers of the ids that ended: long enough, enough of them, and no more."""

from __future__ import annotations

from holdfast.rules.messages import Ended, Granted, Release, Withdraw
from holdfast.rules.tombstones import KEPT, KEPT_FOR
from tests.backends.redis.differential_claims import NAME, claim_id_of, claim_of
from tests.backends.redis.differential_stage import Stage
from tests.servers.shared import SharedServer

MOST = 6_000
"""Bytes of tombstones, 32 each, that a name may cost at any time: they are cut back at 4096."""


def test_the_newest_64_are_remembered_however_many_end(redis_server: SharedServer) -> None:
    """Each of 64 late claims is refused although 300 ids were buried, and the text stays short."""
    with Stage(redis_server) as stage:
        for at in range(0, 300, 20):
            withdrawals = [Withdraw(NAME, claim_id_of(one)) for one in range(at, at + 20)]
            stage.ask_all([stage.post.letter(one) for one in withdrawals])
            stage.now += 0.125
            assert _size(stage) < MOST
        late = [claim_of(stage, one) for one in range(300 - KEPT, 300)]
        for (reply,) in stage.ask_all([stage.post.letter(claim) for claim in late]):
            assert isinstance(reply, Ended)
            assert reply.how == "withdrawn"


def test_taking_and_giving_back_in_a_tight_loop_leaves_a_short_text(
    redis_server: SharedServer,
) -> None:
    """The quick way of a release cuts back too: each later claim has to search the text."""
    with Stage(redis_server) as stage:
        sizes = []
        for number in range(600):
            claim = claim_of(stage, number)
            release = Release(NAME, claim.claim_id)
            stage.ask_all([stage.post.letter(claim), stage.post.letter(release)])
            stage.now += 0.125
            sizes.append(_size(stage))
        assert max(sizes) < MOST


def test_an_id_is_forgotten_after_a_minute_and_not_before(redis_server: SharedServer) -> None:
    """A late claim is refused until the last moment of the sixty seconds, then it is new."""
    with Stage(redis_server) as stage:
        claim = claim_of(stage, 1)
        stage.ask(claim)
        stage.ask(Release(NAME, claim.claim_id))
        stage.now += KEPT_FOR - 0.125
        assert isinstance(stage.ask(claim), Ended)
        stage.now += 0.125
        assert isinstance(stage.ask(claim), Granted)


def test_an_id_that_ended_twice_ended_lately(redis_server: SharedServer) -> None:
    """That its first tombstone is over does not hide the second."""
    with Stage(redis_server) as stage:
        claim = claim_of(stage, 1)
        stage.ask(Withdraw(NAME, claim.claim_id))
        stage.now += KEPT_FOR
        stage.ask(Withdraw(NAME, claim.claim_id))
        assert isinstance(stage.ask(claim), Ended)


def test_a_server_remembers_for_a_minute_though_more_follow(redis_server: SharedServer) -> None:
    """Whatever is buried in between, each id has its minute."""
    with Stage(redis_server) as stage:
        for number in range(120):
            stage.ask(Withdraw(NAME, claim_id_of(number)))
            stage.now += 1.0
            late = claim_of(stage, max(0, number - 58))
            assert isinstance(stage.ask(late), Ended)


def _size(stage: Stage) -> int:
    size: int = stage.line.ask("STRLEN", stage.post.keys.of(NAME).all[1])
    return size
