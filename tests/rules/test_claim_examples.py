"""Who may hold, by example: each rule of DESIGN section 5 in a few lines.

Read it from top to bottom. What becomes of a grant is in ``test_lease_examples``.
"""

from __future__ import annotations

import pytest

from holdfast.rules.holding import Record
from holdfast.rules.messages import Busy, Ended, Granted, Refused, Waiting
from holdfast.values import QUEUE_LIMIT, Kind
from tests.rules.scene import Scene


def test_a_free_name_is_granted_at_once() -> None:
    """The first to ask holds, for its ttl, and no notice is needed."""
    scene = Scene()
    granted = scene.take("ann", ttl=10.0)
    assert (granted.claim_id, granted.remaining) == ("ann", 10.0)
    assert scene.told == []


def test_a_claim_that_will_not_wait_is_told_who_holds() -> None:
    """With no patience a taken name is busy, and nothing remains of the claim."""
    scene = Scene()
    token = scene.take("ann").token
    scene.now += 4.0
    reply = scene.claim("bob", patience=0.0)
    assert isinstance(reply, Busy)
    assert [(one.holder.client, one.token, one.expires_in) for one in reply.holders] == [
        ("ann", token, 6.0)
    ]
    assert (reply.waiters, scene.waiting) == (0, [])


def test_a_claim_that_does_not_fit_joins_the_queue() -> None:
    """The head of the queue is told when the grant in its way ends; the others only wait."""
    scene = Scene()
    scene.take("ann", ttl=10.0)
    scene.now += 4.0
    bob, cy = scene.join("bob"), scene.join("cy")
    assert scene.waiting == ["bob", "cy"]
    assert (bob.retry_in, cy.retry_in) == (6.0, None)
    assert [one.holder.client for one in cy.holders] == ["ann"]


def test_the_head_is_told_when_enough_will_have_ended() -> None:
    """A heavy waiter asks again when the last of the grants that it needs ends by itself."""
    scene = Scene("semaphore", 3)
    scene.take("ann", ttl=5.0)
    scene.take("bob", ttl=7.0)
    scene.take("cy", ttl=9.0)
    assert scene.join("dan", weight=2).retry_in == 7.0


def test_first_come_first_served() -> None:
    """The queue is served in the order in which it was joined."""
    scene = Scene()
    scene.take("ann")
    for claim_id in ("bob", "cy", "dan"):
        scene.join(claim_id)
    served = []
    for _ in range(3):
        scene.release(scene.holding[0])
        served += scene.holding
    assert served == ["bob", "cy", "dan"]


def test_a_newcomer_does_not_pass_a_living_waiter() -> None:
    """A light claim that would fit waits behind a heavy one that does not."""
    scene = Scene("semaphore", 2)
    scene.take("ann")
    scene.join("bob", weight=2)
    assert isinstance(scene.claim("cy", weight=1, patience=60.0), Waiting)
    assert isinstance(scene.claim("dan", weight=1, patience=0.0), Busy)
    assert scene.holding == ["ann"]


def test_readers_share_and_a_waiting_writer_is_not_starved() -> None:
    """Readers hold together, but those who come after a waiting writer wait behind it."""
    scene = Scene("rwlock", 1000)
    scene.take("ann", weight=1)
    scene.take("bob", weight=1)
    scene.join("writer", weight=1000)
    scene.join("cy", weight=1)
    scene.release("ann")
    assert scene.holding == ["bob"]
    scene.release("bob")
    assert (scene.holding, scene.waiting) == (["writer"], ["cy"])


def test_one_release_may_let_in_several() -> None:
    """When a writer leaves, all readers up to the next writer come in, each with its own notice."""
    scene = Scene("rwlock", 1000)
    scene.take("writer", weight=1000)
    scene.join("ann", weight=1)
    scene.join("bob", weight=1)
    scene.join("next writer", weight=1000)
    scene.join("cy", weight=1)
    scene.release("writer")
    assert scene.holding == ["ann", "bob"]
    assert scene.told == [("ann", "granted"), ("bob", "granted")]


def test_a_semaphore_gives_each_holder_its_own_slots() -> None:
    """Slots are as many as the claim weighs, unique among holders, and reused after release."""
    scene = Scene("semaphore", 4)
    assert scene.take("ann", weight=1).slots == (0,)
    assert scene.take("bob", weight=2).slots == (1, 2)
    assert scene.take("cy", weight=1).slots == (3,)
    scene.release("bob")
    assert scene.take("dan", weight=1).slots == (1,)
    assert scene.take("eve", weight=1).slots == (2,)


