"""What is to be done before a lease is given back, on the played stage: nobody hangs on it.

The duty here is the one there is, the journal of whoever leads; what is said in it is the business
of ``test_standing``.
"""

import pytest

from holdfast.flows.book import LeaseState
from holdfast.flows.journal import read
from holdfast.flows.keep import Patience
from holdfast.flows.order import Order
from holdfast.flows.release import release, release_all
from holdfast.flows.rounds import go_round
from holdfast.flows.stand import stand
from holdfast.observe import events
from holdfast.rules.messages import Release, Renew, Reply, Request, Want
from holdfast.rules.record_messages import Get, Swap
from holdfast.runtimes.step import run
from tests.flows.played.stage import FakeWire, Fate, Stage, acquired, order


def leading(stage: Stage, name: str = "x", ttl: float = 10.0) -> LeaseState:
    """Lead, as a thread would; the keeper has not yet come to put it down."""
    wanted = Order(name, Want("lead", 1, 1, ttl), None)
    return run(stand(stage.session, wanted, ("test.py", 1)))


def put_down(stage: Stage, name: str = "x") -> list[int]:
    """Give the tokens in the journal."""
    kept = stage.server.kept.get(("lead", name))
    return [line.tenure.token for line in read(kept and kept.value, "here")]


def no_journal(wire: FakeWire) -> Fate:
    """Make a fate: the journal, and only that, does not answer."""

    def fate(request: Request, deadline: float) -> Reply:
        journal = isinstance(request, (Get, Swap))
        return (wire.lost_request if journal else wire.well)(request, deadline)

    return fate


def interrupted_at(stage: Stage, kind: type) -> Fate:
    """Make a fate: Ctrl-C while a request of this kind is under way."""

    def fate(request: Request, _deadline: float) -> Reply:
        if isinstance(request, kind):
            raise KeyboardInterrupt
        return stage.server.answer(request)

    return fate


def test_no_renewal_waits_for_a_duty() -> None:
    """A journal that does not answer costs nobody the lead, however short its ttl."""
    stage = Stage()
    stage.keeper_wire.default = no_journal(stage.keeper_wire)
    state = leading(stage, ttl=1.0)
    stage.clock.move(stage.clock.time + 60)
    assert state.holds(stage.clock.time)
    assert len(stage.keeper_wire.requests(Get)) > 10
    assert len(stage.keeper_wire.requests(Renew)) > 60
    assert stage.hub.heard(events.RenewalUnknown) == []


def test_nobody_stays_elected_because_of_a_duty() -> None:
    """Giving back takes no longer than it may; then the keeper does it, without the journal."""
    stage = Stage(call_limit=2)
    stage.wire.default = no_journal(stage.wire)
    stage.keeper_wire.default = no_journal(stage.keeper_wire)
    state = leading(stage)
    run(release(stage.session, state))
    assert stage.time <= 2.1
    assert not state.holds(stage.clock.time)
    assert len(stage.hub.heard(events.ReleaseFailed)) == 1
    stage.clock.move(stage.clock.time + 3)
    assert stage.server.held_by() == []
    assert [event.token for event in stage.hub.heard(events.Unrecorded)] == [state.token]
    assert stage.book.duties == {}
    assert len(stage.book.chores) == 0


def test_it_is_held_while_it_is_being_discharged() -> None:
    """It is renewed as long as that takes, so that nobody comes to lead before it is put down."""
    stage = Stage(call_limit=5)
    stage.keeper_wire.default = no_journal(stage.keeper_wire)
    state = leading(stage, ttl=1.0)
    stage.wire.default = stage.wire.refused
    stage.clock.at(3, lambda: setattr(stage.wire, "default", stage.wire.well))
    run(release(stage.session, state))
    assert 3 <= stage.time <= 5
    assert put_down(stage) == [state.token]
    assert stage.server.held_by() == []
    assert state.loss == ""
    assert stage.hub.heard(events.ReleaseFailed) == []


def test_what_the_caller_could_not_do_is_done_before_the_lease_is_given_back() -> None:
    """After an outage at its very end a tenure is put down by the keeper, and then given back."""
    stage = Stage(call_limit=1)
    state = leading(stage)
    stage.wire.default = stage.keeper_wire.default = stage.wire.lost_request
    run(release(stage.session, state))
    assert stage.time <= 1.1
    stage.keeper_wire.default = stage.keeper_wire.well
    stage.keeper_wire.asked.clear()
    stage.clock.move(stage.clock.time + 2)
    asked = [type(one.request) for one in stage.keeper_wire.asked]
    assert asked == [Get, Swap, Release]
    assert put_down(stage) == [state.token]
    assert stage.server.held_by() == []
    assert stage.hub.heard(events.Unrecorded) == []


def test_the_loss_of_the_lead_is_told_while_it_is_being_discharged() -> None:
    """Broken meanwhile, it is lost, and the word that passes it on is left."""
    stage = Stage()
    stage.keeper.asleep = True
    state = leading(stage)

    def broken(request: Request, _deadline: float) -> Reply:
        state.loss = "broken: it hangs"
        return stage.server.answer(request)

    stage.wire.plan.append(broken)
    run(release(stage.session, state))
    assert state.loss == "broken: it hangs"
    assert stage.wire.requests(Release) == []
    stage.keeper.asleep = False
    stage.clock.move(stage.clock.time + 1)
    assert stage.server.held_by() == []


