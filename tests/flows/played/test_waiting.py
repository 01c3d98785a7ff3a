"""Waiting in line: notices, ticks, outages, patience; and the first deadline after a hand-over."""

import pytest

from holdfast.errors import BackendUnavailable, LockBusy, Misuse
from holdfast.flows.trip import LONG_WAIT
from holdfast.observe import events
from holdfast.rules import lease as rule
from holdfast.rules.desk import FIRST_LIFE
from holdfast.rules.messages import Claim, Ended, Notice, Release, Renew, Reply, Request, Withdraw
from tests.flows.played.stage import START, Stage, acquired, order


def release_rival(stage: Stage, claim_id: str = "rival") -> None:
    """Let the rival let go."""
    stage.server.answer(Release("x", claim_id))


def test_a_notice_ends_the_wait() -> None:
    """The hand-over reaches the waiter at once, without another question of its own."""
    stage = Stage()
    stage.rival_takes()
    stage.clock.at(0.3, lambda: release_rival(stage))
    state = acquired(stage, order(wait=10))
    assert stage.time == pytest.approx(0.3)
    assert [type(one.request) for one in stage.wire.asked] == [Claim]
    assert stage.server.held_by() == [state.claim_id]


def test_the_first_deadline_counts_from_the_last_still_waiting() -> None:
    """After a hand-over the holder believes from the send time of its last answered question."""
    stage = Stage()
    stage.rival_takes()
    stage.clock.at(0.3, lambda: release_rival(stage))
    stage.keeper.asleep = True
    state = acquired(stage, order(wait=10, ttl=60))
    assert state.deadline == rule.deadline(START, FIRST_LIFE)
    assert state.deadline <= stage.server.records["x"].grants[0].ends_at


def test_a_young_hand_over_starts_at_once_and_is_confirmed_by_the_next_batch() -> None:
    """With enough life left the body starts without a question; the keeper makes it full."""
    stage = Stage()
    stage.rival_takes()
    stage.clock.at(0.3, lambda: release_rival(stage))
    state = acquired(stage, order(wait=10, ttl=60))
    assert stage.time == pytest.approx(0.3)
    stage.clock.move(stage.clock.time + 1.1)
    assert [renewal.items[0].token for renewal in stage.keeper_wire.requests(Renew)] == [
        state.token
    ]
    assert state.deadline > stage.clock.time + 55


def test_a_short_hand_over_is_confirmed_at_once_in_the_background() -> None:
    """With less than 1.5 s left the body starts, and the keeper asks without waiting for a tick."""
    stage = Stage()
    stage.rival_takes()
    stage.keeper_wire.default = stage.keeper_wire.refused  # so the last good word is an old one
    stage.clock.at(1.6, lambda: _mend(stage))
    stage.clock.at(1.7, lambda: release_rival(stage))
    state = acquired(stage, order(wait=10, ttl=60))
    assert stage.time == pytest.approx(1.7)
    assert 1.0 < state.deadline - stage.clock.time < 1.5
    stage.clock.move(stage.clock.time + 0.7)
    assert state.deadline > stage.clock.time + 55


def test_an_old_hand_over_is_confirmed_first() -> None:
    """When too little is left by the holder's own count, the body starts only after a renewal."""
    stage = Stage()
    stage.rival_takes()
    stage.clock.at(0.4, lambda: release_rival(stage))
    state = acquired(stage, order(wait=10, ttl=0.5))
    confirmations = stage.wire.requests(Renew)
    assert [one.items[0].token for one in confirmations] == [state.token]
    assert state.deadline == rule.deadline(START + 0.4, 0.5)


def test_a_hand_over_that_cannot_be_confirmed_starts_no_body() -> None:
    """If the confirming renewal fails the claim is withdrawn and queued anew with a new id."""
    stage = Stage(call_limit=0.5)
    stage.rival_takes()
    stage.clock.at(0.4, lambda: release_rival(stage))
    stage.wire.plan.extend([stage.wire.well, stage.wire.lost_request])
    state = acquired(stage, order(wait=10, ttl=0.5))
    ids = [claim.claim_id for claim in stage.wire.requests(Claim)]
    assert len(set(ids)) == 2
    assert state.claim_id == ids[-1]
    stage.clock.move(stage.clock.time + 0.1)
    assert stage.server.held_by() == [state.claim_id]


