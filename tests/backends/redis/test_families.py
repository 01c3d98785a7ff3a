"""Records and buckets on a real server, with its own clock: how long keys live, what is forgotten.

That the scripts decide as the rules do is in ``test_family_differential``; what every backend does,
in the conformance suite.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from holdfast import clock
from holdfast.backends.redis.scripts import script
from holdfast.errors import BackendUnavailable
from holdfast.rules.bucket import OWED_LIMIT
from holdfast.rules.bucket_messages import (
    BucketRequest,
    GaveBack,
    GiveBack,
    Short,
    Take,
    Terms,
    Took,
)
from holdfast.rules.messages import Claim, Granted, Want
from holdfast.rules.record import KEEP_LIMIT, SWAPS_LONGEST, VALUE_LIMIT
from holdfast.rules.record_messages import Entry, Get, Moved, RecordRequest, Swap, Swapped
from holdfast.runtimes.step import run
from holdfast.testing.watching import eventually
from tests.backends.redis.differential_wire import HOLDER, Asker
from tests.backends.redis.family_stage import FamilyStage
from tests.rules.record_histories import START, swap_id_of
from tests.servers.redis import RedisServer
from tests.servers.shared import SharedServer

ONE, TWO, THREE = map(swap_id_of, range(3))
SECOND, HOUR = 1_000_000, 3_600_000_000
SLOW = Terms(10, HOUR, 10)
LONG = 3_600.0
"""A quarantine that no server of a test outlives."""

GET = Get("once", "x")
SWAP = Swap("once", "x", ONE, b"value", 0)
TAKE = Take("limiter", "x", ONE, 1, SLOW)
GIVE_BACK = GiveBack("limiter", "x", ONE)


@pytest.fixture
def asker(redis_server: SharedServer) -> Iterator[Asker]:
    """Give a wire to the shared server."""
    with Asker(redis_server.url(quarantine=0)) as asker:
        yield asker


@pytest.mark.parametrize("keep", [None, 5 * SECOND])
def test_a_record_lives_as_long_as_it_should(
    redis_server: SharedServer, asker: Asker, keep: int | None
) -> None:
    """For ever, or a minute longer than its value; once deleted, a minute."""
    key = asker.keys.of_family("record", "once", "x")
    done = asker.ask(SWAP._replace(keep=keep))
    assert isinstance(done, Swapped)
    if keep is None:
        assert redis_server.ask("PTTL", key) == -1
    else:
        assert 60_000 < redis_server.ask("PTTL", key) <= 65_000
    asker.ask(SWAP._replace(swap_id=TWO, value=None, if_version=done.version))
    assert 0 < redis_server.ask("PTTL", key) <= 60_000


def test_a_bucket_is_gone_when_it_is_empty_and_not_before(
    redis_server: SharedServer, asker: Asker
) -> None:
    """Nothing stays behind of a limit that nobody asks for any more."""
    key = asker.keys.of_family("bucket", "limiter", "x")
    asker.ask(TAKE._replace(permits=3, terms=Terms(10, SECOND, 10)))
    taken_at = time.monotonic()
    assert 200 < redis_server.ask("PTTL", key) <= 302
    eventually(lambda: redis_server.ask("EXISTS", key) == 0, 5.0, "the end of the key")
    assert time.monotonic() - taken_at > 0.25
    asker.ask(TAKE._replace(permits=10))
    assert HOUR / 1000 - 60_000 < redis_server.ask("PTTL", key) <= HOUR / 1000 + 2


def test_what_was_given_back_is_gone_at_once(redis_server: SharedServer, asker: Asker) -> None:
    """The last permit takes the key with it."""
    asker.ask(TAKE)
    assert asker.ask(GIVE_BACK) == GaveBack("undone")
    assert redis_server.ask("EXISTS", asker.keys.of_family("bucket", "limiter", "x")) == 0


@pytest.mark.parametrize("asked", [GET, SWAP, TAKE, GIVE_BACK], ids=lambda one: type(one).__name__)
def test_a_newer_format_is_refused_in_words(
    redis_server: SharedServer, asker: Asker, asked: RecordRequest | BucketRequest
) -> None:
    """Whatever is asked, the answer is to upgrade, and what is stored stays as it is."""
    family = "record" if isinstance(asked, (Get, Swap)) else "bucket"
    key = asker.keys.of_family(family, asked.space, asked.name)
    write = "'HSET', KEYS[1], 'kept'" if family == "record" else "'SET', KEYS[1]"
    pack = f"redis.call({write}, cmsgpack.pack({{2, 'who knows'}}))"
    redis_server.ask("EVAL", f"{pack} redis.call('PEXPIRE', KEYS[1], 60000)", 1, key)
    before = redis_server.ask("DUMP", key)
    with pytest.raises(BackendUnavailable, match=r"newer holdfast .* upgrade") as failed:
        asker.ask(asked)
    assert not failed.value.transient
    assert redis_server.ask("DUMP", key) == before


def test_forgotten_scripts_are_sent_again(redis_server: SharedServer, asker: Asker) -> None:
    """``SCRIPT FLUSH`` (a restart does the same) is not noticed by anybody."""
    asker.ask(SWAP._replace(keep=SECOND))
    redis_server.ask("SCRIPT", "FLUSH")
    assert isinstance(asker.ask(GET), Entry)
    assert isinstance(asker.ask(TAKE), Took)
    assert asker.ask(GIVE_BACK) == GaveBack("undone")


def test_a_look_that_came_before_the_grant_can_be_told() -> None:
    """A claim whose script must be sent first is carried out after the look that was behind it."""
    with RedisServer() as server, Asker(server.url(quarantine=0)) as asker:
        server.ask("SCRIPT", "LOAD", script("record_get").body)
        claim = Claim("x", ONE, Want("lock", 1, 1, 10.0), HOLDER, "", 0.0)
        granted, seen = run(asker._wire.ask_all([claim, GET], clock.now() + 5))
        assert isinstance(granted, Granted)
        assert isinstance(seen, Entry)
        assert seen.at < round(granted.granted_at * 1e6)
        again = asker.ask(GET)
        assert isinstance(again, Entry)
        assert again.at > round(granted.granted_at * 1e6)


def test_refusals_have_the_same_words_as_the_rules(redis_server: SharedServer) -> None:
    """What can never be right is refused by the server as the rule refuses it."""
    swap, take = SWAP._replace(space="cell"), TAKE
    with FamilyStage(redis_server) as stage:
        stage.ask_record(swap._replace(value=b"x" * (VALUE_LIMIT + 1)), START)
        stage.ask_record(swap._replace(value=b"x" * VALUE_LIMIT), START)
        for keep in (0, -1, KEEP_LIMIT + 1, KEEP_LIMIT):
            stage.ask_record(swap._replace(keep=keep, swap_id=TWO, if_version=START), START)
        for permits in (0, -1, 11):
            stage.ask_bucket(take._replace(permits=permits), START)
        most = OWED_LIMIT // SECOND
        for terms in ((0, SECOND, 1), (1, 0, 1), (1, SECOND, 0), (OWED_LIMIT + 1, 1, 1)):
            stage.ask_bucket(take._replace(terms=Terms(*terms)), START)
        stage.ask_bucket(take._replace(terms=Terms(1, SECOND, most + 1)), START)
        stage.ask_bucket(take._replace(terms=Terms(1, SECOND, most), permits=most), START)
        stage.ask_bucket(take._replace(terms=Terms(1, 1_500_000, 7)), START)


def test_what_is_remembered_is_cut_at_the_very_same_place(redis_server: SharedServer) -> None:
    """A text of just the longest length stays whole; one more character, and the first goes."""
    full = [*map(swap_id_of, range(59)), "i" * 24]  # 59 times 34 characters, and 42
    assert SWAPS_LONGEST == 59 * 34 + 42
    with FamilyStage(redis_server) as stage:
        seen = 0
        for number, swap_id in enumerate([*full, "one more"]):
            stage.ask_record(Swap("cell", "x", swap_id, b"x", seen), START + number)
            seen = START + number
            again = stage.ask_record(Swap("cell", "x", full[0], b"x", 0), START + number)
            assert isinstance(again, Moved if swap_id == "one more" else Swapped)


def test_a_server_that_came_back_empty_does_not_use_a_version_again() -> None:
    """Its wall clock is the floor: whoever saw an old version cannot mistake a new one for it."""
    with RedisServer() as server, Asker(server.url(quarantine=0)) as asker:
        before = asker.ask(SWAP)
        server.restart(wiped=True)
        with Asker(server.url(quarantine=0), asker.prefix) as later:
            assert isinstance(before, Swapped)
            late = later.ask(SWAP._replace(swap_id=TWO, if_version=before.version))
            assert isinstance(late, Moved)
            assert (late.entry.version, late.certain) == (0, False)
            after = later.ask(SWAP._replace(swap_id=THREE))
            assert isinstance(after, Swapped)
            assert after.version > before.version


def test_what_a_young_server_does_not_know_is_not_told_as_absent() -> None:
    """Until the quarantine is over nothing is said of a record, and none is made in its place."""
    with RedisServer() as server, Asker(server.url(quarantine=LONG)) as asker:
        for asked in (GET, SWAP):
            with pytest.raises(BackendUnavailable, match="may have forgotten it") as failed:
                asker.ask(asked)
            assert (failed.value.outcome, failed.value.transient) == ("none", True)
        with Asker(server.url(quarantine=0), asker.prefix) as later:
            assert isinstance(later.ask(SWAP), Swapped)  # and the mark is written
        seen = asker.ask(GET)
        assert isinstance(seen, Entry)
        assert seen.value == b"value"


def test_a_record_that_a_young_server_has_is_told(redis_server: SharedServer) -> None:
    """Where only the mark was lost (evicted, or not used for two days), a record is a record."""
    with Asker(redis_server.url(quarantine=0)) as asker:
        done = asker.ask(SWAP._replace(keep=SECOND))
        redis_server.ask("DEL", asker.keys.birth)
        with Asker(redis_server.url(quarantine=10 * LONG), asker.prefix) as young:
            seen = young.ask(GET)
            assert isinstance(seen, Entry)
            assert isinstance(done, Swapped)
            assert (seen.value, seen.version) == (b"value", done.version)
            with pytest.raises(BackendUnavailable):
                young.ask(GET._replace(name="another"))


def test_what_a_young_server_does_not_know_is_spent() -> None:
    """A bucket that it may have forgotten starts empty and fills at the rate; others go on."""
    terms = Terms(10, SECOND, 1)
    with RedisServer() as server, Asker(server.url(quarantine=LONG)) as asker:
        first = asker.ask(TAKE._replace(terms=terms))
        assert isinstance(first, Short)
        assert 0 < first.retry_in <= SECOND // 10
        key = asker.keys.of_family("bucket", "limiter", "x")
        assert server.ask("PTTL", key) > 60_000, "it must be known until the quarantine is over"
        eventually(lambda: isinstance(asker.ask(TAKE._replace(terms=terms)), Took), 8.0, "a permit")
        assert isinstance(asker.ask(TAKE._replace(name="another")), Short)
        waits = asker.ask(TAKE._replace(name="a third", wait=HOUR))
        assert isinstance(waits, Took)
        assert HOUR // 10 - SECOND < waits.ready_in <= HOUR // 10


def test_a_full_server_still_deletes_and_takes_back() -> None:
    """What makes room is done; what takes room is refused, and the error says why."""
    full = RedisServer(maxmemory_policy="noeviction")
    with full as server, Asker(server.url(quarantine=0)) as asker:
        done = asker.ask(SWAP)
        assert isinstance(done, Swapped)
        asker.ask(TAKE._replace(take_id=TWO))
        asker.ask(TAKE)
        server.ask("CONFIG", "SET", "maxmemory", 1)
        with pytest.raises(BackendUnavailable, match="its memory is full"):
            asker.ask(SWAP._replace(swap_id=TWO, if_version=done.version))
        with pytest.raises(BackendUnavailable, match="its memory is full"):
            asker.ask(TAKE._replace(take_id=THREE))
        seen = asker.ask(GET)
        assert isinstance(seen, Entry)
        assert seen.version == done.version
        assert asker.ask(GIVE_BACK) == GaveBack("undone")
        gone = asker.ask(SWAP._replace(swap_id=THREE, value=None, if_version=done.version))
        assert isinstance(gone, Swapped)


def test_a_swap_that_too_few_replicas_have_does_not_count() -> None:
    """The outcome is unknown; asked again it is still the same swap. Takes do not wait."""
    with RedisServer() as server:
        with Asker(server.url(quarantine=0, replicas=1)) as asker:
            with pytest.raises(BackendUnavailable, match="replicas=1") as failed:
                asker.ask(SWAP)
            assert failed.value.outcome == "unknown"
            assert isinstance(asker.ask(TAKE), Took)
        with Asker(server.url(quarantine=0), asker.prefix) as plain:
            again = plain.ask(SWAP)
            assert isinstance(again, Swapped)
            seen = plain.ask(GET)
            assert isinstance(seen, Entry)
            assert seen.version == again.version
