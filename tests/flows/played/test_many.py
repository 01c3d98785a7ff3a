"""Several names, all or nothing, on the played stage: in one step, one by one, and failing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

import pytest

from holdfast.errors import BackendUnavailable, LockBusy, Misuse
from holdfast.flows.book import Company
from holdfast.flows.many import acquire_all
from holdfast.flows.order import Order
from holdfast.flows.release import release_these
from holdfast.observe.events import Lost
from holdfast.rules.many import Apart, ClaimAll
from holdfast.rules.messages import Break, Claim, Release, Reply, Request, Withdraw
from holdfast.runtimes.step import run
from tests.flows.played.stage import Stage, order
from tests.flows.played.test_cancelling import SuspendingBell, SuspendingWire, cancelled_at, suspend

NAMES = ("c", "a", "b")


def orders(wait: float | None = None, ttl: float = 10.0) -> list[Order]:
    """Order three names, not in their order."""
    return [order(wait=wait, ttl=ttl).with_name(name) for name in NAMES]


def all_of(stage: Stage, *, wait: float | None = None, at_once: bool = True) -> Company:
    """Acquire all, as a thread would."""
    return run(acquire_all(stage.session, orders(wait), ("test.py", 1), at_once=at_once))


def held(stage: Stage) -> dict[str, list[str]]:
    """Say what of the three is held on the server."""
    return {name: found for name in sorted(NAMES) if (found := stage.server.held_by(name))}


def nothing_is_left(stage: Stage) -> bool:
    """Whether, after the keeper has done its chores, we have nothing anywhere."""
    stage.clock.move(stage.clock.time + 5)
    places = [place for name in NAMES for place in stage.server.waiting_for(name)]
    ours = [one for found in held(stage).values() for one in found if one != "rival"]
    return not (places or ours) and stage.book_is_empty()


def test_free_names_cost_one_question() -> None:
    """All are granted in one step, in the order of their bytes, and kept by the keeper."""
    stage = Stage()
    company = all_of(stage)
    [asked] = stage.wire.asked
    assert isinstance(asked.request, ClaimAll)
    assert [claim.name for claim in asked.request.claims] == ["a", "b", "c"]
    assert [state.name for state in company.states] == ["a", "b", "c"]
    stage.clock.move(stage.clock.time + 60)
    assert company.holds(stage.clock.time)
    run(release_these(stage.session, company.states))
    assert nothing_is_left(stage)


def test_without_that_step_they_are_taken_one_by_one() -> None:
    """A backend that cannot, or a cluster with several slots, is asked for each in order."""
    for at_once in (False, True):
        stage = Stage()
        if at_once:
            stage.wire.plan.append(stage.wire.says(Apart()))
        company = all_of(stage, at_once=at_once)
        assert [claim.name for claim in stage.wire.requests(Claim)] == ["a", "b", "c"]
        assert company.holds(stage.clock.time)


def test_a_busy_one_is_waited_for_holding_the_earlier_ones() -> None:
    """What comes before the busy name is held and renewed meanwhile; what comes after is not."""
    stage = Stage()
    stage.rival_takes("b", ttl=60)
    seen: list[dict[str, list[str]]] = []
    stage.clock.at(30, lambda: seen.append(held(stage)))
    stage.clock.at(40, lambda: stage.server.answer(Release("b", "rival")))
    company = all_of(stage)
    assert sorted(seen[0]) == ["a", "b"]
    assert seen[0]["b"] == ["rival"]
    assert 40 <= stage.time < 41
    assert company.holds(stage.clock.time)


def test_a_wait_in_vain_holds_nothing() -> None:
    """When ``wait`` is over everything is given back, and the whole wait is told."""
    stage = Stage()
    stage.rival_takes("b")
    with pytest.raises(LockBusy, match="'b'") as busy:
        all_of(stage, wait=3.0)
    assert busy.value.waited_for == pytest.approx(3.0, abs=0.2)
    assert nothing_is_left(stage)
    assert held(stage) == {"b": ["rival"]}


def test_one_try_asks_once() -> None:
    """With ``wait=0`` a busy name is the answer: nobody asks a second time."""
    stage = Stage()
    stage.rival_takes("b")
    with pytest.raises(LockBusy, match="'b'"):
        all_of(stage, wait=0)
    assert len(stage.wire.asked) == 1
    assert nothing_is_left(stage)


def test_another_kind_is_refused() -> None:
    """A name that is in use as something else is a mistake, whatever the others are."""
    stage = Stage()
    stage.rival_takes("a")
    rival = orders()[0].want._replace(kind="semaphore", capacity=2)
    stage.server.answer(Claim("b", "rival", rival, stage.session.holder, "", 0.0))
    with pytest.raises(Misuse, match="in use as a semaphore"):
        all_of(stage)
    assert len(stage.wire.asked) == 1


def test_a_lost_reply_is_asked_for_again() -> None:
    """The same claims are asked again, and found granted."""
    stage = Stage()
    lost = stage.wire.lost_reply
    stage.wire.plan.append(lambda request, _: lost(request, stage.clock.time + 1))
    company = all_of(stage)
    first, second = stage.wire.requests(ClaimAll)
    assert first == second
    assert company.holds(stage.clock.time)


def test_a_backend_that_never_answers() -> None:
    """What may have been granted is withdrawn by the keeper."""
    stage = Stage()
    stage.wire.default = stage.wire.lost_reply
    with pytest.raises(BackendUnavailable):
        all_of(stage)
    assert stage.time <= 5.1
    assert nothing_is_left(stage)


def test_busy_after_a_lost_reply_withdraws_the_first_copy() -> None:
    """A copy of the claims that may still be under way is not left to come to life."""
    stage = Stage()
    stage.rival_takes("b")
    stage.wire.plan.append(lambda _, __: stage.wire.lost_request(_, stage.clock.time + 1))
    with pytest.raises(LockBusy):
        all_of(stage, wait=0)
    stage.clock.move(stage.clock.time + 1)
    withdrawn = {one.claim_id for one in stage.keeper_wire.requests(Withdraw)}
    [_, again] = stage.wire.requests(ClaimAll)
    assert withdrawn == {claim.claim_id for claim in again.claims}


def test_granted_too_late_to_be_used() -> None:
    """Grants that are over when they are heard of are withdrawn, and it is tried anew."""
    stage = Stage()
    stage.wire.plan.append(stage.wire.slow(0, 10))
    company = all_of(stage)
    assert company.holds(stage.clock.time)
    assert len(stage.wire.requests(Claim)) >= 3


def test_losing_one_loses_all() -> None:
    """The loss is told for each, the listeners hear it, and the others are given back."""
    stage = Stage()
    company = all_of(stage)
    told: list[str] = []
    for state in company.states:
        state.listeners.append(lambda: told.append("lost"))
    stage.server.answer(Break("b", company.states[1].token, "of the test"))
    stage.clock.move(stage.clock.time + 1)
    assert not any(state.holds(stage.clock.time) for state in company.states)
    assert company.fallen is company.states[1]
    assert len(told) == 3
    assert {event.name for event in stage.hub.heard(Lost)} == {"a", "b", "c"}
    assert "'b', which was held together with it" in company.states[0].loss
    assert sorted(held(stage)) == ["b"]  # marked: it passes on when its holder lets go
    run(release_these(stage.session, company.states))
    stage.clock.move(stage.clock.time + 1)
    assert held(stage) == {}


def test_lost_while_the_others_are_waited_for() -> None:
    """An earlier one that is lost meanwhile makes it all begin anew: no body with a hole in it."""
    stage = Stage()
    stage.rival_takes("b", ttl=60)

    def break_a() -> None:
        token = next(state.token for state in stage.book.leases.values())
        stage.server.answer(Break("a", token, "of the test", force=True))

    stage.clock.at(5, break_a)
    stage.clock.at(10, lambda: stage.server.answer(Release("b", "rival")))
    company = all_of(stage)
    assert company.holds(stage.clock.time)
    assert len(stage.book.leases) == 3


def test_an_owner_does_not_wait_for_itself() -> None:
    """Whoever holds one of them is told at once, before anything is asked."""
    stage = Stage()
    first = all_of(stage)
    with pytest.raises(Misuse, match="this very thread or task"):
        all_of(stage)
    assert len(stage.wire.asked) == 1
    run(release_these(stage.session, first.states))


class SuspendingOnce(SuspendingWire):
    """Suspends around batches as well."""

    async def ask_all(
        self, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        """Send many, with a pause on either side."""
        await suspend()
        replies = await super().ask_all(requests, deadline)
        await suspend()
        return replies


@pytest.mark.parametrize("at_once", [False, True], ids=["one by one", "in one step"])
@pytest.mark.parametrize("contended", [False, True], ids=["free", "in line"])
def test_cancelled_anywhere_leaves_nothing(contended: bool, at_once: bool) -> None:  # noqa: FBT001
    """Whatever the point, none of the claims is left on the backend or in the book."""
    points = 0
    for step in range(1, 200):
        stage = Stage()
        if contended:
            stage.rival_takes("b", ttl=2.5)
        stage.wire = SuspendingOnce(stage.clock, stage.server)
        stage.session.wire = stage.wire
        stage.session.bell = partial(SuspendingBell, stage.clock)
        flow = acquire_all(stage.session, orders(wait=60), ("", 0), at_once=at_once)
        if not cancelled_at(step, flow):
            break
        points += 1
        assert nothing_is_left(stage), f"cancelled at point {step}"
    assert points >= (2 if at_once and not contended else 6)


def test_interrupted_while_the_leases_begin() -> None:
    """A Ctrl-C after some of the leases have begun is still one of the acquire: none is left."""
    stage = Stage()
    heard: list[str] = []

    def interrupt(event: object) -> None:
        if type(event).__name__ == "Granted":
            heard.append("granted")
            if len(heard) == 2:
                raise asyncio.CancelledError

    stage.hub.tell = interrupt  # type: ignore[method-assign]
    with pytest.raises(asyncio.CancelledError):
        all_of(stage)
    assert nothing_is_left(stage)
