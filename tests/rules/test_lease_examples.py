"""What becomes of a grant, by example: asking again, ending, renewing, breaking, tokens.

The other half of ``test_claim_examples``.
"""

from __future__ import annotations

import pytest

from holdfast.rules.messages import (
    Broke,
    Busy,
    Ended,
    Granted,
    Item,
    NotHeld,
    Renew,
    Renewed,
    Waiting,
)
from tests.rules.scene import NAME, Scene


def how(reply: object) -> str:
    """Say how a claim ended, by the reply."""
    assert isinstance(reply, Ended)
    return reply.how


def test_a_claim_asked_again_gives_the_grant_it_has() -> None:
    """The answer names the same token and only the life that is left."""
    scene = Scene()
    first = scene.take("ann", ttl=10.0)
    scene.now += 4.0
    again = scene.claim("ann", ttl=10.0)
    assert again == Granted("ann", first.token, 6.0, first.granted_at)


def test_a_claim_asked_again_keeps_its_place() -> None:
    """A waiter that repeats its claim is not queued twice, and lives on."""
    scene = Scene()
    scene.take("ann", ttl=30.0)
    scene.join("bob", patience=3.0)
    scene.join("cy")
    scene.now += 2.0
    again = scene.claim("bob", patience=3.0)
    assert isinstance(again, Waiting)
    assert scene.waiting == ["bob", "cy"]
    scene.now += 2.0
    assert isinstance(scene.advance("bob"), Waiting)


def test_a_claim_that_was_busy_may_be_asked_again() -> None:
    """Nothing is kept of a claim that would not wait, so the same id may try once more."""
    scene = Scene()
    scene.take("ann")
    assert isinstance(scene.claim("bob"), Busy)
    scene.release("ann")
    assert isinstance(scene.claim("bob"), Granted)


def test_release_twice_is_the_same_as_once() -> None:
    """The second release changes nothing, does not touch the next holder, and says what it was."""
    scene = Scene()
    scene.take("ann")
    scene.join("bob")
    assert how(scene.release("ann")) == "released"
    after = scene.record
    assert how(scene.release("ann")) == "released"
    assert scene.record == after
    assert scene.holding == ["bob"]


def test_how_a_claim_ended_is_not_rewritten() -> None:
    """Withdrawing what was released says that it was released."""
    scene = Scene()
    scene.take("ann")
    scene.release("ann")
    after = scene.record
    assert how(scene.withdraw("ann")) == "released"
    assert scene.record == after


def test_only_the_owner_can_release() -> None:
    """An id that nobody knows releases nothing and leaves no trace."""
    scene = Scene()
    scene.take("ann")
    before = scene.record
    assert how(scene.release("stranger")) == "unknown"
    assert scene.record == before


def test_withdraw_ends_a_claim_whatever_became_of_it() -> None:
    """Withdrawing works on a holder and on a waiter, and a holder's place is passed on."""
    scene = Scene()
    scene.take("ann")
    scene.join("bob")
    scene.join("cy")
    assert how(scene.withdraw("bob")) == "withdrawn"
    assert how(scene.withdraw("ann")) == "withdrawn"
    assert (scene.holding, scene.told) == (["cy"], [("cy", "granted")])


def test_release_ends_a_waiter_too() -> None:
    """Whoever gives back what it does not have yet is taken out of the queue."""
    scene = Scene()
    scene.take("ann")
    scene.join("bob")
    assert how(scene.release("bob")) == "withdrawn"
    assert scene.waiting == []


def test_a_late_claim_cannot_come_to_life_behind_its_withdrawal() -> None:
    """Withdrawing an unknown id is remembered, so that its claim comes too late."""
    scene = Scene()
    assert how(scene.withdraw("ann")) == "withdrawn"
    assert how(scene.claim("ann", patience=60.0)) == "withdrawn"
    assert scene.record.idle


