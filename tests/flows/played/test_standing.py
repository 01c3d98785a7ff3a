"""Standing for election, on the played stage: who leads is put down while it does, by somebody."""

import pytest

from holdfast.errors import BackendUnavailable, LockBusy
from holdfast.flows.book import LeaseState
from holdfast.flows.journal import FORM, LARGEST, LONGEST, Line, added, lines_of, read, written
from holdfast.flows.order import Order
from holdfast.flows.release import release
from holdfast.flows.stand import stand
from holdfast.observe import events
from holdfast.rules.messages import Claim, Release, Reply, Request, Want
from holdfast.rules.record_messages import Get, Swap
from holdfast.runtimes.step import run
from holdfast.values import Holder, Tenure
from tests.flows.played.stage import Stage, cut_after

RIVAL = Holder("r", "there", 2)


def stood(stage: Stage, wait: float | None = None, metadata: str = "") -> LeaseState:
    """Lead, as a thread would."""
    order = Order("x", Want("lead", 1, 1, 10.0, metadata), wait)
    return run(stand(stage.session, order, ("test.py", 1)))


def led(stage: Stage, metadata: str = "") -> int:
    """Lead for no time at all; give the token."""
    state = stood(stage, metadata=metadata)
    run(release(stage.session, state))
    return state.token


def rival_leads(stage: Stage, ttl: float = 60.0) -> int:
    """Let somebody else lead, who writes nothing; give the token."""
    stage.server.answer(Claim("x", "rival", Want("lead", 1, 1, ttl), RIVAL, "", 60.0))
    return stage.server.records["x"].grants[0].token


def journal(stage: Stage) -> list[tuple[int, bool]]:
    """Give the tokens in the journal, and whether nobody led right before each."""
    value = stage.server.kept["lead", "x"].value if stage.server.kept else None
    return [(one.tenure.token, one.vacant) for one in read(value, "here")]


def kinds(stage: Stage) -> list[type]:
    """Name what the caller itself has asked."""
    return [type(one.request) for one in stage.wire.asked]


def a_moment_passes(stage: Stage) -> None:
    """Let the keeper do what it was woken for."""
    stage.clock.move(stage.clock.time)


def test_nobody_waits_for_the_journal() -> None:
    """To lead takes one question; the keeper puts it down as soon as it can."""
    stage = Stage()
    state = stood(stage, metadata='{"zone":1}')
    assert kinds(stage) == [Claim]
    assert journal(stage) == []
    a_moment_passes(stage)
    assert [type(one.request) for one in stage.keeper_wire.asked] == [Get, Swap]
    (line,) = run(lines_of(stage.session, "x"))
    assert line.vacant
    assert line.tenure.token == state.token
    assert line.tenure.holder == stage.session.holder
    assert line.tenure.metadata == '{"zone":1}'
    assert stage.book.duties == {}


def test_who_resigns_before_the_keeper_came_puts_itself_down_first() -> None:
    """The next one is granted the name only when the journal has this one."""
    stage = Stage()
    stage.keeper.asleep = True
    token = led(stage)
    assert kinds(stage) == [Claim, Get, Swap, Release]
    assert journal(stage) == [(token, True)]
    assert stage.book.duties == {}


def test_what_the_keeper_has_done_is_not_done_again() -> None:
    """To resign takes one question, too."""
    stage = Stage()
    state = stood(stage)
    a_moment_passes(stage)
    run(release(stage.session, state))
    assert kinds(stage) == [Claim, Release]
    assert journal(stage) == [(state.token, True)]


def test_done_by_two_at_once_it_is_one_line() -> None:
    """Who resigns while the keeper is about to write does it itself; the keeper finds it done."""
    stage = Stage()
    state = stood(stage)

    def overtaken_by_the_caller(request: Request, _deadline: float) -> Reply:
        run(release(stage.session, state))
        return stage.server.answer(request)

    stage.keeper_wire.plan.extend([stage.wire.well, overtaken_by_the_caller])
    a_moment_passes(stage)
    assert kinds(stage) == [Claim, Swap, Release]  # the keeper had looked
    assert [type(one.request) for one in stage.keeper_wire.asked] == [Get, Swap]
    assert journal(stage) == [(state.token, True)]
    assert stage.hub.heard(events.Unrecorded) == []
    assert stage.hub.heard(events.Lost) == []


def test_two_who_give_back_the_same_lead_lose_nothing() -> None:
    """Who comes second, while the first puts it down, finds it given back, and no loss in that."""
    stage = Stage()
    stage.keeper.asleep = True
    state = stood(stage)

    def meanwhile(request: Request, _deadline: float) -> Reply:
        run(release(stage.session, state))
        return stage.server.answer(request)

    stage.wire.plan.append(meanwhile)
    run(release(stage.session, state))
    assert len(stage.wire.requests(Release)) == 1
    assert state.loss == ""
    assert journal(stage) == [(state.token, True)]


def test_whether_anybody_led_right_before_is_written_too() -> None:
    """Who was in line follows at once; who found the name free does not."""
    stage = Stage()
    first = led(stage)
    rival = rival_leads(stage)
    stage.clock.at(1, lambda: stage.server.answer(Release("x", "rival")))
    second = led(stage)
    third = led(stage)
    written_down = [(first, True), (rival, False), (second, False), (third, True)]
    assert journal(stage) == written_down


def test_a_claim_asked_again_does_not_pretend_to_know() -> None:
    """Where the reply was lost the claim may have been in line: no pause is written then."""
    stage = Stage()
    stage.wire.plan.append(cut_after(stage, 0.1))
    token = led(stage)
    assert journal(stage) == [(token, False)]


