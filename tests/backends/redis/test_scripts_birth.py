"""The birth mark of a server's memory, and the quarantine of a server that has lost it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from holdfast.backends.redis.replies import mark_of
from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import (
    Advance,
    Ended,
    Granted,
    Item,
    Look,
    NameRequest,
    Release,
    Renew,
    Renewed,
    Seen,
    Waiting,
    Withdraw,
)
from holdfast.testing.watching import eventually
from tests.backends.redis.differential_claims import NAME, claim_id_of, claim_of
from tests.backends.redis.differential_server import START, ServerSide
from tests.backends.redis.differential_wire import Asker
from tests.servers.redis import RedisServer
from tests.servers.shared import SharedServer

HOUR, DAY = 3_600, 86_400
LONG = HOUR * 1.0
"""A quarantine that no server of a test outlives."""

MARK = int(START * 1_000_000)
ID, OTHER_ID = claim_id_of(1), claim_id_of(2)


@pytest.fixture(scope="module")
def young_server() -> Iterator[RedisServer]:
    """Give a server that forgets nothing when it restarts, and that is young for an hour."""
    with RedisServer(durable=True) as server:
        yield server


def test_the_mark_is_written_once_and_in_every_reply(redis_server: SharedServer) -> None:
    """It is the time of the first step under the prefix, whatever name and request come later."""
    with ServerSide(redis_server) as side:
        assert _mark(side) == MARK
        side.now += 10.0
        other = claim_of(side, 1)._replace(name="another")
        renewal = Renew(NAME, (Item(ID, 0, 1.0),))
        requests: list[NameRequest] = [other, Look(NAME), Release("another", ID), renewal]
        raw = side.send([side.post.letter(request) for request in requests])
        assert [mark_of(reply) for reply in raw] == [MARK] * 4
        written = side.line.ask("GET", side.post.keys.birth)
        assert (int(written[:16]), int(written[16:])) == (MARK, START)


def test_the_mark_is_put_off_once_an_hour(redis_server: SharedServer) -> None:
    """It ends two days after its last use, and being used costs a write only now and then."""
    with ServerSide(redis_server) as side:
        birth = side.post.keys.birth
        _mark(side)
        assert _lives(side) == pytest.approx(2 * DAY, abs=60)
        side.line.ask("EXPIRE", birth, 2 * HOUR)
        side.now += HOUR - 1
        assert _mark(side) == MARK
        assert _lives(side) <= 2 * HOUR
        side.now += 1
        assert _mark(side) == MARK
        assert _lives(side) == pytest.approx(2 * DAY, abs=60)
        side.line.ask("EXPIRE", birth, 2 * HOUR)
        side.now += HOUR - 1
        assert _mark(side) == MARK
        assert _lives(side) <= 2 * HOUR


def test_the_mark_outlives_a_long_lease(redis_server: SharedServer) -> None:
    """A lease of a week is not lost because nobody used the prefix for two days."""
    with ServerSide(redis_server) as side:
        side.ask(claim_of(side, 1, ttl=7.0 * DAY))
        assert _lives(side) >= 7 * DAY
        side.now += HOUR
        assert _mark(side) == MARK
        assert _lives(side) >= 7 * DAY


def test_the_mark_outlives_a_lease_that_became_long(redis_server: SharedServer) -> None:
    """The same holds for one that was handed over, and lives long from its first renewal on."""
    with ServerSide(redis_server) as side:
        waiter = claim_of(side, 2, ttl=7.0 * DAY, patience=3.0)
        side.listen(waiter.inbox)
        side.ask(claim_of(side, 1))
        side.ask(waiter)
        side.ask(Release(NAME, ID))
        renewed = side.ask(Renew(NAME, (Item(OTHER_ID, 0, 7.0 * DAY),)))
        assert isinstance(renewed, Renewed)
        assert isinstance(renewed.answers[0], Granted)
        assert _lives(side) >= 7 * DAY


def test_a_young_server_without_the_mark_grants_nothing(young_server: RedisServer) -> None:
    """Who waits queues and is told when asking again may help; who does not is told why not."""
    with ServerSide(young_server, quarantine=LONG) as side:
        age = _age(young_server)
        waiting = side.ask(claim_of(side, 1, patience=3.0))
        assert isinstance(waiting, Waiting)
        assert waiting.retry_in is not None
        # It counts whole seconds, so it may be a second younger than it says.
        assert age - 1 <= LONG - waiting.retry_in <= _age(young_server) - 1
        with pytest.raises(BackendUnavailable, match="may have forgotten who holds what") as failed:
            side.ask(claim_of(side, 2))
        assert failed.value.outcome == "none"
        assert not failed.value.transient

        advanced = side.ask(Advance(NAME, ID))
        assert isinstance(advanced, Waiting)
        assert advanced.retry_in == pytest.approx(waiting.retry_in, abs=60)
        renewed = side.ask(Renew(NAME, (Item(ID, 0, 10.0, 3.0),)))
        assert isinstance(renewed, Renewed)
        assert isinstance(renewed.answers[0], Waiting)
        assert renewed.answers[0].retry_in == pytest.approx(waiting.retry_in, abs=60)
        assert isinstance(side.ask(Release(NAME, claim_id_of(3))), Ended)
        assert side.line.ask("EXISTS", side.post.keys.birth) == 0
        assert side.notices() == []


def test_who_queued_in_quarantine_is_served_in_order_after_it(young_server: RedisServer) -> None:
    """The first step after it writes the mark and hands over; who left meanwhile is not served."""
    prefix = "queued-in-quarantine"
    with ServerSide(young_server, prefix=prefix, quarantine=LONG) as side:
        claims = [claim_of(side, number, patience=3.0) for number in range(3)]
        for claim in claims:
            side.listen(claim.inbox)
            side.ask(claim)
        assert isinstance(side.ask(Withdraw(NAME, claims[0].claim_id)), Ended)
        with ServerSide(young_server, prefix=prefix) as later:
            later.now += 1.0
            assert isinstance(later.ask(Advance(NAME, claims[2].claim_id)), Waiting)
            assert later.line.ask("EXISTS", later.post.keys.birth) == 1
        (notice,) = side.notices()
        assert notice is not None
        assert (notice.what, notice.claim_id) == ("granted", claims[1].claim_id)


def test_a_young_server_with_the_mark_has_forgotten_nothing(young_server: RedisServer) -> None:
    """After a restart that kept the data there is no quarantine, and a lease is still held."""
    with Asker(young_server.url(quarantine=0)) as before:
        assert isinstance(before.claim("kept", ID), Granted)
        assert isinstance(before.claim("free", ID), Granted)
        before.ask(Release("free", ID))
        young_server.restart()
        with Asker(young_server.url(quarantine=LONG), before.prefix) as after:
            assert isinstance(after.claim("free", OTHER_ID), Granted)
            seen = after.ask(Look("kept"))
            assert isinstance(seen, Seen)
            assert seen.locks[0].held


def test_an_old_server_without_the_mark_is_new_to_the_prefix(redis_server: SharedServer) -> None:
    """A server older than the quarantine gets its mark and grants at once."""
    eventually(lambda: _age(redis_server) >= 2, what="the server to be two seconds old")
    with ServerSide(redis_server, quarantine=0.5) as side:
        assert isinstance(side.ask(claim_of(side, 1)), Granted)
        assert side.line.ask("EXISTS", side.post.keys.birth) == 1


def test_a_replica_that_took_over_is_as_young_as_the_first_question() -> None:
    """It may have copied the empty memory of a master that had just restarted."""
    with RedisServer() as master, RedisServer() as replica:
        replica.ask("REPLICAOF", *map(str, master.address))
        eventually(lambda: "master_link_status:up" in replica.ask("INFO", "replication"), 10)
        eventually(lambda: _age(replica) >= 2, what="the replica to be two seconds old")
        replica.ask("REPLICAOF", "NO", "ONE")
        with ServerSide(replica, quarantine=0.5) as side:
            waiting = side.ask(claim_of(side, 1, patience=3.0))
            assert waiting == Waiting(1.5, ())
            side.now += 1.0
            assert side.ask(Advance(NAME, ID)) == Waiting(0.5, ())
            side.now += 1.0
            assert isinstance(side.ask(Advance(NAME, ID)), Granted)
            assert _mark(side) == int(side.now * 1_000_000)


def test_in_a_cluster_the_letter_brings_the_quarantine(redis_server: SharedServer) -> None:
    """What is left of it is what the wire knows of the node; replies carry no mark."""
    with ServerSide(redis_server, clustered=True) as side:
        letter = side.post.letter(claim_of(side, 1), 5.0)
        assert side.send([letter]) == [[0, b"quarantined", 5_000_000]]
        letter = side.post.letter(claim_of(side, 2, patience=3.0), 5.0)
        ((reply,),) = side.read([letter], side.send([letter]))
        assert reply == Waiting(5.0, ())
        assert isinstance(side.ask(Advance(NAME, OTHER_ID)), Granted)


def _mark(side: ServerSide) -> int:
    (reply,) = side.send([side.post.letter(Look(NAME))])
    mark: int = reply[0]
    return mark


def _lives(side: ServerSide) -> float:
    """Say for how many seconds the mark still lives."""
    milliseconds: int = side.line.ask("PTTL", side.post.keys.birth)
    return milliseconds / 1000


def _age(server: SharedServer) -> int:
    lines = server.ask("INFO", "server").splitlines()
    return int(dict(line.split(":", 1) for line in lines if ":" in line)["uptime_in_seconds"])
