"""The keeper: renews in batches, believes only confirmed replies, tells loss at the deadline."""

import pytest

from holdfast.errors import LockLost
from holdfast.flows.extend import extend
from holdfast.flows.order import Order
from holdfast.flows.release import release
from holdfast.observe import events
from holdfast.rules import lease as rule
from holdfast.rules.messages import (
    Break,
    Ended,
    Notice,
    Refused,
    Release,
    Renew,
    Renewed,
    Reply,
    Waiting,
)
from holdfast.runtimes.step import run
from tests.flows.played.stage import START, Stage, acquired, order


def on(name: str, **terms: object) -> Order:
    """Order another name."""
    return order(**terms).with_name(name)  # type: ignore[arg-type]


def test_the_deadline_counts_from_the_send_time() -> None:
    """However late the reply, the life it names began no later than the question was sent."""
    stage = Stage()
    stage.wire.plan.append(stage.wire.slow(0.5, 1.0))
    state = acquired(stage, order(ttl=10))
    assert state.deadline == rule.deadline(START, 10)


def test_a_renewal_counts_from_its_send_time_too() -> None:
    """A slow renewal moves the deadline by what was sent, not by when it came back."""
    stage = Stage()
    state = acquired(stage, order(ttl=9))
    stage.keeper_wire.plan.append(stage.keeper_wire.slow(0.2, 0.3))
    stage.clock.move(START + 3.6)
    assert state.deadline == pytest.approx(rule.deadline(START + 3.0, 9))


def test_renewed_at_a_third_of_its_ttl() -> None:
    """Two more tries fit before the end."""
    stage = Stage()
    acquired(stage, order(ttl=9))
    stage.clock.move(START + 9.5)
    assert [round(one.at - START, 2) for one in stage.keeper_wire.asked] == [3.0, 6.0, 9.0]
    assert len(stage.hub.heard(events.Renewed)) == 3


def test_an_unknown_renewal_neither_loses_nor_extends() -> None:
    """Without an answer the deadline stays where it is, and the keeper asks again."""
    stage = Stage(call_limit=0.5)
    state = acquired(stage, order(ttl=9))
    before = state.deadline
    stage.keeper_wire.default = stage.keeper_wire.lost_reply
    stage.clock.move(START + 6)
    assert state.deadline == before
    assert state.holds(stage.clock.time)
    assert len(stage.keeper_wire.asked) > 2
    assert stage.hub.heard(events.RenewalUnknown) != []
    stage.keeper_wire.default = stage.keeper_wire.well
    stage.clock.move(START + 9)
    assert state.deadline > before
    assert stage.hub.heard(events.Lost) == []


def test_lost_at_the_deadline_whatever_the_server_would_say() -> None:
    """Renewals that may have worked do not count: at the deadline the lease is lost."""
    stage = Stage(call_limit=0.5)
    told: list[float] = []
    state = acquired(stage, order(ttl=9))
    state.listeners.append(lambda: told.append(stage.clock.time))
    stage.keeper_wire.default = stage.keeper_wire.lost_reply
    stage.clock.move(START + 20)
    assert told == [pytest.approx(rule.deadline(START, 9), abs=0.2)]
    assert [event.token for event in stage.hub.heard(events.Lost)] == [state.token]
    assert state.loss
    assert stage.book_is_empty()


def test_a_confirmation_after_the_deadline_is_too_late() -> None:
    """A yes that arrives when the holder has stopped believing does not make it believe again."""
    stage = Stage()
    state = acquired(stage, order(ttl=9))
    stage.keeper_wire.plan.append(stage.keeper_wire.slow(0.0, 7.0))  # as if paused on the way back
    stage.clock.move(START + 10.5)
    assert not state.holds(stage.clock.time)
    assert state.is_lost(stage.clock.time)
    assert len(stage.hub.heard(events.Lost)) == 1


def test_an_extension_after_the_deadline_is_too_late() -> None:
    """The same for ``extend``: what is over is over, whatever the reply says."""
    stage = Stage()
    state = acquired(stage, order(ttl=3, renew=False))
    stage.wire.plan.append(stage.wire.slow(0.0, 4.0))
    with pytest.raises(LockLost):
        run(extend(stage.session, state, 60))
    assert not state.holds(stage.clock.time)