def test_who_died_too_early_is_put_down_by_who_stood_by() -> None:
    """A standby was told who leads: where that one is not in the journal, it is put there."""
    stage = Stage()
    first = led(stage)
    rival = rival_leads(stage, ttl=3.0)
    state = stood(stage)
    a_moment_passes(stage)
    assert journal(stage) == [(first, True), (rival, False), (state.token, False)]
    assert run(lines_of(stage.session, "x"))[1].tenure.holder == RIVAL


def test_who_was_in_time_is_put_down_once() -> None:
    """What the one before has written of itself stays as it is."""
    stage = Stage()
    rival = rival_leads(stage)
    line = written(Line(Tenure(RIVAL, rival, 1, stage.clock.time, 0.0), vacant=True))
    value = added(None, line, "here")
    stage.clock.at(0.5, lambda: stage.server.answer(Swap("lead", "x", "r", value, 0, None, rival)))
    stage.clock.at(1, lambda: stage.server.answer(Release("x", "rival")))
    state = stood(stage)
    a_moment_passes(stage)
    assert journal(stage) == [(rival, True), (state.token, False)]


def test_a_write_whose_reply_is_lost_is_made_again() -> None:
    """It was done or it was not: there is one line in the end."""
    for fate in ("lost_reply", "lost_request"):
        stage = Stage()
        state = stood(stage)
        stage.keeper_wire.plan.extend([stage.wire.well, getattr(stage.keeper_wire, fate)])
        stage.clock.move(stage.clock.time + 5)
        assert len(stage.keeper_wire.requests(Swap)) == 2
        assert journal(stage) == [(state.token, True)]
        assert state.holds(stage.clock.time)


def test_an_outage_right_after_the_grant_costs_nobody_the_lead() -> None:
    """It is put down when the backend answers again, if the lead has lived that long."""
    stage = Stage()
    state = stood(stage)
    stage.keeper_wire.default = stage.keeper_wire.lost_request
    stage.clock.move(stage.clock.time + 4)
    assert journal(stage) == []
    stage.keeper_wire.default = stage.keeper_wire.well
    stage.clock.move(stage.clock.time + 4)
    assert journal(stage) == [(state.token, True)]
    assert state.holds(stage.clock.time)
    assert len(stage.wire.requests(Claim)) == 1


def test_who_was_overtaken_has_lost_the_lead() -> None:
    """A journal written under a later token says that this lease is over, and so it is told."""
    stage = Stage()
    state = stood(stage)
    stage.server.answer(Swap("lead", "x", "other", FORM, 0, fence=state.token + 1))
    a_moment_passes(stage)
    assert not state.holds(stage.clock.time)
    assert [event.token for event in stage.hub.heard(events.Lost)] == [state.token]
    assert [event.token for event in stage.hub.heard(events.Unrecorded)] == [state.token]
    assert journal(stage) == []


def test_a_journal_of_another_form_is_left_alone() -> None:
    """What cannot be read is not written over. It costs nobody the lead, and is told."""
    stage = Stage()
    stage.server.answer(Swap("lead", "x", "newer", b"2 something", 0))
    state = stood(stage)
    a_moment_passes(stage)
    (event,) = stage.hub.heard(events.Unrecorded)
    assert event.token == state.token
    assert "cannot read" in event.error
    assert state.holds(stage.clock.time)
    run(release(stage.session, state))
    assert stage.server.kept["lead", "x"].value == b"2 something"
    assert stage.server.held_by() == []


def test_lines_that_nobody_wrote_are_left_alone() -> None:
    """The same if only the form is ours."""
    stage = Stage()
    stage.keeper.asleep = True
    stage.server.answer(Swap("lead", "x", "who", FORM + b"\nnonsense", 0))
    led(stage)
    assert len(stage.hub.heard(events.Unrecorded)) == 1
    assert stage.server.kept["lead", "x"].value == FORM + b"\nnonsense"
    assert stage.server.held_by() == []


def test_a_journal_that_keeps_changing_is_given_up() -> None:
    """Nobody else has a right to write while we lead: whoever does is not fought for ever."""
    stage = Stage()
    state = stood(stage)

    def moved(request: Request, _deadline: float) -> Reply:
        kept = stage.server.kept.get(("lead", "x"))
        version = kept.version if kept else 0
        stage.server.answer(Swap("lead", "x", f"other-{version}", FORM, version))
        return stage.server.answer(request)

    stage.keeper_wire.plan.extend([stage.wire.well] + [moved] * 10)
    a_moment_passes(stage)
    (event,) = stage.hub.heard(events.Unrecorded)
    assert "keeps changing" in event.error
    assert state.holds(stage.clock.time)


def test_what_is_no_answer_is_not_taken_for_one() -> None:
    """An answer that does not fit the question is told, and costs nobody the lead."""
    for answers in (0, 1):
        stage = Stage()
        state = stood(stage)
        nonsense = stage.wire.says(stage.server.answer(Release("y", "nobody")))
        stage.keeper_wire.plan.extend([stage.wire.well] * answers + [nonsense])
        a_moment_passes(stage)
        (event,) = stage.hub.heard(events.Unrecorded)
        assert "unexpected answer" in event.error
        assert state.holds(stage.clock.time)


def test_busy_costs_one_question() -> None:
    """Who does not come to lead has nothing to put down."""
    stage = Stage()
    rival_leads(stage)
    with pytest.raises(LockBusy):
        stood(stage, wait=0)
    assert len(stage.wire.asked) == 1
    assert stage.book.duties == {}


def test_who_cannot_stand_has_nothing_to_put_down() -> None:
    """Nor has who does not even get an answer."""
    stage = Stage()
    stage.wire.default = stage.wire.refused
    with pytest.raises(BackendUnavailable):
        stood(stage)
    assert stage.book.duties == {}


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
