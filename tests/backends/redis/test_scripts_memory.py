"""What a server's memory can do to the scripts: forget them, be full, hold what is too new for us.

Through the real wire, with the server's own clock.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import holdfast
from holdfast import clock
from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import (
    Advance,
    Break,
    Broke,
    Claim,
    Ended,
    Granted,
    Item,
    Look,
    NameRequest,
    Release,
    Renew,
    Renewed,
    Waiting,
    Want,
    Withdraw,
)
from holdfast.runtimes.step import run
from tests.backends.redis.differential_claims import claim_id_of
from tests.backends.redis.differential_wire import HOLDER, Asker
from tests.servers.redis import RedisServer
from tests.servers.shared import SharedServer

ONE, TWO, THREE = map(claim_id_of, range(3))
DAY = 86_400
NAME = "orders:42"

EVERY_REQUEST: tuple[NameRequest, ...] = (
    Claim(NAME, ONE, Want("lock", 1, 1, 10.0), HOLDER, "", 0.0),
    Renew(NAME, (Item(ONE, 0, 10.0),)),
    Release(NAME, ONE),
    Withdraw(NAME, ONE),
    Advance(NAME, ONE),
    Break(NAME, 7, "stuck"),
    Look(NAME),
)


def test_every_key_goes_by_itself(redis_server: SharedServer) -> None:
    """No key stays for ever, and none for more than about a day beyond the longest lease."""
    with Asker(redis_server.url(quarantine=0)) as asker:
        asker.claim("long", ONE, ttl=7.0 * DAY)
        asker.claim("contended", ONE)
        asker.claim("contended", TWO, patience=3.0)
        asker.ask(Renew("contended", (Item(ONE, 0, 30.0), Item(TWO, 0, 30.0, 3.0))))
        asker.ask(Withdraw("contended", THREE))
        for claim_id in (ONE, TWO):
            asker.claim("given back", claim_id)
            asker.ask(Release("given back", claim_id))
        asker.ask(Withdraw("never claimed", ONE))
        asker.ask(Advance("looked at", ONE))

        prefix = f"{asker.prefix}:"
        lives = {
            key.removeprefix(prefix): redis_server.ask("PTTL", key) / 1000
            for key in _keys(redis_server, f"{prefix}*")
        }
        longest = {"birth": 8 * DAY, "{long}": 8 * DAY, "{contended}": DAY + 30}
        assert lives.keys() >= {*longest, "{contended}:ended", "{contended}:queue"}
        for key, life in lives.items():
            assert 0 < life <= longest.get(key, DAY) + 1, key
            assert life <= 120 or not key.endswith(":ended")


@pytest.mark.parametrize("how", ["claim", "renew"])
def test_a_waiter_that_lives_on_keeps_its_queue(redis_server: SharedServer, how: str) -> None:
    """Each time it asks, the keys of the queue get their full day again."""
    with Asker(redis_server.url(quarantine=0)) as asker:
        queue = asker.keys.of(NAME).all[2:]
        asker.claim(NAME, ONE)
        asker.claim(NAME, TWO, patience=3.0)
        for key in queue:
            redis_server.ask("EXPIRE", key, 60)
        if how == "claim":
            asker.claim(NAME, TWO, patience=3.0)
        else:
            asker.ask(Renew(NAME, (Item(TWO, 0, 10.0, 3.0),)))
        assert all(DAY - 60 < redis_server.ask("TTL", key) <= DAY for key in queue)


@pytest.mark.parametrize("asked", EVERY_REQUEST, ids=lambda one: type(one).__name__)
def test_a_record_of_a_newer_format_is_refused_in_words(
    redis_server: SharedServer, asked: NameRequest
) -> None:
    """Whatever is asked, the answer is to upgrade, and the record stays as it is."""
    with Asker(redis_server.url(quarantine=0)) as asker:
        before = _newer_record(redis_server, asker, NAME)
        with pytest.raises(BackendUnavailable, match=r"newer holdfast .* upgrade") as failed:
            asker.ask(asked)
        assert not failed.value.transient
        record, *others = asker.keys.of(NAME).all
        assert redis_server.ask("DUMP", record) == before
        assert redis_server.ask("EXISTS", *others) == 0


def test_a_newer_record_in_a_batch_leaves_its_batchmates_alone(redis_server: SharedServer) -> None:
    """Of three names renewed in one letter, two are renewed and one is refused."""
    with Asker(redis_server.url(quarantine=0)) as asker:
        asker.claim("first", ONE)
        asker.claim("third", ONE)
        _newer_record(redis_server, asker, "second")
        requests = [Renew(name, (Item(ONE, 0, 60.0),)) for name in ("first", "second", "third")]
        replies = run(asker._wire.ask_all(requests, clock.now() + 5))
        assert [type(reply) for reply in replies] == [Renewed, BackendUnavailable, Renewed]
        assert "'second'" in str(replies[1])


def test_forgotten_scripts_are_sent_again(redis_server: SharedServer) -> None:
    """``SCRIPT FLUSH`` (a restart does the same) is not noticed by anybody."""
    with holdfast.Client(redis_server.url(quarantine=0), prefix="script-flush") as client:
        lock = client.lock(NAME, ttl=10, wait=0)
        for _ in range(3):
            redis_server.ask("SCRIPT", "FLUSH")
            with lock as lease:
                redis_server.ask("SCRIPT", "FLUSH")
                assert lock.locked()
                redis_server.ask("SCRIPT", "FLUSH")
                lease.extend(20)
                assert lease.remaining > 10
                redis_server.ask("SCRIPT", "FLUSH")
                assert client.lock(NAME, wait=0).try_acquire() is None
                redis_server.ask("SCRIPT", "FLUSH")
            assert not lock.locked()


@pytest.fixture
def small_server() -> Iterator[RedisServer]:
    """Give a server that evicts nothing, with memory enough to begin with."""
    with RedisServer(maxmemory="100mb", maxmemory_policy="noeviction") as server:
        yield server


def test_a_full_server_still_takes_back_and_renews(small_server: RedisServer) -> None:
    """Claims fail and say why; renewals, releases, hand-overs and breaks go on."""
    with Asker(small_server.url(quarantine=0)) as asker:
        tokens = {}
        for name in ("renewed", "released", "handed over", "withdrawn", "broken"):
            granted = asker.claim(name, ONE, ttl=60.0)
            assert isinstance(granted, Granted)
            tokens[name] = granted.token
        asker.claim("handed over", TWO, patience=60.0)
        asker.claim("withdrawn", TWO, patience=60.0)
        small_server.ask("CONFIG", "SET", "maxmemory", 1)  # less than it has in use by now

        for patience in (0.0, 3.0):
            with pytest.raises(BackendUnavailable, match="memory is full") as failed:
                asker.claim("new", THREE, patience=patience)
            assert (failed.value.outcome, failed.value.transient) == ("none", True)
        with pytest.raises(BackendUnavailable, match="memory is full"):
            asker.claim("renewed", THREE, patience=3.0)

        renewed = asker.ask(Renew("renewed", (Item(ONE, tokens["renewed"], 90.0),)))
        assert isinstance(renewed, Renewed)
        assert isinstance(renewed.answers[0], Granted)
        assert renewed.answers[0].remaining == 90.0
        assert _ending(asker, Release("released", ONE)) == "released"
        assert _ending(asker, Release("released", ONE)) == "released"
        assert _ending(asker, Release("handed over", ONE)) == "released"
        assert _holding_claim(asker, "handed over", TWO)
        assert _ending(asker, Withdraw("withdrawn", TWO)) == "withdrawn"
        assert _ending(asker, Withdraw("withdrawn", ONE)) == "withdrawn"
        broke = asker.ask(Break("broken", tokens["broken"], "full", force=True))
        assert isinstance(broke, Broke)
        assert broke.tenure.broken == "full"


def _holding_claim(asker: Asker, name: str, claim_id: str) -> bool:
    reply = asker.ask(Advance(name, claim_id))
    assert not isinstance(reply, Waiting)
    return isinstance(reply, Granted)


def _ending(asker: Asker, request: Release | Withdraw) -> str:
    reply = asker.ask(request)
    assert isinstance(reply, Ended)
    return reply.how


def _newer_record(server: SharedServer, asker: Asker, name: str) -> object:
    write = "redis.call('SET', KEYS[1], '\\3 new things', 'PX', 60000)"
    key = asker.keys.of(name).all[0]
    server.ask("EVAL", write, 1, key)
    return server.ask("DUMP", key)


def _keys(server: SharedServer, pattern: str) -> list[str]:
    found: list[str] = []
    cursor = "0"
    while True:
        cursor, keys = server.ask("SCAN", cursor, "MATCH", pattern, "COUNT", 1000)
        found += keys
        if cursor == "0":
            return found
