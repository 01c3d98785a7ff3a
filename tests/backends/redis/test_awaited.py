"""Who is likely to be waited for gives back so that the next in line is told first."""

from __future__ import annotations

import asyncio
import os
import select
import sys
from asyncio.selector_events import _SelectorSocketTransport  # type: ignore[attr-defined]
from collections.abc import Awaitable, Sequence

import pytest

from holdfast import BackendUnavailable, clock
from holdfast.backends.redis.aio import AioWire
from holdfast.backends.redis.backend import connect
from holdfast.backends.redis.line import SILENCE
from holdfast.backends.redis.requests import AHEAD, Post, command
from holdfast.backends.redis.scripts import script
from holdfast.ports import Wire
from holdfast.rules.messages import Claim, Ended, Granted, Release, Reply, Want
from holdfast.runtimes.step import run
from holdfast.settings import address
from holdfast.values import Holder
from tests.backends.redis.differential_line import Line
from tests.servers.redis import RedisServer
from tests.servers.shared import SharedServer

HOLDER = Holder("0123456789abcdef", "host", 1)
WANT = Want("lock", 1, 1, 60.0)
MANY = 60


def _claim(name: str, number: int, inbox: str = "") -> Claim:
    return Claim(name, f"{name}-{number}", WANT, HOLDER, inbox, 3.0 if inbox else 0.0)


@pytest.mark.skipif(sys.platform != "linux", reason="the order of events is epoll's")
@pytest.mark.parametrize("awaited, told_first", [(True, "next"), (False, "giver")])
def test_the_next_in_line_is_told_first(
    redis_server: SharedServer, *, awaited: bool, told_first: str
) -> None:
    """The server writes the notice before the reply, which else it does the other way round."""
    prefix = f"t{os.urandom(6).hex()}"
    post = Post(prefix, 0.0, clustered=False)
    inbox = post.keys.inbox("0123456789abcdef")
    with Line(redis_server) as giver, Line(redis_server) as hears:
        giver.exchange([command("SCRIPT", "LOAD", script(one).body) for one in ("claim", "end")])
        hears.say("SUBSCRIBE", inbox)
        hears.ask("PING")
        for number in range(2):
            giver.exchange([post.letter(_claim("x", number, inbox)).data])
        release = Release("x", "x-0", awaited)
        parcel = post.parcel(release)
        assert parcel is not None
        call, keys, words = parcel
        ends = {giver._socket.fileno(): "giver", hears._socket.fileno(): "next"}
        with select.epoll() as arrivals:  # it tells first of what came first
            for end in ends:
                arrivals.register(end, select.EPOLLIN)
            giver._socket.sendall(call.one(keys, words))
            for end in ends:
                assert select.select([end], [], [], 10)[0]
            order = [ends[end] for end, _ in arrivals.poll(0)]
        assert order[0] == told_first
        assert sorted(order) == ["giver", "next"]


def test_what_goes_ahead_is_no_part_of_a_letter() -> None:
    """Servers that are asked letter by letter get it before the letter, once, if it is of use."""
    post = Post("t", 0.0, clustered=True)
    plain, awaited = (post.letter(Release("x", "c" * 16, hint)) for hint in (False, True))
    assert plain.data == awaited.data
    assert [post.before(one) for one in (plain, awaited)] == [b"", AHEAD]


def _released(replies: Sequence[Reply], claims: Sequence[Claim]) -> bool:
    return list(replies) == [Ended(claim.claim_id, "released") for claim in claims]


def test_a_thread_is_not_given_the_reply_to_what_went_ahead(redis_server: SharedServer) -> None:
    """It gets its own, and so does whoever asks next on the same connection."""
    wire = connect(address(redis_server.url(quarantine=0)), f"t{os.urandom(6).hex()}").sync_wire(
        HOLDER
    )
    try:
        for number in range(3):
            claim = _claim("x", number)
            assert isinstance(_asked(wire, claim), Granted)
            assert _released([_asked(wire, Release("x", claim.claim_id, awaited=True))], [claim])
    finally:
        wire.close()


