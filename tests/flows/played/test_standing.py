"""Standing for election, on the played stage: nobody leads before it is in the journal."""

import pytest

from holdfast.errors import BackendUnavailable, LockBusy
from holdfast.flows.book import LeaseState
from holdfast.flows.journal import FORM, LARGEST, LONGEST, Line, added, lines_of, read, written
from holdfast.flows.order import Order
from holdfast.flows.release import release
from holdfast.flows.stand import stand
from holdfast.rules.messages import Claim, Release, Reply, Request, Want
from holdfast.rules.record_messages import Get, Swap
from holdfast.runtimes.step import run
from holdfast.values import Holder, Tenure
from tests.flows.played.stage import Stage, cut_after


def stood(stage: Stage, wait: float | None = None, metadata: str = "") -> LeaseState:
    """Lead, as a thread would."""
    order = Order("x", Want("lead", 1, 1, 10.0, metadata), wait)
    return run(stand(stage.session, order, ("test.py", 1)))


def led(stage: Stage, metadata: str = "") -> int:
    """Lead for no time at all; give the token."""
    state = stood(stage, metadata=metadata)
    run(release(stage.session, state))
    return state.token


def journal(stage: Stage) -> list[tuple[int, bool]]:
    """Give the tokens in the journal, and whether nobody led right before each."""
    return [(one.tenure.token, one.vacant) for one in run(lines_of(stage.session, "x"))]


def test_a_leader_is_in_the_journal_before_it_is_told() -> None:
    """When ``stand`` returns, everybody can read who leads."""
    stage = Stage()
    state = stood(stage, metadata='{"zone":1}')
    assert stage.wire.requests(Release) == []
    (line,) = run(lines_of(stage.session, "x"))
    assert line.vacant
    assert line.tenure.token == state.token
    assert line.tenure.holder == stage.session.holder
    assert line.tenure.metadata == '{"zone":1}'
    assert [type(one.request) for one in stage.wire.asked[:3]] == [Claim, Get, Swap]


def test_whether_anybody_led_right_before_is_written_too() -> None:
    """Who was in line follows at once; who found the name free does not."""
    stage = Stage()
    first = led(stage)
    rival = Want("lead", 1, 1, 60.0)
    stage.server.answer(Claim("x", "rival", rival, Holder("r", "there", 2), "", 60.0))
    stage.clock.at(1, lambda: stage.server.answer(Release("x", "rival")))
    second = led(stage)
    third = led(stage)
    assert journal(stage) == [(first, True), (second, False), (third, True)]


def test_who_stands_by_reads_ahead() -> None:
    """In line it looks at the journal, so that one write is all that is left to do."""
    stage = Stage()
    first = led(stage)
    rival = Want("lead", 1, 1, 60.0)
    stage.server.answer(Claim("x", "rival", rival, Holder("r", "there", 2), "", 60.0))
    stage.clock.at(1, lambda: stage.server.answer(Release("x", "rival")))
    stage.wire.asked.clear()
    second = stood(stage)
    assert [type(one.request) for one in stage.wire.asked] == [Claim, Get, Swap]
    assert stage.wire.asked[1].at < stage.wire.asked[2].at
    assert journal(stage) == [(first, True), (second.token, False)]


def test_reading_ahead_is_repeated_until_the_leader_has_written() -> None:
    """A leader that is about to put itself down is read again, now and then; then no more."""
    stage = Stage()
    rival = Want("lead", 1, 1, 600.0)
    stage.server.answer(Claim("x", "rival", rival, Holder("r", "there", 2), "", 60.0))
    token = stage.server.records["x"].grants[0].token
    tenure = Tenure(Holder("r", "there", 2), token, 1, stage.clock.time, 0.0)
    line = added(None, written(Line(tenure, vacant=True)), "here")
    stage.clock.at(5, lambda: stage.server.answer(Swap("lead", "x", "r", line, 0, None, token)))
    stage.clock.at(60, lambda: stage.server.answer(Release("x", "rival")))
    second = stood(stage)
    asked = [type(one.request) for one in stage.wire.asked]
    assert asked[0] is Claim
    assert asked[-1] is Swap
    assert 2 <= len(asked) - 2 <= 6
    assert set(asked[1:-1]) == {Get}
    assert journal(stage) == [(token, True), (second.token, False)]


def test_what_was_read_ahead_may_be_out_of_date() -> None:
    """Somebody else led meanwhile: its line stays, and ours comes after it."""
    stage = Stage()
    rival = Want("lead", 1, 1, 60.0)
    stage.server.answer(Claim("x", "rival", rival, Holder("r", "there", 2), "", 60.0))
    token = stage.server.records["x"].grants[0].token
    tenure = Tenure(Holder("r", "there", 2), token, 1, stage.clock.time, 0.0)
    line = added(None, written(Line(tenure, vacant=True)), "here")
    stage.clock.at(0.5, lambda: stage.server.answer(Swap("lead", "x", "r", line, 0, None, token)))
    stage.clock.at(1, lambda: stage.server.answer(Release("x", "rival")))
    second = stood(stage)
    assert journal(stage) == [(token, True), (second.token, False)]


def test_who_cannot_read_ahead_reads_later() -> None:
    """An outage while it stands by costs nobody the place, and nothing is written blindly."""
    stage = Stage()
    first = led(stage)
    rival = Want("lead", 1, 1, 60.0)
    stage.server.answer(Claim("x", "rival", rival, Holder("r", "there", 2), "", 60.0))
    stage.clock.at(1.5, lambda: stage.server.answer(Release("x", "rival")))
    stage.wire.plan.extend([stage.wire.well, stage.wire.lost_request])
    second = stood(stage)
    assert journal(stage) == [(first, True), (second.token, False)]