def test_release_hands_over_directly() -> None:
    """The step that frees the name grants it to the head of the queue and tells only that one."""
    scene = Scene()
    scene.take("ann")
    scene.join("bob", ttl=10.0)
    scene.join("cy")
    scene.release("ann")
    assert (scene.holding, scene.told) == (["bob"], [("bob", "granted")])
    (notice,), (grant,) = scene.notices, scene.record.grants
    assert (notice.claim_id, notice.token, notice.life) == ("bob", grant.token, 3.0)
    assert grant.ends_at == scene.now + 3.0


def test_a_short_lease_is_not_made_longer_by_hand_over() -> None:
    """What is handed over lives three seconds or its ttl, whichever is less."""
    scene = Scene()
    scene.take("ann")
    scene.join("bob", ttl=0.5)
    scene.release("ann")
    assert scene.notices[0].life == 0.5
    assert scene.record.grants[0].ends_at == scene.now + 0.5


def test_who_asks_gets_its_full_life_and_no_notice() -> None:
    """A waiter that asks in the step that grants it hears of it in the reply."""
    scene = Scene()
    scene.take("ann", ttl=10.0)
    scene.join("bob", ttl=30.0)
    scene.now += 10.0
    reply = scene.advance("bob")
    assert isinstance(reply, Granted)
    assert reply.remaining == 30.0
    assert scene.told == []


def test_a_lost_notice_costs_only_until_the_next_batch() -> None:
    """The renewal of a waiter says that it was granted meanwhile, and makes its life full."""
    scene = Scene()
    scene.take("ann")
    scene.join("bob", ttl=10.0)
    scene.release("ann")
    scene.now += 1.0
    reply = scene.renew("bob", token=0, ttl=10.0)
    assert isinstance(reply, Granted)
    assert reply.remaining == 10.0


def test_any_traffic_moves_the_name_on() -> None:
    """A grant that ran out is passed on by whatever is asked next, by whomever."""
    scene = Scene()
    scene.take("ann", ttl=10.0)
    scene.join("bob")
    scene.now += 10.0
    scene.claim("cy", patience=60.0)
    assert (scene.holding, scene.waiting) == (["bob"], ["cy"])
    assert scene.told == [("bob", "granted")]


def test_a_closed_inbox_is_passed_over_not_dropped() -> None:
    """Whom no notice can reach does not hold up the others and keeps its place."""
    scene = Scene()
    scene.take("ann")
    scene.join("bob")
    scene.join("cy")
    scene.closed.add("bob")
    scene.release("ann")
    assert (scene.holding, scene.waiting) == (["cy"], ["bob"])
    scene.closed.clear()
    scene.release("cy")
    assert scene.holding == ["bob"]


def test_who_was_passed_over_is_granted_when_it_asks() -> None:
    """A claim in the asker's own request counts as reachable, whatever its inbox."""
    scene = Scene()
    scene.take("ann")
    scene.join("bob")
    scene.closed.add("bob")
    scene.release("ann")
    assert scene.holding == []
    assert isinstance(scene.renew("bob"), Granted)


def test_a_newcomer_passes_those_who_cannot_be_reached() -> None:
    """When only closed inboxes wait, a free name is granted to whoever asks."""
    scene = Scene()
    scene.take("ann")
    scene.join("bob")
    scene.closed.add("bob")
    scene.release("ann")
    assert isinstance(scene.claim("cy"), Granted)
    assert scene.waiting == ["bob"]


def test_one_living_waiter_is_enough_to_hold_back_a_newcomer() -> None:
    """A closed inbox at the head does not open the way past those behind it."""
    scene = Scene("semaphore", 2)
    scene.take("ann")
    scene.join("bob", weight=2)
    scene.join("cy", weight=2)
    scene.closed.add("bob")
    assert isinstance(scene.claim("dan", weight=1), Busy)


def test_the_last_free_permit_is_handed_over() -> None:
    """A waiter that just fits beside those who hold comes in."""
    scene = Scene("semaphore", 2)
    scene.take("ann")
    scene.take("bob")
    scene.join("cy")
    scene.release("ann")
    assert scene.holding == ["bob", "cy"]


def test_a_dead_waiter_falls_out() -> None:
    """A waiter whose client is silent for its patience is gone from the queue."""
    scene = Scene()
    scene.take("ann", ttl=30.0)
    scene.join("bob", patience=3.0)
    scene.join("cy", patience=60.0)
    scene.now += 3.0
    assert scene.renew("bob") == Ended("bob", "lapsed", "", scene.look().holders)
    scene.release("ann")
    assert scene.holding == ["cy"]