@pytest.mark.parametrize("ttl", [0.3, 3.0, 30.0])
def test_no_attempt_takes_more_than_a_third_of_what_is_left(ttl: float) -> None:
    """A silent server leaves time for another try and for telling the loss on time."""
    stage = Stage(call_limit=100)
    state = acquired(stage, order(ttl=ttl))
    stage.keeper_wire.default = stage.keeper_wire.lost_request
    stage.clock.move(START + 2 * ttl)
    for one in stage.keeper_wire.asked:
        left = rule.deadline(START, ttl) - one.at
        assert one.deadline - one.at <= max(left / 3, 0.05) + 1e-9
    assert len(stage.keeper_wire.asked) >= 3
    [lost] = stage.hub.heard(events.Lost)
    assert lost.held_for == pytest.approx(state.deadline - START, abs=0.06)


def test_a_short_lease_is_told_on_time_beside_a_long_one() -> None:
    """An attempt for a long lease does not hold up the loss of a short one."""
    stage = Stage(call_limit=100)
    long = acquired(stage, on("long", ttl=30))
    stage.clock.move(START + 9.95)
    short = acquired(stage, on("short", ttl=0.6))
    told: list[float] = []
    short.listeners.append(lambda: told.append(stage.clock.time))
    stage.keeper_wire.default = stage.keeper_wire.lost_request
    stage.clock.move(START + 15)
    assert told == [pytest.approx(short.deadline, abs=0.1)]
    assert long.holds(stage.clock.time)


def test_a_chore_does_not_hold_up_a_loss() -> None:
    """A release that cannot be delivered is tried no longer than the leases can spare."""
    stage = Stage(call_limit=100)
    state = acquired(stage, order(ttl=0.6))
    told: list[float] = []
    state.listeners.append(lambda: told.append(stage.clock.time))
    stage.keeper_wire.default = stage.keeper_wire.lost_request
    stage.session.leave(Release("other", "old"), START + 60)
    stage.clock.move(START + 5)
    assert told == [pytest.approx(state.deadline, abs=0.1)]


def test_a_chore_does_not_hold_up_a_renewal() -> None:
    """A chore that waits for its answer leaves time to renew what would end meanwhile."""
    stage = Stage(call_limit=5)
    state = acquired(stage, order(ttl=3))
    stage.keeper_wire.plan.append(stage.keeper_wire.lost_request)
    stage.clock.at(0.9, lambda: stage.session.leave(Release("other", "old"), START + 60))
    stage.clock.move(START + 20)
    assert state.holds(stage.clock.time)


def test_all_due_leases_go_in_one_batch() -> None:
    """Any number of leases costs one exchange per tick, sorted by the names' bytes."""
    stage = Stage()
    names = ["b", "ä", "a", "z"]
    states = [acquired(stage, on(name, ttl=9)) for name in names]
    stage.clock.move(START + 3.1)
    assert {one.at for one in stage.keeper_wire.asked} == {START + 3}
    assert [one.name for one in stage.keeper_wire.requests(Renew)] == ["a", "b", "z", "ä"]
    assert all(state.deadline > START + 11 for state in states)


def test_one_refused_lease_does_not_touch_its_batchmates() -> None:
    """In one batch one lease may be gone while the others live on."""
    stage = Stage()
    gone, kept = acquired(stage, on("gone", ttl=9)), acquired(stage, on("kept", ttl=9))
    stage.server.answer(Break("gone", gone.token, "enough", force=True))
    stage.server.records.pop("gone")
    gone.loss = ""
    stage.clock.move(START + 4)
    assert not gone.holds(stage.clock.time)
    assert kept.holds(stage.clock.time)


def test_a_refused_renewal_is_a_loss_at_once() -> None:
    """What the backend has ended is lost, although the deadline is still to come."""
    stage = Stage()
    state = acquired(stage, order(ttl=9))
    refusal = Renewed((Ended(state.claim_id, "unknown"),))
    stage.keeper_wire.plan.append(stage.keeper_wire.says(refusal))
    stage.clock.move(START + 3.1)
    assert state.loss == "the backend has ended it (unknown)"
    assert not state.holds(stage.clock.time)


