"""The proxy does what it is told, seen from a plain socket at one end and Redis at the other."""

import socket
import time
from collections.abc import Iterator

import hiredis
import pytest

from holdfast.testing.watching import eventually
from tests.servers.asking import Door
from tests.servers.proxy import Proxy
from tests.servers.redis import RedisServer


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    """Give a server for the tests of this file."""
    with RedisServer() as server:
        yield server


@pytest.fixture
def proxy(server: RedisServer) -> Iterator[Proxy]:
    """Give a proxy in front of an empty server."""
    server.ask("FLUSHALL")
    with Proxy(server.address) as proxy:
        yield proxy


def connected(proxy: Proxy) -> socket.socket:
    """Open a connection through the proxy, and see that it works."""
    connection = socket.create_connection(proxy.address, 5)
    assert said(connection, "PING") == b"+PONG\r\n"
    return connection


def said(connection: socket.socket, *words: str) -> bytes:
    """Send a command and give what comes back first; nothing at the end of the connection."""
    connection.sendall(packed(*words))
    return connection.recv(1000)


def packed(*words: str) -> bytes:
    """Write a command as it goes over the wire."""
    command: bytes = hiredis.pack_command(words)  # type: ignore[arg-type]
    return command


def test_it_passes_on_and_counts(proxy: Proxy) -> None:
    """Left alone it changes nothing, and says how much it has seen."""
    ask = Door(address=proxy.address).ask
    assert ask("SET", "a", "x" * 300_000) == "OK"
    assert ask("GET", "a") == "x" * 300_000
    with connected(proxy) as connection:
        seen = proxy.requests.chunks, proxy.replies.chunks
        assert said(connection, "PING") == b"+PONG\r\n"
        assert (proxy.requests.chunks, proxy.replies.chunks) == (seen[0] + 1, seen[1] + 1)
        eventually(lambda: proxy.connections_open == 1)
    assert proxy.connections_made == 3
    assert proxy.requests.size > 300_000
    assert proxy.replies.size > 300_000
    eventually(lambda: proxy.connections_open == 0)


def test_it_delivers_what_a_client_said_before_it_left(proxy: Proxy, server: RedisServer) -> None:
    """A client that sends and hangs up at once is heard, as it is without a proxy."""
    for _ in range(50):
        with socket.create_connection(proxy.address, 5) as hasty:
            hasty.sendall(packed("INCR", "a"))
    eventually(lambda: server.ask("GET", "a") == "50")


def test_it_cuts(proxy: Proxy) -> None:
    """RST is an error at the client, FIN an end; a new connection is welcome after either."""
    with connected(proxy) as first, connected(proxy) as second:
        assert proxy.cut() == 2
        for connection in (first, second):
            with pytest.raises(ConnectionResetError):
                connection.recv(1)
    with connected(proxy) as connection:
        assert proxy.cut(politely=True) == 1
        assert connection.recv(1) == b""
    connected(proxy).close()


def test_it_refuses(proxy: Proxy) -> None:
    """New connections are refused until it is mended, on the same port; old ones work on."""
    with connected(proxy) as connection:
        proxy.refuse()
        with pytest.raises(ConnectionRefusedError):
            connected(proxy)
        assert said(connection, "PING") == b"+PONG\r\n"
        proxy.mend()
        connected(proxy).close()


def test_it_is_silent(proxy: Proxy, server: RedisServer) -> None:
    """It accepts, swallows and says nothing; mended, it cuts what has lost something."""
    with connected(proxy) as talking, connected(proxy) as quiet:
        proxy.silence()
        talking.settimeout(0.05)
        with pytest.raises(TimeoutError):
            said(talking, "SET", "a", "1")
        with (
            socket.create_connection(proxy.address, 0.05) as new,
            pytest.raises(TimeoutError),
        ):
            said(new, "SET", "a", "1")
        proxy.mend()
        assert server.ask("GET", "a") is None
        with pytest.raises(ConnectionResetError):
            talking.recv(1)
        assert said(quiet, "PING") == b"+PONG\r\n"


def test_it_holds_back_and_delivers_late(proxy: Proxy, server: RedisServer) -> None:
    """What is said meanwhile arrives when it is mended, on old and on new connections."""
    with connected(proxy) as old:
        proxy.hold()
        old.sendall(packed("SET", "a", "1"))
        with socket.create_connection(proxy.address, 5) as new:
            new.sendall(packed("SET", "b", "1"))
            assert server.ask("MGET", "a", "b") == [None, None]
            proxy.mend()
            assert (old.recv(100), new.recv(100)) == (b"+OK\r\n", b"+OK\r\n")


def test_it_is_late(proxy: Proxy) -> None:
    """Each direction takes the time that was ordered, and the order stays."""
    with connected(proxy) as connection:
        proxy.delay(0.05)
        began = time.monotonic()
        connection.sendall(packed("SET", "a", "1"))
        assert said(connection, "GET", "a").startswith(b"+OK\r\n")
        assert 0.1 <= time.monotonic() - began < 5
        assert said(connection, "GET", "a").endswith(b"1\r\n")


def test_it_loses_a_reply_after_the_request_was_done(proxy: Proxy, server: RedisServer) -> None:
    """The server has done what it was asked; the client sees nothing but the cut."""
    proxy.drop_reply(b"INCR")
    with connected(proxy) as connection:
        with pytest.raises(ConnectionResetError):
            said(connection, "INCR", "a")
        assert proxy.dropped_replies == 1
        assert server.ask("GET", "a") == "1"
    with connected(proxy) as connection:
        assert said(connection, "INCR", "a") == b":2\r\n"


def test_it_loses_replies_in_the_middle_of_others(proxy: Proxy, server: RedisServer) -> None:
    """All that was sent before the cut is done, also behind an answer that came earlier."""
    proxy.drop_reply(lambda chunk: b"INCR" in chunk and b"b" in chunk, times=2)
    for count in (1, 2):
        with connected(proxy) as connection:
            before = packed("DEBUG", "SLEEP", "0.02") + packed("INCR", "a")
            connection.sendall(before + packed("INCR", "b") + packed("INCR", "c"))
            with pytest.raises(ConnectionResetError):
                connection.recv(1)
        assert proxy.dropped_replies == count
        assert server.ask("MGET", "a", "b", "c") == [str(count)] * 3


def test_a_server_that_is_down_is_a_cut(proxy: Proxy, server: RedisServer) -> None:
    """The client is accepted and then cut; once the server is back on its port all is well."""
    with connected(proxy) as open_before:
        server.kill()
        assert open_before.recv(1) == b""
        with (
            pytest.raises(ConnectionResetError),
            socket.create_connection(proxy.address, 5) as new,
        ):
            new.recv(1)
        server.start()
        connected(proxy).close()


def test_a_client_that_goes_on_while_its_reply_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    """What a client says after the server was told the end is lost too, and is no error."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        Proxy(listener.getsockname()) as proxy,
        socket.create_connection(proxy.address, 5) as client,
    ):
        proxy.drop_reply(bool)
        client.sendall(packed("INCR", "a"))
        server, _ = listener.accept()
        with server:
            assert server.recv(1000)
            server.sendall(b"+OK\r\n")
            assert server.recv(1000) == b""  # the end
            seen = proxy.requests.chunks
            client.sendall(packed("INCR", "b"))
            eventually(lambda: proxy.requests.chunks > seen)
        with pytest.raises(ConnectionResetError):
            client.recv(1)
        assert proxy.dropped_replies == 1
    assert [record.getMessage() for record in caplog.records] == []