def test_a_waiter_keeps_its_place_as_long_as_it_is_renewed() -> None:
    """Renewed every second, three seconds of patience last for ever."""
    scene = Scene()
    scene.take("ann", ttl=30.0)
    scene.join("bob", patience=3.0)
    for _ in range(20):
        scene.now += 1.0
        assert isinstance(scene.renew("bob", patience=3.0), Waiting)


def test_patience_is_never_shortened() -> None:
    """A renewal or a repeated claim with less patience leaves what there was."""
    scene = Scene()
    scene.take("ann", ttl=30.0)
    scene.join("bob", patience=20.0)
    scene.renew("bob", patience=1.0)
    scene.claim("bob", patience=1.0)
    scene.now += 19.0
    assert isinstance(scene.advance("bob"), Waiting)


def test_what_belongs_to_a_dead_client_is_dropped() -> None:
    """A client known to be gone loses its grants and its places at once."""
    scene = Scene()
    scene.take("ann")
    scene.join("bob")
    scene.join("cy")
    scene.gone |= {"ann", "bob"}
    scene.advance()
    assert (scene.holding, scene.waiting) == (["cy"], [])
    assert scene.claim("ann") == Ended("ann", "gone", "", scene.look().holders)


def test_a_lease_held_without_a_process_outlives_it() -> None:
    """A detached grant stays when its client is gone; a detached waiter does not."""
    scene = Scene()
    scene.claim("ann", detached=True)
    scene.claim("bob", detached=True, patience=60.0)
    scene.gone |= {"ann", "bob"}
    scene.advance()
    assert (scene.holding, scene.waiting) == (["ann"], [])


@pytest.mark.parametrize(
    "kind, capacity, why",
    [("semaphore", 1, "kind"), ("rwlock", 9, "kind"), ("lock", 2, "capacity")],
)
def test_a_name_is_one_thing_while_it_is_in_use(kind: Kind, capacity: int, why: str) -> None:
    """Another kind or capacity is refused while anyone holds or waits, and binds no longer."""
    scene = Scene()
    scene.take("ann")
    scene.kind, scene.capacity = kind, capacity
    refused = scene.claim("bob", patience=60.0)
    assert isinstance(refused, Refused)
    assert refused.why == why
    scene.release("ann")
    assert isinstance(scene.claim("cy"), Granted)
    assert (scene.record.kind, scene.record.capacity) == (kind, capacity)


def test_those_who_wait_keep_the_kind_too() -> None:
    """A name that nobody holds but somebody waits for is still in use."""
    scene = Scene()
    scene.take("ann")
    scene.join("bob")
    scene.closed.add("bob")
    scene.release("ann")
    scene.kind = "rwlock"
    assert isinstance(scene.claim("cy"), Refused)


def test_more_than_there_is_can_never_be_had() -> None:
    """A claim heavier than the capacity is refused, though the name is free."""
    refused = Scene("semaphore", 2).claim("ann", weight=3, patience=60.0)
    assert isinstance(refused, Refused)
    assert refused.why == "weight"


def test_the_queue_has_a_limit() -> None:
    """Ten thousand may wait, the next is refused; one that will not wait is just busy."""
    scene = Scene()
    scene.take("ann")
    scene.join("bob")
    (bob,) = scene.record.queue
    crowd = tuple(bob._replace(claim_id=str(number)) for number in range(QUEUE_LIMIT - 1))
    scene.record = scene.record._replace(queue=crowd)
    scene.join("cy")
    assert len(scene.record.queue) == QUEUE_LIMIT
    refused = scene.claim("dan", patience=60.0)
    assert isinstance(refused, Refused)
    assert refused.why == "queue_full"
    assert isinstance(scene.claim("eve", patience=0.0), Busy)


def test_looking_shows_what_is_and_changes_nothing() -> None:
    """A look leaves out what has ended, but only a step drops it."""
    scene = Scene()
    scene.take("ann", ttl=10.0)
    scene.join("bob", patience=60.0)
    scene.join("cy", patience=3.0)
    before = scene.record
    scene.now += 10.0
    info = scene.look()
    assert info.holders == ()
    assert [place.holder.client for place in info.queue] == ["bob"]
    assert scene.record is before


def test_looking_leaves_out_the_dead() -> None:
    """A look at a name whose clients are gone shows nobody."""
    scene = Scene()
    scene.take("ann")
    scene.join("bob")
    scene.gone |= {"ann", "bob"}
    assert (scene.look().holders, scene.look().queue) == ((), ())


def test_a_name_nobody_knows_can_be_asked_about() -> None:
    """A look at an empty record shows a free name."""
    scene = Scene()
    scene.record = Record("never used")
    info = scene.look()
    assert (info.name, info.held, info.waiters, info.token) == ("never used", False, 0, 0)