@pytest.mark.parametrize("ending", ["released", "withdrawn", "lapsed", "gone", "broken"])
def test_an_ended_id_never_comes_back(ending: str) -> None:
    """However it ended, for a minute the same id is neither granted nor queued nor renewed."""
    scene = Scene()
    token = scene.take("ann", ttl=10.0).token
    match ending:
        case "released":
            scene.release("ann")
        case "withdrawn":
            scene.withdraw("ann")
        case "lapsed":
            scene.now += 10.0
            scene.advance()
        case "gone":
            scene.gone.add("ann")
            scene.advance()
            scene.gone.clear()
        case _:
            scene.break_(token, force=True)
    scene.now += 59.875
    assert how(scene.claim("ann", patience=60.0)) == ending
    assert how(scene.renew("ann", token)) == ending
    assert how(scene.advance("ann")) == ending
    assert scene.record.idle
    scene.now += 0.125
    assert how(scene.advance("ann")) == "unknown"


def test_a_grant_lives_until_its_end_and_no_longer() -> None:
    """At its very end a grant is over, not before."""
    scene = Scene()
    scene.take("ann", ttl=10.0)
    scene.now += 9.875
    assert isinstance(scene.claim("bob"), Busy)
    scene.now += 0.125
    assert isinstance(scene.claim("bob"), Granted)


def test_renewal_never_shortens() -> None:
    """A renewal with a shorter ttl leaves the end where it was, and the answer is true."""
    scene = Scene()
    token = scene.take("ann", ttl=10.0).token
    scene.now += 1.0
    reply = scene.renew("ann", token, ttl=2.0)
    assert isinstance(reply, Granted)
    assert reply.remaining == 9.0
    reply = scene.renew("ann", token, ttl=30.0)
    assert isinstance(reply, Granted)
    assert reply.remaining == 30.0


def test_renewal_never_revives() -> None:
    """A renewal that comes at the end comes too late, though nobody else wants the name."""
    scene = Scene()
    token = scene.take("ann", ttl=10.0).token
    scene.now += 10.0
    assert how(scene.renew("ann", token)) == "lapsed"
    assert scene.record.idle


def test_renewal_moves_nothing_but_the_end() -> None:
    """Token, slots and the time of the grant stay as they were."""
    scene = Scene("semaphore", 2)
    first = scene.take("ann", ttl=10.0)
    scene.now, scene.mint = scene.now + 5.0, scene.mint + 5_000_000
    assert scene.renew("ann", first.token, ttl=10.0) == first


def test_renewal_needs_the_same_token() -> None:
    """With another token than its own a grant is not renewed."""
    scene = Scene()
    token = scene.take("ann", ttl=10.0).token
    before = scene.record
    assert how(scene.renew("ann", token - 1, ttl=30.0)) == "unknown"
    assert scene.record == before


def test_a_batch_answers_each_item_on_its_own() -> None:
    """A lease, a waiter and a stranger in one renewal get three answers, in their order."""
    scene = Scene()
    token = scene.take("ann", ttl=10.0).token
    scene.join("bob", patience=3.0)
    scene.now += 1.0
    items = (Item("bob", 0, 10.0, 3.0), Item("stranger", 7, 10.0), Item("ann", token, 10.0))
    reply = scene.ask(Renew(NAME, items)).reply
    assert isinstance(reply, Renewed)
    waiting, unknown, granted = reply.answers
    assert isinstance(waiting, Waiting)
    assert waiting.retry_in == 10.0  # as renewed by this very batch
    assert how(unknown) == "unknown"
    assert isinstance(granted, Granted)
    assert granted.remaining == 10.0


def test_a_broken_grant_is_marked_and_told() -> None:
    """A break says why, to the holder's inbox, and takes nothing away yet."""
    scene = Scene()
    token = scene.take("ann", ttl=10.0).token
    scene.join("bob")
    reply = scene.break_(token)
    assert isinstance(reply, Broke)
    assert (reply.tenure.token, reply.tenure.broken) == (token, "stuck")
    (notice,) = scene.notices
    assert (notice.what, notice.inbox, notice.reason) == ("broken", "ann", "stuck")
    assert scene.holding == ["ann"]


def test_a_broken_grant_is_not_renewed() -> None:
    """Its renewal is refused with the reason, and its end stays where it was."""
    scene = Scene()
    token = scene.take("ann", ttl=10.0).token
    scene.break_(token)
    scene.now += 4.0
    reply = scene.renew("ann", token)
    assert isinstance(reply, Ended)
    assert (reply.how, reply.reason) == ("broken", "stuck")
    assert scene.look().expires_in == 6.0


