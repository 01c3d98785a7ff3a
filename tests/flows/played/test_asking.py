"""Claiming through a faulty wire: asked again with the same id, withdrawn when given up."""

import pytest

from holdfast.errors import BackendUnavailable, LockBusy, Misuse
from holdfast.observe import events
from holdfast.rules.messages import Broke, Claim, Ended, Refused, Withdraw
from holdfast.values import Holder, Tenure
from tests.flows.played.stage import START, Stage, acquired, cut_after, order


def test_one_question_takes_a_free_name() -> None:
    """Uncontended, acquiring is one message and nothing else."""
    stage = Stage()
    state = acquired(stage, order())
    assert [type(one.request) for one in stage.wire.asked] == [Claim]
    assert stage.server.held_by() == [state.claim_id]
    assert stage.book.leases == {state.claim_id: state}
    assert stage.book.tickets == {}


def test_a_lost_reply_is_asked_for_again() -> None:
    """The grant whose reply was lost is found again under the same id, not taken twice."""
    stage = Stage(call_limit=2)
    stage.wire.plan.append(stage.wire.refused)
    stage.wire.plan.append(cut_after(stage, 0.5))
    state = acquired(stage, order(ttl=10))
    claims = stage.wire.requests(Claim)
    assert len(claims) == 3
    assert len({claim.claim_id for claim in claims}) == 1
    assert stage.server.held_by() == [state.claim_id]


def test_a_claim_asked_again_is_not_overestimated() -> None:
    """The deadline counts from the last question and from what the server said is left."""
    stage = Stage(call_limit=4)
    stage.wire.plan.append(cut_after(stage, 3.0))
    state = acquired(stage, order(ttl=10))
    ends_at = stage.server.records["x"].grants[0].ends_at
    assert ends_at == START + 10
    assert state.deadline < ends_at


def test_a_claim_given_up_is_withdrawn() -> None:
    """When nothing is known at ``call_limit``, the claim is taken back as soon as possible."""
    stage = Stage(call_limit=1)
    stage.wire.default = stage.wire.lost_reply
    with pytest.raises(BackendUnavailable) as error:
        acquired(stage, order(wait=None))
    assert error.value.outcome == "unknown"
    assert stage.time == pytest.approx(1.0, abs=0.1)
    assert stage.server.held_by() != []
    stage.clock.move(stage.clock.time + 1)
    [withdrawal] = stage.keeper_wire.requests(Withdraw)
    assert withdrawal.claim_id == stage.wire.requests(Claim)[0].claim_id
    assert stage.server.held_by() == []
    assert stage.book_is_empty()


def test_an_unknown_outcome_stays_unknown() -> None:
    """A later refusal says nothing about the first try."""
    stage = Stage(call_limit=1)
    stage.wire.plan.append(cut_after(stage, 0.4))
    stage.wire.default = stage.wire.refused
    with pytest.raises(BackendUnavailable) as error:
        acquired(stage, order())
    assert error.value.outcome == "unknown"
    stage.clock.move(stage.clock.time + 1)
    assert stage.server.held_by() == []


@pytest.mark.parametrize("wait", [None, 0, 60.0])
def test_until_the_first_reply_call_limit_counts(wait: float | None) -> None:
    """However long the caller would wait in line, reaching the backend has its own limit."""
    stage = Stage(call_limit=2)
    stage.wire.default = stage.wire.refused
    with pytest.raises(BackendUnavailable) as error:
        acquired(stage, order(wait=wait))
    assert 1 < stage.time <= 2
    assert error.value.outcome == "none"
    assert len(stage.wire.asked) > 3


def test_each_exchange_has_the_limit_too() -> None:
    """No single question is given more than ``call_limit``."""
    stage = Stage(call_limit=2)
    stage.wire.default = stage.wire.lost_request
    with pytest.raises(BackendUnavailable):
        acquired(stage, order(wait=None))
    assert all(one.deadline <= one.at + 2 for one in stage.wire.asked)


def test_what_lasts_is_not_asked_again() -> None:
    """An error that asking again cannot mend comes out at once."""

    def damaged(_request: object, _deadline: float) -> Broke:
        raise BackendUnavailable("the file is damaged", transient=False)

    stage = Stage()
    stage.wire.default = damaged
    with pytest.raises(BackendUnavailable, match="damaged"):
        acquired(stage, order())
    assert len(stage.wire.asked) == 1
    assert stage.time == 0


def test_busy_names_the_holder() -> None:
    """With ``wait=0`` a held name is busy after one question, and nothing is left to withdraw."""
    stage = Stage()
    stage.rival_takes()
    with pytest.raises(LockBusy) as busy:
        acquired(stage, order(wait=0))
    assert [held.holder.client for held in busy.value.holders] == ["rival"]
    assert len(stage.wire.asked) == 1
    assert stage.server.waiting_for() == []
    assert [event.holders for event in stage.hub.heard(events.Busy)] == [busy.value.holders]


def test_a_refusal_is_misuse() -> None:
    """What the rule refuses for good is a mistake of the caller."""
    stage = Stage()
    stage.wire.plan.append(stage.wire.says(Refused("kind", "it is in use as a semaphore")))
    with pytest.raises(Misuse, match="semaphore"):
        acquired(stage, order())
    assert stage.book.tickets == {}


def test_nonsense_is_unavailable_and_withdrawn() -> None:
    """An answer that does not fit the question is not taken for a yes."""
    stage = Stage()
    tenure = Tenure(holder=Holder("a", "b", 1), token=1, weight=1, since=0, expires_in=1)
    stage.wire.plan.append(stage.wire.says(Broke(tenure)))
    with pytest.raises(BackendUnavailable, match="unexpected"):
        acquired(stage, order())
    stage.clock.move(stage.clock.time + 1)
    assert len(stage.keeper_wire.requests(Withdraw)) == 1


def test_a_grant_that_is_over_on_arrival_is_not_used() -> None:
    """A reply that took longer than the lease lives starts no body; it is asked for anew."""
    stage = Stage()
    stage.wire.plan.append(stage.wire.slow(0.0, 3.0))
    state = acquired(stage, order(ttl=2))
    first, second = stage.wire.requests(Claim)
    assert first.claim_id != second.claim_id
    assert stage.server.held_by() == [state.claim_id] == [second.claim_id]
    assert state.holds(stage.clock.time)


def test_an_ended_claim_is_asked_anew_with_a_new_id() -> None:
    """An id that ended is never used again."""
    stage = Stage()
    stage.wire.plan.append(stage.wire.says(Ended("claim-1", "lapsed")))
    state = acquired(stage, order())
    assert [claim.claim_id for claim in stage.wire.requests(Claim)] == ["claim-1", "claim-2"]
    assert state.claim_id == "claim-2"


def test_a_claim_carries_the_largest_token_seen() -> None:
    """What the client knows of a name's tokens goes with its next claim."""
    stage = Stage()
    first = acquired(stage, order())
    stage.book.leases.clear()
    stage.book.owned.clear()
    stage.server.records.clear()
    second = acquired(stage, order())
    assert stage.wire.requests(Claim)[1].seen_token == first.token
    assert second.token > first.token
