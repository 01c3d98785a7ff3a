"""Giving back: told once, repeated by the keeper when unsure, never a false word about loss."""

import pytest

from holdfast.flows.book import LeaseState
from holdfast.flows.lose import lose
from holdfast.flows.release import release, release_all
from holdfast.flows.wait_lost import wait_lost
from holdfast.observe import events
from holdfast.rules.messages import Break, Release
from holdfast.runtimes.step import run
from tests.flows.played.stage import START, Stage, acquired, cut_after, order


def test_one_message_gives_back() -> None:
    """Releasing is one message; afterwards nothing is in the book."""
    stage = Stage()
    state = acquired(stage, order())
    run(release(stage.session, state))
    assert [type(one.request) for one in stage.wire.asked[1:]] == [Release]
    assert stage.book_is_empty()
    assert stage.server.held_by() == []
    assert [event.token for event in stage.hub.heard(events.Released)] == [state.token]


def test_a_lost_reply_is_asked_for_again() -> None:
    """A release whose reply was lost is confirmed by asking again; it was no loss."""
    stage = Stage(call_limit=1)
    state = acquired(stage, order())
    stage.wire.plan.append(cut_after(stage, 0.1))
    run(release(stage.session, state))
    assert len(stage.wire.requests(Release)) == 2
    assert state.loss == ""
    assert len(stage.hub.heard(events.Released)) == 1


def test_an_unconfirmed_release_is_left_to_the_keeper() -> None:
    """Without an answer it is an event, not an error, and the keeper repeats it."""
    stage = Stage(call_limit=0.5)
    state = acquired(stage, order(ttl=10))
    stage.wire.default = stage.keeper_wire.default = stage.wire.lost_request
    run(release(stage.session, state))
    assert stage.time <= 0.6
    assert len(stage.hub.heard(events.ReleaseFailed)) == 1
    assert not state.holds(stage.clock.time)
    stage.keeper_wire.default = stage.keeper_wire.well
    stage.clock.move(stage.clock.time + 2)
    assert stage.server.held_by() == []
    assert len(stage.book.chores) == 0


def test_a_chore_is_forgotten_when_it_cannot_matter_any_more() -> None:
    """Nobody repeats a release for ever: the lease ended by itself, at most a ttl after its end."""
    stage = Stage(call_limit=0.5)
    state = acquired(stage, order(ttl=3))
    stage.wire.default = stage.keeper_wire.default = stage.wire.refused
    run(release(stage.session, state))
    stage.clock.move(START + 7)
    asked = len(stage.keeper_wire.asked)
    stage.clock.move(START + 60)
    assert len(stage.keeper_wire.asked) == asked
    assert len(stage.book.chores) == 0


def test_a_release_that_finds_the_lease_gone_is_a_loss() -> None:
    """Taken away before its deadline: the holder is told that its work was not protected."""
    stage = Stage()
    state = acquired(stage, order())
    stage.server.deliver = None
    stage.server.answer(Break("x", state.token, "by force", force=True))
    run(release(stage.session, state))
    assert "before the release" in state.loss
    assert len(stage.hub.heard(events.Lost)) == 1
    assert stage.hub.heard(events.Released) == []


def test_releasing_after_the_deadline_asks_nobody_and_waits_for_nobody() -> None:
    """A lost lease is given up at once; the keeper still says so, in case it was only broken."""
    stage = Stage()
    state = acquired(stage, order(ttl=2))
    stage.keeper.asleep = True
    stage.clock.move(START + 3)
    asked = len(stage.wire.asked)
    run(release(stage.session, state))
    assert len(stage.wire.asked) == asked
    assert state.is_lost(stage.clock.time)
    stage.keeper.asleep = False
    stage.clock.move(stage.clock.time + 0.1)
    assert stage.keeper_wire.requests(Release) != []


def test_reentrant_entries_are_counted() -> None:
    """Only the last release lets go."""
    stage = Stage()
    state = acquired(stage, order(reentrant=True))
    acquired(stage, order(reentrant=True))
    run(release(stage.session, state))
    assert state.holds(stage.clock.time)
    run(release(stage.session, state))
    assert stage.server.held_by() == []


def test_releasing_all_is_one_batch() -> None:
    """Everything goes in one exchange."""
    stage = Stage()
    states = [acquired(stage, order().with_name(name)) for name in ("a", "b", "c")]
    run(release_all(stage.session))
    releases = [one for one in stage.wire.asked if isinstance(one.request, Release)]
    assert len(releases) == 3
    assert all(state.released for state in states)
    assert stage.book_is_empty()
    assert len(stage.hub.heard(events.Released)) == 3


@pytest.mark.parametrize("ending", [release, lambda session, _: release_all(session)])
def test_whoever_watches_is_woken_by_the_release(ending: object) -> None:
    """``wait_lost`` returns ``False`` in the moment of the release, not at the deadline."""
    stage = Stage()
    state = acquired(stage, order(ttl=60))
    stage.clock.at(0.5, lambda: run(ending(stage.session, state)))  # type: ignore[operator]
    assert run(wait_lost(stage.session, state, None)) is False
    assert stage.time == pytest.approx(0.5)


def test_a_loss_told_while_leaving_is_not_lost() -> None:
    """Keeper and holder notice the end at the same time: one of them tells, and none forgets."""
    stage = Stage()
    state = acquired(stage, order(ttl=2, renew=False))
    stage.keeper.asleep = True
    stage.clock.move(START + 3)
    known_when_leaving: list[bool] = []

    class Leases(dict[str, LeaseState]):
        """Lets the holder leave right after the keeper has taken the lease off the book."""

        def pop(self, key: str, *default: object) -> object:  # type: ignore[override]
            taken = super().pop(key, *default)
            if taken is not None:
                run(release(stage.session, state))
                known_when_leaving.append(bool(state.loss))
            return taken

    stage.book.leases = Leases(stage.book.leases)
    lose(stage.session, state, state.why_over())
    assert known_when_leaving == [True]