def test_a_write_that_nobody_remembers_is_looked_for() -> None:
    """Its reply was lost, and by now the record does not say whose write it was: it is read."""
    for done in (True, False):
        stage = Stage()

        def forgotten(request: Request, _deadline: float, done: bool = done) -> Reply:  # noqa: FBT001
            if done:
                stage.server.answer(request)  # noqa: B023 - used in this turn only
            raise BackendUnavailable("?", backend="fake", outcome="unknown", transient=False)

        stage.wire.plan.extend([stage.wire.well, stage.wire.well, forgotten])
        state = stood(stage)
        assert journal(stage) == [(state.token, True)]


def test_a_claim_asked_again_does_not_pretend_to_know() -> None:
    """Where the reply was lost the claim may have been in line: no pause is written then."""
    stage = Stage()
    stage.wire.plan.append(cut_after(stage, 0.1))
    token = led(stage)
    assert journal(stage) == [(token, False)]


def test_an_interruption_leaves_nothing_behind() -> None:
    """Interrupted while it is put down, the lead is given back."""
    for kind in (Get, Swap):
        stage = Stage()

        def fate(request: Request, _deadline: float, kind: type = kind) -> Reply:
            if isinstance(request, kind):
                raise KeyboardInterrupt
            return stage.server.answer(request)  # noqa: B023 - used in this turn only

        stage.wire.plan.extend([fate] * 3)
        with pytest.raises(KeyboardInterrupt):
            stood(stage)
        assert stage.book_is_empty()
        assert stage.server.held_by() == []


def test_a_lead_that_cannot_be_put_down_is_stood_for_again() -> None:
    """Through an outage right after the grant it comes to lead, with a later token."""
    stage = Stage()
    stage.wire.plan.append(stage.wire.well)
    stage.wire.default = stage.keeper_wire.default = stage.wire.lost_request

    def back() -> None:
        stage.wire.default = stage.keeper_wire.default = stage.wire.well

    stage.clock.at(40, back)
    state = stood(stage, wait=100)
    claims = stage.wire.requests(Claim)
    assert claims[0].claim_id != state.claim_id
    assert stage.server.held_by() == [state.claim_id]
    assert state.holds(stage.clock.time)
    assert [token for token, _ in journal(stage)] == [state.token]


def test_a_wait_that_ends_before_it_is_put_down() -> None:
    """What became of the lead is then unknown, and nothing of it is kept."""
    stage = Stage()
    stage.wire.plan.append(stage.wire.well)
    stage.wire.default = stage.wire.lost_request
    with pytest.raises(BackendUnavailable) as caught:
        stood(stage, wait=2)
    assert caught.value.outcome == "unknown"
    assert stage.book_is_empty()
    stage.clock.move(stage.clock.time + 1)
    assert stage.server.held_by() == []


def test_who_was_overtaken_does_not_lead() -> None:
    """A journal written under a later token says that this lease is over: stand again."""
    stage = Stage()
    later = int((stage.clock.time + 0.5) * 1_000_000)

    def overtaken(request: Request, _deadline: float) -> Reply:
        stage.server.answer(Swap("lead", "x", "other", FORM, 0, fence=later))
        stage.clock.time += 1
        return stage.server.answer(request)

    stage.wire.plan.extend([stage.wire.well, overtaken])
    state = stood(stage, wait=10)
    assert state.token > later
    assert len(stage.wire.requests(Claim)) == 2
    assert journal(stage) == [(state.token, True)]


def test_a_journal_of_another_form_is_refused() -> None:
    """What cannot be read is not written over, and the lead is given back."""
    stage = Stage()
    stage.server.answer(Swap("lead", "x", "newer", b"2 something", 0))
    with pytest.raises(BackendUnavailable, match="cannot read"):
        stood(stage)
    assert stage.server.held_by() == []
    assert stage.book_is_empty()


def test_busy_costs_one_question() -> None:
    """Who does not come to lead has nothing to put down."""
    stage = Stage()
    stage.server.answer(Claim("x", "r", Want("lead", 1, 1, 60.0), Holder("r", "there", 2), "", 0.0))
    with pytest.raises(LockBusy):
        stood(stage, wait=0)
    assert len(stage.wire.asked) == 1


def test_a_journal_goes_back_so_many_tenures() -> None:
    """The newest are kept."""
    stage = Stage()
    tokens = [led(stage) for _ in range(LONGEST + 20)]
    assert [token for token, _ in journal(stage)] == tokens[-LONGEST:]


def test_large_metadata_makes_it_shorter() -> None:
    """It never outgrows its bound, and the newest always has a place."""
    tenures = [
        Tenure(Holder("c", "h", 1), token, 1, 1.5, 0.0, "é" * 2000) for token in range(1, 60)
    ]
    value = None
    for tenure in tenures:
        value = added(value, written(Line(tenure, vacant=True)), "here")
    assert value is not None
    assert LARGEST - 5000 < len(value) <= LARGEST
    kept = [line.tenure for line in read(value, "here")]
    assert kept == tenures[-len(kept) :]
    huge = Line(tenures[0]._replace(metadata="x" * 2 * LARGEST), vacant=False)
    assert read(added(value, written(huge), "here"), "here") == [huge]
