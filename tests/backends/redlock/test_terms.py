"""What makes a quorum, and what is refused: in words that a newcomer understands."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncClient, Client, Misuse, Unsupported
from holdfast.backends.redlock.target import quorum_of
from holdfast.settings import address
from holdfast.testing.watching import eventually
from tests.backends.redlock.quorum import quorum
from tests.servers.redis import RedisServer


def test_servers_and_terms() -> None:
    """Each server has its own credentials; everything else is said once."""
    url = "redlock://a,us%40er:p%3Ass@b:7,[::1]:8/3?node_limit=50ms&retry_delay=10ms&retry_max=2"
    read = quorum_of(address(url + "&retry_jitter=0.9&drift=0.02&quarantine=30s"))
    assert [one.seeds[0] for one in read.targets] == [("a", 6379), ("b", 7), ("::1", 8)]
    assert [one.login().username for one in read.targets] == ["", "us@er", ""]
    assert read.targets[1].login().password == "p:ss"
    assert {one.database for one in read.targets} == {3}
    assert (read.node_limit, read.quarantine) == (0.05, 30.0)
    assert read.terms[1:6] == (0.02, 0.002, 0.01, 2.0, 0.9)
    assert "p%3A" not in read.terms.shown
    assert all(one.tls is None for one in read.targets)


def test_tls() -> None:
    """``redlock+tls`` encrypts to every server."""
    read = quorum_of(address("redlock+tls://a,b,c?ssl_cert_reqs=none"))
    assert all(one.tls is not None for one in read.targets)


@pytest.mark.parametrize(
    "url, words",
    [
        ("redlock://a", "at least 3"),
        ("redlock://a,b", "at least 3"),
        ("redlock://a,b,c,d", "odd number"),
        ("redlock://a,b,a", "twice"),
        ("redlock://a,b,c?retry_dely=1", "did you mean 'retry_delay'"),
        ("redlock://a,b,c?retry_jitter=7", "from 0 to 1"),
        ("redlock://a,b,c?node_limit=5s", "small against the quarantine"),
        ("redlock://a,b,c:x", "not a port"),
    ],
)
def test_what_can_never_be_right(url: str, words: str) -> None:
    """It is refused when the client is made, and the message says what to write instead."""
    with pytest.raises(Misuse, match=words):
        Client(url)


@pytest.mark.parametrize("make", [Client, AsyncClient])
def test_what_a_quorum_cannot_do_soundly(make: Any) -> None:
    """Refused when it is built, naming those that can."""
    client = make("redlock://a,b,c")
    builds: tuple[Callable[[], object], ...] = (
        lambda: client.semaphore("x", permits=2),
        lambda: client.rwlock("x"),
        lambda: client.once("x"),
        lambda: client.cell("x"),
        lambda: client.limiter("x", rate="1/s"),
        lambda: client.singleton("x", per="5m"),
    )
    for build in builds:
        with pytest.raises(Unsupported, match="postgres"):
            build()


def test_one_server_under_two_names() -> None:
    """It is seen by its process, not by its address."""
    with quorum(2) as servers, RedisServer() as third:
        first, second = servers.all
        url = f"redlock://127.0.0.1:{first.port},127.0.0.1:{second.port},localhost:{first.port}"
        with Client(url) as client, pytest.raises(Misuse, match="one and the same server"):
            client.lock("x").acquire()
        assert third.running


def test_clients_of_other_libraries() -> None:
    """A list of clients of redis-py is a quorum; only their settings are read."""
    redis = pytest.importorskip("redis")
    with quorum(3, password="secret") as servers:
        clients = [
            redis.Redis(port=one.port, host="127.0.0.1", password="secret") for one in servers.all
        ]
        with Client(clients) as client:
            client.lock("x").acquire(wait=15).release()
            assert len(client.show("x").votes) == 3
        for one in clients:
            one.close()


def test_passwords_are_nowhere() -> None:
    """Not in errors, not in the representation."""
    with quorum(3, password="secret") as servers:
        hosts = ",".join(f":wrong@127.0.0.1:{one.port}" for one in servers.all)
        with Client(f"redlock://{hosts}?quarantine=0", call_limit=1) as client:
            with pytest.raises(ConnectionError) as caught:
                client.lock("x").acquire()
            assert "wrong" not in str(caught.value).replace("wrong number", "")
            assert "refuses this user name or password" in str(caught.value)


def test_the_documented_permissions_are_enough() -> None:
    """A user with nothing but what the page says can take, wait, be told, look, list and break."""
    page = (Path(__file__).parents[3] / "docs" / "redlock.md").read_text("utf-8")
    rules = " ".join(page.partition("```text\n~")[2].partition("```")[0].split())
    with quorum(3, user=[f"app on >secret ~{rules}"]) as servers:
        hosts = ",".join(f"app:secret@127.0.0.1:{one.port}" for one in servers.all)
        url = f"redlock://{hosts}?quarantine=0&retry_delay=15s&retry_max=15s"
        with Client(url) as ann, Client(url) as bob:
            lease = ann.lock("x").acquire()
            with ThreadPoolExecutor() as pool:
                waiting = pool.submit(lambda: bob.lock("x").acquire(wait=15))
                eventually(lambda: ann.show("x").waiters, 5.0, "bob to come in vain")
                lease.release()
                passed_on = waiting.result(timeout=6)  # sooner than his pause: he was told
            assert [one.name for one in ann.locks()] == ["x"]
            ann.break_lock("x", token=passed_on.token, reason="enough")
            eventually(lambda: passed_on.lost, 5.0, "the break to be told")