def test_a_detached_lease_is_always_confirmed() -> None:
    """A lease that no keeper renews starts under its full life only."""
    stage = Stage()
    stage.rival_takes()
    stage.clock.at(0.1, lambda: release_rival(stage))
    state = acquired(stage, order(wait=10, ttl=60, detached=True, renew=False))
    assert stage.wire.requests(Renew) != []
    assert state.deadline > stage.clock.time + 55
    assert stage.book.leases == {}


def test_a_lost_notice_costs_a_second() -> None:
    """The keeper's tick finds out that the claim was granted meanwhile."""
    stage = Stage()
    stage.lose_notices()
    stage.rival_takes()
    stage.clock.at(0.2, lambda: release_rival(stage))
    state = acquired(stage, order(wait=10))
    assert stage.time == pytest.approx(1.0, abs=0.05)
    assert state.deadline == pytest.approx(rule.deadline(START + 1.0, 10), abs=0.05)


def test_the_end_of_the_grant_ahead_is_asked_for_on_time() -> None:
    """The head of the queue asks when the grant in its way ends, not a tick later."""
    stage = Stage()
    stage.rival_takes(ttl=1.3)
    acquired(stage, order(wait=10))
    assert stage.time == pytest.approx(1.3, abs=0.05)


def test_a_notice_with_an_old_token_is_ignored() -> None:
    """A late duplicate of an earlier grant settles nothing."""
    stage = Stage()
    first = acquired(stage, order())
    release_rival(stage, first.claim_id)
    stage.book.leases.clear()
    stage.book.owned.clear()
    stage.rival_takes()

    def old_notice() -> None:
        stage.book.deliver(
            Notice(
                what="granted",
                inbox="inbox",
                name="x",
                claim_id="claim-2",
                token=first.token,
                life=3.0,
            )
        )

    stage.clock.at(0.1, old_notice)
    with pytest.raises(LockBusy):
        acquired(stage, order(wait=0.5))
    assert stage.time == pytest.approx(0.5)


def test_a_notice_for_somebody_else_is_ignored() -> None:
    """A notice whose claim this client does not know settles nothing."""
    stage = Stage()
    stage.rival_takes()
    notice = Notice(
        what="granted", inbox="inbox", name="x", claim_id="stranger", token=2**60, life=3
    )
    stage.clock.at(0.1, lambda: stage.book.deliver(notice))
    with pytest.raises(LockBusy):
        acquired(stage, order(wait=0.3))


def test_a_wait_that_ends_is_withdrawn_and_busy() -> None:
    """Busy is said only after the backend has confirmed that nothing is left of the claim."""
    stage = Stage()
    stage.rival_takes()
    with pytest.raises(LockBusy) as busy:
        acquired(stage, order(wait=2.5))
    assert busy.value.waited_for == pytest.approx(2.5)
    assert len(stage.wire.requests(Withdraw)) == 1
    assert stage.server.waiting_for() == []
    assert stage.book.tickets == {}


def test_a_withdrawal_gives_back_what_was_granted_meanwhile() -> None:
    """Granted in the very moment of giving up: it is taken back, and passed on."""
    stage = Stage()
    stage.lose_notices()
    stage.rival_takes()
    stage.clock.at(0.4, lambda: release_rival(stage))
    with pytest.raises(LockBusy):
        acquired(stage, order(wait=0.5))
    assert stage.server.held_by() == []


def test_outages_are_ridden_over() -> None:
    """Once in the queue, failing ticks neither end the wait nor lose the place."""
    stage = Stage(call_limit=0.2)
    stage.rival_takes()
    stage.clock.at(0.5, lambda: setattr(stage.keeper_wire, "default", stage.keeper_wire.refused))
    stage.clock.at(2.5, lambda: setattr(stage.keeper_wire, "default", stage.keeper_wire.well))
    stage.clock.at(4.0, lambda: release_rival(stage))
    state = acquired(stage, order(wait=10))
    assert stage.time == pytest.approx(4.0)
    assert state.claim_id == "claim-1"


def test_a_place_lost_in_a_long_outage_is_taken_anew() -> None:
    """After an outage longer than its patience the waiter queues again with a new id."""
    stage = Stage(call_limit=0.2)
    stage.rival_takes(ttl=60)
    stage.clock.at(0.5, lambda: setattr(stage.keeper_wire, "default", stage.keeper_wire.refused))
    stage.clock.at(5.0, lambda: setattr(stage.keeper_wire, "default", stage.keeper_wire.well))
    stage.clock.at(7.0, lambda: release_rival(stage))
    state = acquired(stage, order(wait=20))
    assert [claim.claim_id for claim in stage.wire.requests(Claim)] == ["claim-1", "claim-2"]
    assert state.claim_id == "claim-2"
    assert stage.time == pytest.approx(7.0)


