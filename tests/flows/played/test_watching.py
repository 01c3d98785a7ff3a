"""Following who leads, on the played stage: in order, never twice, through silence and mistakes."""

import pytest

from holdfast.errors import BackendUnavailable, Misuse
from holdfast.flows.journal import LONGEST, Line, added, written
from holdfast.flows.lead import LOOK_EVERY, SOON, Watching, leader, next_change
from holdfast.flows.release import release
from holdfast.rules.messages import Claim, Look, Release, Want
from holdfast.rules.record_messages import Get, Swap
from holdfast.runtimes.step import run
from holdfast.values import Holder, Tenure
from tests.flows.played.stage import START, Stage
from tests.flows.played.test_standing import led, stood

LEAD = Want("lead", 1, 1, 10.0)


def elect(stage: Stage, who: str, ttl: float = 10.0, patience: float = 0.0) -> None:
    """Let somebody lead, or stand by."""
    want = LEAD._replace(ttl=ttl)
    stage.server.answer(Claim("x", who, want, Holder(who, "there", 1), "", patience))


def resign(stage: Stage, who: str) -> None:
    """Let somebody resign."""
    stage.server.answer(Release("x", who))


class Follower:
    """One observer on the stage."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.watching = Watching("x")

    def tokens(self, wait: float = 0.1) -> list[int]:
        """Give all that is told until nothing comes for so long; 0 where nobody leads."""
        seen = []
        while (change := run(next_change(self.stage.session, self.watching, wait))) is not None:
            seen.append(change.leader.token if change.leader else 0)
        return seen

    def sees(self, wait: float | None = 60.0) -> str | None:
        """Give the next leader's name; "nobody" where nobody leads; ``None`` at the end."""
        change = run(next_change(self.stage.session, self.watching, wait))
        if change is None:
            return None
        return change.leader.holder.client if change.leader else "nobody"


def test_the_first_is_how_it_is_now() -> None:
    """Nobody, or whoever leads, is told at once."""
    stage = Stage()
    assert Follower(stage).sees() == "nobody"
    elect(stage, "ann")
    assert Follower(stage).sees() == "ann"
    assert stage.time == 0


def test_changes_are_told_in_order_and_once() -> None:
    """Each change is told within a second, and what has not changed is not."""
    stage = Stage()
    follower = Follower(stage)
    stage.clock.at(4.5, lambda: elect(stage, "ann"))
    stage.clock.at(7.5, lambda: elect(stage, "bob", patience=60))
    stage.clock.at(8.5, lambda: resign(stage, "ann"))
    stage.clock.at(9.5, lambda: resign(stage, "bob"))
    seen = []
    while (found := follower.sees(20)) is not None:
        seen.append((found, stage.time))
    assert [who for who, _ in seen] == ["nobody", "ann", "bob", "nobody"]
    for (_, at), due in zip(seen, (0, 4.5, 8.5, 9.5), strict=True):
        assert due <= at <= due + LOOK_EVERY


def test_the_same_candidate_again_is_a_change() -> None:
    """Another tenure of the same leader has another token, and is news."""
    stage = Stage()
    follower = Follower(stage)
    elect(stage, "ann")
    assert follower.sees() == "ann"
    resign(stage, "ann")
    elect(stage, "ann-again")
    assert follower.sees() == "ann-again"
    assert follower.sees(3) is None


def test_the_end_of_a_tenure_is_looked_for_when_it_is_due() -> None:
    """A leader that stopped renewing is seen to be gone right then, not a second later."""
    stage = Stage()
    elect(stage, "ann", ttl=3.3)
    follower = Follower(stage)
    assert follower.sees() == "ann"
    assert follower.sees() == "nobody"
    assert 3.3 <= stage.time < 3.4


def test_it_looks_once_a_second() -> None:
    """A quiet election costs one question a second."""
    stage = Stage()
    follower = Follower(stage)
    elect(stage, "ann", ttl=1000)
    follower.sees()
    assert follower.sees(wait=20) is None
    assert len(stage.wire.requests(Look)) in {20, 21}
    assert stage.time == pytest.approx(20)


def test_the_end_of_a_wait_looks_once_more() -> None:
    """A wait shorter than the pause between two looks still sees what has changed."""
    stage = Stage()
    follower = Follower(stage)
    assert follower.sees() == "nobody"
    stage.clock.at(0.1, lambda: elect(stage, "ann"))
    assert follower.sees(wait=0.2) == "ann"
    assert stage.time == pytest.approx(0.2)


def test_an_outage_is_ridden_over() -> None:
    """While nothing is known nothing is told; then what has changed meanwhile, and once."""
    stage = Stage()
    follower = Follower(stage)
    elect(stage, "ann", ttl=1000)
    assert follower.sees() == "ann"
    stage.wire.default = stage.wire.lost_request

    def back() -> None:
        stage.wire.default = stage.wire.well

    stage.clock.at(20, lambda: resign(stage, "ann"))
    stage.clock.at(21, lambda: elect(stage, "bob", ttl=1000))
    stage.clock.at(30, back)
    assert follower.sees(wait=120) == "bob"
    assert stage.time >= 30


def test_a_wait_that_ends_in_an_outage() -> None:
    """What is not known is not reported as "nothing has changed"."""
    stage = Stage()
    follower = Follower(stage)
    assert follower.sees() == "nobody"
    stage.wire.default = stage.wire.lost_request
    with pytest.raises(BackendUnavailable):
        follower.sees(wait=10)


def test_a_backend_that_was_never_there() -> None:
    """Until the first answer the limit of one call holds."""
    stage = Stage()
    stage.wire.default = stage.wire.lost_request
    with pytest.raises(BackendUnavailable):
        Follower(stage).sees(wait=None)
    assert stage.time <= 5.1