def test_an_interruption_leaves_nothing_behind() -> None:
    """Interrupted while it is put down, the lead is given back by the keeper, and put down."""
    for kind in (Get, Swap, Release):
        stage = Stage()
        stage.keeper.asleep = True
        state = leading(stage)
        stage.wire.default = interrupted_at(stage, kind)
        with pytest.raises(KeyboardInterrupt):
            run(release(stage.session, state))
        assert stage.book_is_empty()
        assert not state.holds(stage.clock.time)
        stage.keeper.asleep = False
        stage.clock.move(stage.clock.time + 1)
        assert stage.server.held_by() == []
        assert put_down(stage) == [state.token]


def test_everything_at_once_is_given_back_after_its_duties() -> None:
    """What owes nothing goes in one batch; the leads are put down first."""
    stage = Stage()
    stage.keeper.asleep = True
    acquired(stage, order())
    leads = [leading(stage, name) for name in ("a", "b")]
    stage.wire.asked.clear()
    run(release_all(stage.session))
    assert [type(one.request) for one in stage.wire.asked] == [
        Release, Get, Swap, Release, Get, Swap, Release,
    ]  # fmt: skip
    assert [put_down(stage, lead.name) for lead in leads] == [[lead.token] for lead in leads]
    assert stage.book_is_empty()
    assert stage.book.duties == {}


def test_everything_at_once_takes_no_longer_than_one() -> None:
    """Many leads in an outage share the time, and the keeper gives them back."""
    stage = Stage(call_limit=1)
    stage.keeper.asleep = True
    leads = [leading(stage, name) for name in "abcde"]
    stage.wire.default = stage.keeper_wire.default = stage.wire.lost_request
    run(release_all(stage.session))
    assert stage.time <= 1.1
    assert not any(lead.holds(stage.clock.time) for lead in leads)
    stage.keeper.asleep = False
    stage.keeper_wire.default = stage.keeper_wire.well
    stage.clock.move(stage.clock.time + 3)
    assert [put_down(stage, lead.name) for lead in leads] == [[lead.token] for lead in leads]
    assert not any(stage.server.held_by(lead.name) for lead in leads)


def test_everything_at_once_interrupted_is_left_to_the_keeper() -> None:
    """All of it, also what had not come to its turn."""
    stage = Stage()
    stage.keeper.asleep = True
    leads = [leading(stage, name) for name in ("a", "b")]
    stage.wire.default = interrupted_at(stage, Swap)
    with pytest.raises(KeyboardInterrupt):
        run(release_all(stage.session))
    assert stage.book_is_empty()
    stage.keeper.asleep = False
    stage.clock.move(stage.clock.time + 1)
    assert [put_down(stage, lead.name) for lead in leads] == [[lead.token] for lead in leads]
    assert not any(stage.server.held_by(lead.name) for lead in leads)


def test_a_duty_that_nothing_depends_on_any_more_is_given_up() -> None:
    """When the lease has surely ended on the backend there is nothing left to wait for."""
    stage = Stage()
    stage.keeper_wire.default = stage.keeper_wire.lost_request
    state = leading(stage)
    stage.clock.move(stage.clock.time + 60)
    assert [event.token for event in stage.hub.heard(events.Unrecorded)] == [state.token]
    assert stage.book.duties == {}
    asked = len(stage.keeper_wire.asked)
    stage.clock.move(stage.clock.time + 60)
    assert len(stage.keeper_wire.asked) == asked


def test_a_chore_that_comes_in_the_middle_of_a_turn_waits_for_its_duty(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What another thread leaves to the keeper after it saw to the duties has the next turn."""
    stage = Stage()
    state = leading(stage)

    def given_back() -> float:
        if stage.book.leases.pop(state.claim_id, None) is not None:
            stage.session.leave(Release("x", state.claim_id), stage.clock.time + 60)
        return 0.5

    # The dice are thrown between the two, for the pause after a duty that could not be done.
    monkeypatch.setattr(stage.runtime, "dice", given_back)
    stage.keeper_wire.plan.append(stage.keeper_wire.refused)
    stage.clock.move(stage.clock.time + 1)
    assert [type(one.request) for one in stage.keeper_wire.asked] == [Get, Get, Swap, Release]
    assert put_down(stage) == [state.token]
    assert stage.server.held_by() == []


def test_a_client_that_closes_tells_what_it_leaves_undone() -> None:
    """Nobody is left to do it then."""
    stage = Stage()
    stage.keeper.asleep = True
    state = leading(stage)
    state.face = lambda: state
    stage.keeper_wire.default = no_journal(stage.keeper_wire)
    stage.book.closing = True
    assert stage.keeper.session is not None
    assert run(go_round(stage.keeper.session, Patience())) is None
    assert [event.token for event in stage.hub.heard(events.Unrecorded)] == [state.token]
    assert stage.server.held_by() == []