def test_outages_while_queueing_anew_last_until_the_wait_ends() -> None:
    """After the first reply only ``wait`` counts, also for the claim that follows."""
    stage = Stage(call_limit=0.2)
    stage.rival_takes(ttl=60)
    stage.clock.at(0.5, lambda: _cut(stage))
    stage.clock.at(5.0, lambda: setattr(stage.keeper_wire, "default", stage.keeper_wire.well))
    stage.clock.at(8.0, lambda: setattr(stage.wire, "default", stage.wire.well))
    stage.clock.at(9.0, lambda: release_rival(stage))
    acquired(stage, order(wait=None))
    assert stage.time == pytest.approx(9.0, abs=0.1)


def _cut(stage: Stage) -> None:
    stage.wire.default = stage.wire.refused
    stage.keeper_wire.default = stage.keeper_wire.refused


def test_unresolved_at_the_end_of_the_wait_is_unavailable() -> None:
    """When the backend does not confirm the withdrawal, busy would be a guess."""
    stage = Stage(call_limit=0.2)
    stage.rival_takes()
    stage.clock.at(0.5, lambda: _cut(stage))
    with pytest.raises(BackendUnavailable) as error:
        acquired(stage, order(wait=1.0))
    assert error.value.outcome == "unknown"
    assert stage.time == pytest.approx(1.2, abs=0.1)
    assert stage.book.tickets == {}
    assert stage.server.waiting_for() == ["claim-1"]
    _mend(stage)
    stage.clock.move(stage.clock.time + 2)
    assert stage.server.waiting_for() == []


def _mend(stage: Stage) -> None:
    stage.wire.default = stage.wire.well
    stage.keeper_wire.default = stage.keeper_wire.well


def test_many_waits_are_one_message_a_second() -> None:
    """All places of a client are kept by one batch per tick."""
    stage = Stage()
    stage.rival_takes()
    stage.clock.at(5.05, lambda: release_rival(stage))
    acquired(stage, order(wait=10))
    ticks = {one.at for one in stage.keeper_wire.asked}
    assert 4 <= len(ticks) <= 6


def test_a_long_wait_is_told_again_and_again() -> None:
    """Every ten seconds of waiting are an event that names who holds."""
    stage = Stage()
    stage.rival_takes()
    with pytest.raises(LockBusy):
        acquired(stage, order(wait=25))
    told = stage.hub.heard(events.Waited)
    assert [round(event.waited_for) for event in told] == [LONG_WAIT, 2 * LONG_WAIT]
    assert told[0].holders[0].holder.client == "rival"


def test_a_waiter_minds_its_keeper() -> None:
    """At least every two seconds a waiter sees to it that its keeper is alive."""
    stage = Stage()
    stage.rival_takes()
    with pytest.raises(LockBusy):
        acquired(stage, order(wait=9))
    assert stage.keeper.minded >= 4


def test_a_closed_client_ends_the_wait() -> None:
    """A waiter whose client is closed is told so."""
    stage = Stage()
    stage.rival_takes()
    stage.clock.at(0.5, lambda: setattr(stage.book, "closing", True))
    with pytest.raises(Misuse, match="closed"):
        acquired(stage, order(wait=10))


def test_a_claim_that_was_ended_by_closing_is_not_made_again() -> None:
    """The keeper may have withdrawn it before the caller even hears that it waits."""
    stage = Stage()
    stage.rival_takes()

    def closed_meanwhile(request: Request, _deadline: float) -> Reply:
        reply = stage.server.answer(request)
        stage.book.closing = True
        (ticket,) = stage.book.tickets.values()
        ticket.settle(Ended(ticket.claim_id, "withdrawn"))
        return reply

    stage.wire.plan.append(closed_meanwhile)
    with pytest.raises(Misuse, match="closed"):
        acquired(stage, order())
    assert len(stage.wire.requests(Claim)) == 1


def test_the_same_owner_is_told_where_it_holds() -> None:
    """Waiting for oneself is refused without a question, naming the place."""
    stage = Stage()
    first = acquired(stage, order())
    with pytest.raises(Misuse, match=r"test\.py:1"):
        acquired(stage, order(wait=1))
    assert len(stage.wire.asked) == 1
    again = acquired(stage, order(reentrant=True))
    assert again is first
    assert first.count == 2
    with pytest.raises(LockBusy):
        acquired(stage, order(wait=0))
    stage.runtime.me = "another owner"
    with pytest.raises(LockBusy):
        acquired(stage, order(wait=1, reentrant=True))