def test_an_older_tenure_is_no_news() -> None:
    """A server that fell back to an older state does not bring an old leader back."""
    stage = Stage()
    follower = Follower(stage)
    elect(stage, "ann", ttl=1000)
    older = stage.server.records["x"]
    assert follower.sees() == "ann"
    stage.clock.time += 1
    resign(stage, "ann")
    elect(stage, "bob", ttl=1000)
    assert follower.sees() == "bob"
    stage.server.records["x"] = older
    assert follower.sees(wait=5) is None


def test_closing_ends_it() -> None:
    """Closed while it waits, or before: the iteration is over."""
    stage = Stage()
    follower = Follower(stage)
    assert follower.sees() == "nobody"
    stage.clock.at(0.5, follower.watching.close)
    assert follower.sees(wait=None) is None
    assert stage.clock.time == START + 0.5
    assert follower.sees(wait=None) is None


def test_a_name_of_another_kind_has_no_leader() -> None:
    """Who holds a lock does not lead anything."""
    stage = Stage()
    stage.rival_takes("x")
    with pytest.raises(Misuse, match="in use as a lock"):
        run(leader(stage.session, "x"))


def test_tenures_shorter_than_a_look_are_told() -> None:
    """Each of many between two looks is told, in order, and that nobody led in between."""
    stage = Stage()
    follower = Follower(stage)
    assert follower.tokens() == [0]
    tokens = [led(stage) for _ in range(20)]
    assert follower.tokens() == [told for token in tokens for told in (token, 0)]
    assert follower.tokens() == []


def test_who_starts_in_the_middle_is_told_of_what_comes_after() -> None:
    """The first is how it is now; what was before is history, what is later is told."""
    stage = Stage()
    led(stage)
    state = stood(stage)
    follower, late = Follower(stage), Follower(stage)
    assert follower.tokens() == [state.token]
    run(release(stage.session, state))
    assert late.tokens() == [0]
    second, third = led(stage), led(stage)
    assert follower.tokens() == [0, second, 0, third, 0]
    assert late.tokens() == [second, 0, third, 0]


def test_tenures_during_an_outage_are_told_after_it() -> None:
    """What an observer could not see is told when it is back, in order and once."""
    stage, tokens = Stage(), list[int]()
    follower = Follower(stage)
    assert follower.tokens() == [0]
    stage.wire.default = stage.wire.lost_request

    def others() -> None:
        """Lead behind its back: they reach the server, and their time stands still."""
        stage.wire.default = stage.wire.well
        tokens.extend(led(stage) for _ in range(5))
        stage.wire.default = stage.wire.lost_request

    def back() -> None:
        stage.wire.default = stage.wire.well

    stage.clock.at(20, others)
    stage.clock.at(40, back)
    assert follower.sees(wait=120) == "me"
    assert stage.time >= 40
    assert follower.tokens() == [0, *(told for token in tokens[1:] for told in (token, 0))]


def test_a_look_that_fails_half_way_misses_nothing() -> None:
    """If the journal does not come, what the look has found is not taken for told."""
    stage = Stage()
    follower = Follower(stage)
    assert follower.tokens() == [0]
    tokens = [led(stage), led(stage)]
    stage.wire.plan.extend([stage.wire.well, stage.wire.refused, stage.wire.lost_request])
    assert follower.sees(wait=60) == "me"
    assert follower.tokens() == [0, tokens[1], 0]


@pytest.mark.parametrize("late", [0.02, 0.3])
def test_a_leader_that_has_not_put_itself_down_is_looked_at_again(late: float) -> None:
    """Seen between its grant and its word in the journal, it is told with that word."""
    stage = Stage()
    follower = Follower(stage)
    elect(stage, "ann")
    assert follower.sees() == "ann"
    resign(stage, "ann")
    elect(stage, "bob", ttl=1000)
    token = stage.server.records["x"].grants[0].token
    bob = Tenure(Holder("bob", "there", 1), token, 1, stage.clock.time, 0.0)
    line = added(None, written(Line(bob, vacant=True)), "here")
    look_at = follower.watching.look_at - START
    stage.clock.at(look_at + late, lambda: stage.server.answer(Swap("lead", "x", "w", line, 0)))
    assert follower.sees() == "nobody"
    assert follower.sees() == "bob"
    assert stage.time < look_at + late + max(SOON)
    assert follower.sees(wait=3) is None


def test_a_leader_that_never_puts_itself_down_is_told_all_the_same() -> None:
    """It may be one that cannot: what the looks see is told, a little later."""
    stage = Stage()
    follower = Follower(stage)
    elect(stage, "ann")
    assert follower.sees() == "ann"
    resign(stage, "ann")
    elect(stage, "bob", ttl=1000)
    look_at = follower.watching.look_at - START
    assert follower.sees() == "bob"
    assert stage.time <= look_at + sum(SOON) + 0.001
    assert follower.sees(wait=3) is None


def test_an_observer_away_for_too_long_is_told_of_the_newest() -> None:
    """The journal is bounded: what has fallen out of it is not told, and the rest is in order."""
    stage = Stage()
    follower = Follower(stage)
    assert follower.tokens() == [0]
    tokens = [led(stage) for _ in range(LONGEST + 10)]
    seen = [token for token in follower.tokens() if token]
    assert seen == tokens[-LONGEST:]


def test_a_quiet_election_does_not_read_the_journal() -> None:
    """It is read when the last token has moved, and once."""
    stage = Stage()
    follower = Follower(stage)
    led(stage)
    assert follower.tokens() == [0]
    led(stage)
    stage.wire.asked.clear()
    follower.tokens(wait=10)
    assert len(stage.wire.requests(Get)) == 1
