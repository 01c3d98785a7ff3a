"""Being let in: passwords, ACL users, databases, sockets, TLS, RESP2, other people's clients."""

import socket
import threading
from pathlib import Path

import pytest
import redis
import redis.asyncio
from redis.sentinel import Sentinel

from holdfast import AsyncClient, BackendUnavailable, Client, Misuse
from tests.servers.cluster import RedisCluster
from tests.servers.redis import RedisServer
from tests.servers.sentinel import RedisSentinels
from tests.servers.shared import SharedServer
from tests.servers.tls import encrypted


def _works(url: object) -> None:
    """Take a lock, wait for another, and give both back."""
    with Client(url) as one, Client(url) as other:
        with one.lock("a", ttl=5):
            assert other.lock("a").try_acquire() is None
        with other.lock("a", wait=1):
            assert [lock.name for lock in one.locks("a")] == ["a"]


def test_a_password() -> None:
    """It is used, and a wrong or missing one is told apart from a server that is down."""
    with RedisServer(password="sesame") as server:
        _works(server.url(quarantine=0))
        for url in (server.url(password="wrong"), server.url(password="")):
            with Client(url) as client, pytest.raises(BackendUnavailable) as error:
                client.lock("x", wait=5).acquire()
            assert not error.value.transient
            assert "sesame" not in str(error.value)
            assert "wrong" not in str(error.value).replace("WRONGPASS", "")


def test_an_acl_user() -> None:
    """A user with just what holdfast needs is enough."""
    rights = "~holdfast:* &holdfast:* +@all -@dangerous -@admin"
    with RedisServer(user=[f"anna on >secret {rights}"]) as server:
        _works(server.url(user="anna", password="secret", quarantine=0))


def test_a_user_without_channels(caplog: pytest.LogCaptureFixture) -> None:
    """Waiters are then woken by a look once a second, and the log says so."""
    with RedisServer(user=["anna on >secret ~* resetchannels +@all"]) as server:
        url = server.url(user="anna", password="secret", quarantine=0)
        with Client(url) as one, Client(url) as other:
            with one.lock("x", ttl=5) as lease:
                assert lease.held
            waiting = one.lock("x", ttl=1, renew=False).acquire()
            with other.lock("x", wait=5):
                assert not waiting.held
    assert "may not listen" in caplog.text


def test_a_database_and_a_socket(redis_server: SharedServer) -> None:
    """Names in another database are other names; a Unix socket leads to the same ones."""
    assert isinstance(redis_server, RedisServer)
    with (
        Client(redis_server.url(quarantine=0)) as first,
        Client(redis_server.url(quarantine=0).replace("/0?", "/1?")) as second,
        Client(redis_server.unix_url(quarantine=0)) as third,
        first.lock("where"),
    ):
        with second.lock("where", wait=0):
            pass
        assert third.lock("where").try_acquire() is None


def test_resp2(redis_server: SharedServer) -> None:
    """Where RESP3 is not to be had, the inbox has a connection of its own."""
    _works(redis_server.url(quarantine=0, protocol=2))


async def test_resp2_async(redis_server: SharedServer) -> None:
    """The same for tasks."""
    url = redis_server.url(quarantine=0, protocol=2)
    async with AsyncClient(url) as one, AsyncClient(url) as other:
        lease = await one.lock("resp2", ttl=5).acquire()
        assert await other.lock("resp2").try_acquire() is None
        await lease.release()
        async with other.lock("resp2", wait=1):
            pass


def test_nobody_there() -> None:
    """A refused connection is told at once when nothing is waited for, with the address."""
    with Client("redis://127.0.0.1:1", call_limit=0.3) as client:
        with pytest.raises(BackendUnavailable, match=r"127\.0\.0\.1:1") as error:
            client.lock("x", wait=0).acquire()
        assert error.value.outcome == "none"


def test_something_else_listens() -> None:
    """A port that does not speak Redis is refused in words."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def greet() -> None:
            with server.accept()[0] as peer:
                peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                peer.recv(1000)

        threading.Thread(target=greet, daemon=True).start()
        client = Client(f"redis://127.0.0.1:{port}", call_limit=0.5)
        with client, pytest.raises(BackendUnavailable, match="language of Redis"):
            client.show("x")


@pytest.mark.parametrize("decode", [True, False])
def test_a_client_of_redis_py(redis_server: SharedServer, *, decode: bool) -> None:
    """Its settings are read, its connections are left alone and open."""
    given = redis.Redis.from_url(redis_server.url(), decode_responses=decode)
    try:
        _works(given)
        assert given.ping()
    finally:
        given.close()


async def test_an_asyncio_client_of_redis_py(redis_server: SharedServer) -> None:
    """The async client of redis-py too, for either of our clients."""
    given = redis.asyncio.Redis.from_url(redis_server.url())
    try:
        async with AsyncClient(given) as client, client.lock("theirs"):
            with Client(given) as other:
                assert other.lock("theirs").try_acquire() is None
        assert await given.ping()
    finally:
        await given.aclose()


@pytest.mark.timeout(60)
def test_groups_of_redis_py() -> None:
    """A cluster's client and a sentinel's master say where to go; a replica's client is refused."""
    with RedisCluster() as cluster:
        host, port = cluster.masters()[0].address
        theirs = redis.RedisCluster(host=host, port=port)
        with Client(theirs) as client, client.lock("x"):
            assert client.show("x").held
        theirs.close()
    with RedisSentinels() as group:
        places = [one.address for one in group.sentinels]
        sentinel = Sentinel(places)  # type: ignore[no-untyped-call]
        master = sentinel.master_for("mymaster")  # type: ignore[no-untyped-call]
        replica = sentinel.slave_for("mymaster")  # type: ignore[no-untyped-call]
        with Client(master) as client, client.lock("x"):
            assert client.show("x").held
        with pytest.raises(Misuse, match="master_for"):
            Client(replica)
        for one in sentinel.sentinels:
            one.close()


def test_tls(tmp_path: Path) -> None:
    """rediss:// encrypts and verifies, and an unknown certificate is refused."""
    with encrypted(1, tmp_path) as found:
        url = f"rediss://127.0.0.1:{found.ports[0]}/0?quarantine=0"
        _works(f"{url}&ssl_ca_certs={found.certificate}")
        _works(f"{url}&ssl_cert_reqs=none")
        with Client(url) as client, pytest.raises(BackendUnavailable, match="certificate"):
            client.lock("x", wait=0).acquire()