def _asked(wire: Wire, request: Claim | Release) -> Reply:
    return run(_ask(wire, request))  # type: ignore[arg-type]


def _ask(wire: Wire, request: Claim | Release) -> Awaitable[Reply]:
    return wire.ask(request, clock.now() + 10)


@pytest.mark.anyio
async def test_tasks_are_not_given_the_reply_to_what_went_ahead(redis_server: SharedServer) -> None:
    """Alone and in a crowd, of which some are likely to be waited for and some are not."""
    prefix = f"t{os.urandom(6).hex()}"
    wire = connect(address(redis_server.url(quarantine=0)), prefix).aio_wire(HOLDER)
    try:
        for count in (1, 2, MANY):
            claims = [_claim(f"x{number}", count) for number in range(count)]
            granted = await asyncio.gather(*[_ask(wire, claim) for claim in claims])
            assert [type(one) for one in granted] == [Granted] * count
            releases = [
                Release(claim.name, claim.claim_id, awaited=number % 3 < 2)
                for number, claim in enumerate(claims)
            ]
            replies = await asyncio.gather(*[_ask(wire, release) for release in releases])
            assert _released(replies, claims)
    finally:
        wire.close()


@pytest.mark.anyio
async def test_what_goes_ahead_leaves_with_its_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where tasks ask letter by letter it is one write too: else it would be answered first."""
    written: list[bytes] = []
    write = _SelectorSocketTransport.write

    def noted(self: _SelectorSocketTransport, data: bytes) -> None:
        written.append(bytes(data))
        write(self, data)

    with RedisServer() as server:
        wire = connect(address(server.url(quarantine=0)), "t").aio_wire(HOLDER)
        for number in range(2):  # by then the server knows the scripts
            claim = _claim(f"x{number}", 1)
            assert isinstance(await _ask(wire, claim), Granted)
            if number == 0:
                await _ask(wire, Release(claim.name, claim.claim_id))
        monkeypatch.setattr(_SelectorSocketTransport, "write", noted)
        release = Release(claim.name, claim.claim_id, awaited=True)
        replies = await wire.ask_all([release], clock.now() + 10)
        monkeypatch.undo()
        assert replies == [Ended(claim.claim_id, "released")]
        assert [data.startswith(AHEAD + b"*") for data in written] == [True]
        wire.close()


@pytest.mark.anyio
async def test_a_silent_server_is_given_up_though_something_went_ahead() -> None:
    """What nobody waits for does not hide that the reply behind it is overdue."""
    with RedisServer() as server:
        wire = connect(address(server.url(quarantine=0)), "t").aio_wire(HOLDER)
        assert isinstance(wire, AioWire)
        claim = _claim("x", 1)
        assert isinstance(await _ask(wire, claim), Granted)
        line = wire.lines.last
        assert line is not None
        server.pause()
        with pytest.raises(BackendUnavailable):
            await wire.ask(Release("x", claim.claim_id, awaited=True), clock.now() + SILENCE + 0.1)
        assert line.broken == "the server was silent"
        server.resume()
        wire.close()


@pytest.mark.anyio
async def test_a_server_that_hangs_up_tells_those_behind_what_went_ahead() -> None:
    """Everybody who waits is told; what went ahead has nobody to tell."""
    with RedisServer() as server:
        wire = connect(address(server.url(quarantine=0)), "t").aio_wire(HOLDER)
        claim = _claim("x", 1)
        assert isinstance(await _ask(wire, claim), Granted)
        server.ask("CLIENT", "PAUSE", 60_000, "ALL")
        asked = [
            asyncio.ensure_future(_ask(wire, Release("x", claim.claim_id, awaited=True)))
            for _ in range(3)
        ]
        await asyncio.sleep(0)
        server.kill()
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(one).__name__ for one in outcomes] == ["BackendUnavailable"] * 3
        wire.close()