@pytest.mark.parametrize("by", ["release", "end"])
def test_a_broken_grant_passes_on_by_release_or_by_its_end(by: str) -> None:
    """The next in line gets it when the holder acknowledges, or when the lease is over."""
    scene = Scene()
    token = scene.take("ann", ttl=10.0).token
    scene.join("bob")
    scene.break_(token)
    if by == "release":
        scene.release("ann")
    else:
        scene.now += 10.0
        scene.advance()
    assert (scene.holding, scene.told) == (["bob"], [("bob", "granted")])


def test_force_passes_on_at_once() -> None:
    """A forced break ends the grant, tells its holder, and lets the next one in."""
    scene = Scene()
    token = scene.take("ann").token
    scene.join("bob")
    assert isinstance(scene.break_(token, force=True), Broke)
    assert scene.holding == ["bob"]
    assert scene.told == [("ann", "forced"), ("bob", "granted")]
    assert how(scene.renew("ann", token)) == "broken"


def test_a_break_names_the_grant_it_means() -> None:
    """With a token that nobody has, nothing is broken, and the answer says who holds."""
    scene = Scene()
    token = scene.take("ann").token
    reply = scene.break_(token - 1, force=True)
    assert isinstance(reply, NotHeld)
    assert [one.token for one in reply.holders] == [token]
    assert (scene.holding, scene.told) == (["ann"], [])


def test_a_break_without_a_reason_still_breaks() -> None:
    """A grant is marked though nobody says why."""
    scene = Scene()
    token = scene.take("ann").token
    scene.break_(token, reason="")
    assert how(scene.renew("ann", token)) == "broken"


def test_a_client_without_an_inbox_is_told_nothing() -> None:
    """A grant without an inbox is handed over like any other, without a notice."""
    scene = Scene()
    scene.take("ann")
    scene.join("")
    scene.release("ann")
    assert (scene.holding, scene.told) == ([""], [])


def test_tokens_follow_the_wall_clock() -> None:
    """A token is at least the server's wall clock, so it survives the loss of the record."""
    scene = Scene()
    scene.mint = 8_000_000
    assert scene.take("ann").token == 8_000_000


@pytest.mark.parametrize("mint", [8_000_000, 7_999_999, 0])
def test_tokens_rise_though_the_wall_clock_does_not(mint: int) -> None:
    """While the wall clock stands still or steps back, tokens count up one by one."""
    scene = Scene()
    scene.mint = 8_000_000
    scene.take("ann")
    scene.join("bob")
    scene.mint = mint
    scene.release("ann")
    scene.release("bob")
    assert scene.take("cy").token == 8_000_002


def test_a_token_is_above_what_the_claimant_has_seen() -> None:
    """A record that lost its memory still gives a token newer than the client's newest."""
    scene = Scene()
    reply = scene.claim("ann", seen_token=9_000_000)
    assert isinstance(reply, Granted)
    assert reply.token == 9_000_001


def test_a_waiters_seen_token_counts_at_hand_over() -> None:
    """What a waiter has seen is remembered until it is granted."""
    scene = Scene()
    scene.take("ann")
    scene.claim("bob", patience=60.0, seen_token=9_000_000)
    scene.release("ann")
    assert scene.notices[0].token == 9_000_001


def test_people_see_the_wall_clock_and_decisions_do_not() -> None:
    """When a grant was made is told in wall-clock seconds; when it ends never depends on them."""
    scene = Scene()
    scene.mint = 1_700_000_000_000_000
    assert scene.take("ann", ttl=10.0).granted_at == 1_700_000_000.0
    scene.mint = 0
    scene.now += 9.0
    assert scene.look().expires_in == 1.0


def test_replies_name_eight_holders_and_a_look_all() -> None:
    """A crowd of holders does not make every answer long."""
    scene = Scene("semaphore", 20)
    for number in range(12):
        scene.take(f"reader{number}")
    reply = scene.claim("heavy", weight=20)
    assert isinstance(reply, Busy)
    assert len(reply.holders) == 8
    assert len(scene.look().holders) == 12
