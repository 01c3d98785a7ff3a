"""Long queues and long batches on a real server, held against the rule at every step."""

from __future__ import annotations

from holdfast.backends.redis.office import Sorter
from holdfast.backends.redis.requests import BATCH
from holdfast.rules.messages import (
    Advance,
    Ended,
    Granted,
    Item,
    Refused,
    Release,
    Renew,
    Renewed,
    Waiting,
    Withdraw,
)
from holdfast.values import QUEUE_LIMIT
from tests.backends.redis.differential_claims import NAME, claim_id_of, claim_of
from tests.backends.redis.differential_server import ServerSide
from tests.backends.redis.differential_stage import Stage
from tests.servers.shared import SharedServer


def test_ten_thousand_may_wait_and_no_more(redis_server: SharedServer) -> None:
    """The one who is too many is told so, until somebody leaves; the head is served as ever."""
    with ServerSide(redis_server) as side:
        everybody = [claim_of(side, one, patience=3.0) for one in range(QUEUE_LIMIT + 3)]
        most = everybody[: QUEUE_LIMIT + 1]  # one of them holds
        side.listen(most[1].inbox)
        for at in range(0, len(most), 500):
            side.send([side.post.letter(one) for one in most[at : at + 500]])

        full = side.ask(everybody[-2])
        assert full == Refused("queue_full", "10000 claims are waiting for it already")
        assert isinstance(side.ask(Withdraw(NAME, most[-1].claim_id)), Ended)
        assert isinstance(side.ask(everybody[-2]), Waiting)
        assert isinstance(side.ask(everybody[-1]), Refused)

        assert isinstance(side.ask(Release(NAME, most[0].claim_id)), Ended)
        (notice,) = side.notices()
        assert notice is not None
        assert notice.claim_id == most[1].claim_id
        side.line.ask("UNLINK", *side.all_keys())


def test_the_dead_at_the_head_of_a_long_queue_are_passed_over(redis_server: SharedServer) -> None:
    """Of 200 waiters the first who can be reached is served; the deaf keep their places."""
    with Stage(redis_server) as stage:
        claims = [claim_of(stage, one, patience=3.0 if one % 3 else 60.0) for one in range(201)]
        for reached in (150, 151, 199):
            stage.listen(claims[reached].inbox)
        stage.ask_all([stage.post.letter(claim) for claim in claims])

        stage.ask(Release(NAME, claims[0].claim_id))
        assert _holding(stage) == [claims[150].claim_id]
        stage.now += 2.875
        stage.ask(Release(NAME, claims[150].claim_id))
        assert _holding(stage) == [claims[151].claim_id]
        stage.now += 0.125  # those with little patience go
        stage.ask(Advance(NAME, claims[60].claim_id))
        stage.ask(Release(NAME, claims[151].claim_id))
        assert _holding(stage) == []  # nobody left can be reached, so whoever asks is served
        assert isinstance(stage.ask(Advance(NAME, claims[42].claim_id)), Granted)
        stage.ask(Release(NAME, claims[42].claim_id))
        first = stage.record(NAME).queue[0].claim_id
        assert isinstance(stage.ask(Renew(NAME, (Item(first, 0, 10.0, 3.0),))), Renewed)
        assert _holding(stage) == [first]


def test_a_whole_crowd_is_let_in_past_the_deaf(redis_server: SharedServer) -> None:
    """When a writer leaves, 30 of 60 readers follow at once: every other one, as far as heard."""
    with Stage(redis_server) as stage:
        writer = claim_of(stage, 0, kind="rwlock", capacity=40)
        readers = [
            claim_of(stage, one, kind="rwlock", capacity=40, patience=60.0) for one in range(1, 61)
        ]
        for reader in readers[::2]:
            stage.listen(reader.inbox)
        stage.ask(writer._replace(want=writer.want._replace(weight=40)))
        stage.ask_all([stage.post.letter(reader) for reader in readers])
        stage.ask(Release(NAME, writer.claim_id))
        assert _holding(stage) == [reader.claim_id for reader in readers[::2]]


def test_who_lost_patience_is_no_heir(redis_server: SharedServer) -> None:
    """The head of the queue listens, but its patience ended just now: the next one is let in."""
    with Stage(redis_server) as stage:
        holder, late, patient = (claim_of(stage, one, ttl=30.0, patience=3.0) for one in range(3))
        for waiter in (late, patient):
            stage.listen(waiter.inbox)
        for claim in (holder, claim_of(stage, 9), late):
            stage.ask(claim)
        stage.ask(Release(NAME, holder.claim_id))  # once the long way, so that graves are kept
        stage.ask(Release(NAME, late.claim_id))
        holder = claim_of(stage, 3, ttl=30.0)
        late = claim_of(stage, 4, patience=3.0)
        stage.listen(late.inbox)
        for claim in (holder, late):
            stage.ask(claim)
        stage.now += 1.0
        stage.ask(patient)
        stage.now += 2.0
        stage.ask(Release(NAME, holder.claim_id))
        assert _holding(stage) == [patient.claim_id]