def test_a_broken_grant_is_told_with_its_reason() -> None:
    """A notice of a break is a loss at once; the claim is acknowledged by its release."""
    stage = Stage()
    state = acquired(stage, order(ttl=60))
    stage.server.answer(Break("x", state.token, "the disk is full"))
    stage.clock.move(START + 0.01)
    assert state.loss == "broken: the disk is full"
    assert stage.server.held_by() == [state.claim_id]
    run(release(stage.session, state))
    stage.clock.move(stage.clock.time + 0.01)
    assert stage.server.held_by() == []


def test_a_break_of_another_token_is_ignored() -> None:
    """A late notice about an earlier grant breaks nothing."""
    stage = Stage()
    state = acquired(stage, order(ttl=60))
    notice = Notice(
        what="broken", inbox="inbox", name="x", claim_id=state.claim_id, token=state.token - 1
    )
    stage.book.deliver(notice)
    stage.keeper.wake()
    stage.clock.move(START + 0.1)
    assert state.holds(stage.clock.time)


def test_a_nonsense_answer_is_unknown_and_keeps_the_secret() -> None:
    """What makes no sense neither loses nor extends, and no claim id gets into an event."""
    stage = Stage()
    state = acquired(stage, order(ttl=9))
    nonsense: list[Reply] = [
        Renewed((Waiting(None, ()),)),
        Refused("kind", "what?"),
    ]
    stage.keeper_wire.plan.extend(stage.keeper_wire.says(reply) for reply in nonsense)
    stage.clock.move(START + 3.3)
    told = stage.hub.heard(events.RenewalUnknown)
    assert told != []
    assert [event for event in told if state.claim_id in event.error] == []
    assert state.holds(stage.clock.time)


def test_max_hold_is_not_renewed_beyond() -> None:
    """The server is asked for no more than ``max_hold`` allows, and the loss names it."""
    stage = Stage()
    state = acquired(stage, order(ttl=9, max_hold=12.0))
    stage.clock.move(START + 30)
    ends_at = max(
        one.at + one.request.items[0].ttl
        for one in stage.keeper_wire.asked
        if isinstance(one.request, Renew)
    )
    assert ends_at <= START + 12 + 1e-9
    assert state.loss == "max_hold is over"
    [lost] = stage.hub.heard(events.Lost)
    assert lost.held_for <= 12


def test_renew_false_is_not_renewed() -> None:
    """Nobody asks for a lease that is not to be renewed."""
    stage = Stage()
    state = acquired(stage, order(ttl=9, renew=False))
    stage.clock.move(START + 30)
    assert stage.keeper_wire.requests(Renew) == []
    assert "renew=False" in state.loss


def test_extend_renews_by_the_new_ttl() -> None:
    """After ``extend`` the keeper renews by the longer life."""
    stage = Stage()
    state = acquired(stage, order(ttl=3))
    run(extend(stage.session, state, 60))
    assert state.deadline > START + 55
    stage.clock.move(START + 21)
    assert [one.items[0].ttl for one in stage.keeper_wire.requests(Renew)] == [60]


def test_extend_of_what_is_gone_is_a_loss() -> None:
    """``extend`` never revives: the refusal is a loss, told like any other."""
    stage = Stage()
    state = acquired(stage, order(ttl=3))
    stage.server.records.clear()
    with pytest.raises(LockLost):
        run(extend(stage.session, state, 60))
    assert len(stage.hub.heard(events.Lost)) == 1


def test_one_failing_listener_does_not_silence_the_others() -> None:
    """Everybody who wanted to know of the loss is told."""
    stage = Stage()
    state = acquired(stage, order(ttl=3, renew=False))
    told: list[str] = []

    def fail() -> None:
        raise ZeroDivisionError

    state.listeners.extend([fail, lambda: told.append("second")])
    try:
        stage.clock.move(START + 4)
    except ZeroDivisionError:
        stage.clock.move(START + 5)
    assert told == ["second"]