def test_in_quarantine_nobody_inherits(redis_server: SharedServer) -> None:
    """A release on a node of a cluster that may have forgotten things lets nobody in yet."""
    with ServerSide(redis_server, clustered=True) as side:
        holder, heir = claim_of(side, 1, ttl=30.0), claim_of(side, 2, patience=60.0)
        side.listen(heir.inbox)
        for number in (3, 1):  # graves are kept from the first release on
            side.ask(claim_of(side, number, ttl=30.0))
            if number != 1:
                side.ask(Release(NAME, claim_id_of(number)))
        assert isinstance(side.ask(heir), Waiting)
        letter = side.post.letter(Release(NAME, holder.claim_id), 5.0)
        ((reply,),) = side.read([letter], side.send([letter]))
        assert isinstance(reply, Ended)
        assert (reply.how, side.notices()) == ("released", [])
        assert isinstance(side.ask(Advance(NAME, heir.claim_id)), Granted)


def test_a_crowd_lapses_in_the_order_of_its_coming(redis_server: SharedServer) -> None:
    """Waiters who end in the same step are buried first come first, whatever their patience."""
    with Stage(redis_server) as stage:
        stage.ask(claim_of(stage, 0, ttl=30.0))
        crowd = [claim_of(stage, one, patience=3.0 - one / 8) for one in range(1, 21)]
        stage.ask_all([stage.post.letter(claim) for claim in crowd])
        stage.now += 3.0
        stage.ask(Advance(NAME, claim_id_of(0)))
        buried = [claim_id for claim_id, _, _ in stage.stored[NAME].graves]
        assert buried == [claim.claim_id for claim in crowd]


def test_a_very_long_renewal_travels_in_parts_and_comes_back_as_one(
    redis_server: SharedServer,
) -> None:
    """Leases and waiters, more than one script may take: each is answered, in its place."""
    with Stage(redis_server) as stage:
        shape = {"kind": "semaphore", "capacity": 40, "ttl": 10.0, "patience": 60.0}
        claims = [claim_of(stage, one, **shape) for one in range(40 + BATCH)]  # type: ignore[arg-type]  # a shape
        stage.ask_all([stage.post.letter(one) for one in claims[:60]])
        stage.ask_all([stage.post.letter(one) for one in claims[60:100]])
        items = tuple(Item(one.claim_id, 0, 30.0, 3.0) for one in claims)
        letters = stage.post.letters([(0, Renew(NAME, items))])
        assert [len(letter.requests) for letter in letters] == [1, 1]

        sorter = Sorter(1)
        answered = [*zip(letters, stage.ask_all(letters), strict=True)]
        for letter, replies in reversed(answered):  # one that had to be sent again comes last
            sorter.put(letter, [*replies])
        (reply,) = sorter.result()
        assert isinstance(reply, Renewed)
        kinds = [type(answer) for answer in reply.answers]
        assert kinds == [Granted] * 40 + [Waiting] * 60 + [Ended] * (BATCH - 60)


def test_more_permits_than_lua_can_unpack_still_make_a_queue(redis_server: SharedServer) -> None:
    """With 9,000 holders the next one is told when the first of them ends."""
    with ServerSide(redis_server) as side:
        first = claim_of(side, 0, kind="semaphore", capacity=9_000, ttl=60.0)
        side.ask(first)
        side.line.ask("EVAL", _COPY_THE_GRANT, 1, side.post.keys.of(NAME).all[0], 8_999)
        late = claim_of(side, 1, kind="semaphore", capacity=9_000, patience=3.0)
        reply = side.ask(late)
        assert isinstance(reply, Waiting)
        assert (reply.retry_in, len(reply.holders)) == (60.0, 8)


_COPY_THE_GRANT = """
local head, grant = '<BBddddddd', '<dddI2c0dI2c0I4c0I4c0I4c0'
local stored = redis.call('GET', KEYS[1])
local record = {struct.unpack(head, stored)}
local _, ends, since, id, weight, inbox, about = struct.unpack(grant, stored, record[10])
record[4] = ARGV[1] + 1
local parts = {struct.pack(head, unpack(record, 1, 9)) .. string.sub(stored, record[10])}
for i = 1, ARGV[1] do
    local copy, slot = 'copy' .. i, tostring(i)
    parts[i + 1] = struct.pack(
        grant, i, ends, since, #copy, copy, weight, #inbox, inbox, #about, about, #slot, slot, 0, ''
    )
end
redis.call('SET', KEYS[1], table.concat(parts), 'PX', 60000)
"""


def _holding(stage: Stage) -> list[str]:
    return [grant.claim_id for grant in stage.record(NAME).grants]
