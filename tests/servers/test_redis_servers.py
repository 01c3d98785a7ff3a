"""The servers of the tests do what they say: start, stop, forget, remember, stay behind never."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import hiredis
import pytest

from holdfast.testing.watching import eventually
from tests.servers import binaries
from tests.servers.asking import Door
from tests.servers.redis import RedisServer
from tests.servers.shared import GIVEN, SharedServer, shared_server

ROOT = Path(__file__).parent.parent.parent


def refuses(address: tuple[str, int]) -> bool:
    """Say whether nobody listens there."""
    try:
        socket.create_connection(address, 1).close()
    except ConnectionError as error:
        return isinstance(error, ConnectionRefusedError)  # a reset is a listener about to go
    return False


def test_a_server_answers_on_its_port_and_on_its_socket() -> None:
    """It is ready when `start` returns, for clients over TCP as well as for the test itself."""
    with RedisServer() as server:
        assert server.ask("SET", "a", 1) == "OK"
        assert Door.of(server.url()).ask("GET", "a") == "1"
        assert len(os.fsencode(server.socket_path)) < 100
        assert int(server.info("server")["tcp_port"]) == server.port
        with pytest.raises(hiredis.ReplyError, match="unknown command"):
            server.ask("NONSENSE")
    assert not server.running
    assert not server.socket_path.parent.exists()
    assert refuses(server.address)


@pytest.mark.parametrize("name", [binary.name for binary in binaries.installed()])
def test_every_server_that_is_there_can_be_used(name: str) -> None:
    """Each binary of this machine starts and says what it is."""
    version = {"valkey": "valkey_version:9", "redis8": "redis_version:8", "debian": "_version:"}
    with RedisServer(binary=binaries.find(name)) as server:
        assert version[name] in server.ask("INFO", "server")


def test_a_server_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests never run on another server than the one that was asked for."""
    monkeypatch.setenv(binaries.CHOICE, "nonsense")
    with pytest.raises(binaries.ServerMissing, match="valkey, redis8, debian"):
        RedisServer()
    monkeypatch.setattr(binaries, "DEBIAN", ())
    with pytest.raises(binaries.ServerMissing, match="apt-get install"):
        binaries.find("debian")


def test_the_kind_of_restart_decides_what_is_left() -> None:
    """A durable server remembers over a crash, unless wiped; the port stays the same."""
    with RedisServer(durable=True) as server:
        server.ask("SET", "a", 1)
        first = server.pid
        server.restart(killed=True)
        assert server.ask("GET", "a") == "1"
        assert server.pid != first
        assert Door.of(server.url()).ask("PING") == "PONG"
        server.restart(wiped=True)
        assert server.ask("GET", "a") is None


def test_a_plain_server_forgets() -> None:
    """Without persistence nothing is left, except what it was told to save."""
    with RedisServer() as server:
        server.ask("SET", "a", 1)
        server.ask("SAVE")
        server.ask("SET", "b", 1)
        server.stop()
        assert refuses(server.address)
        server.start()
        assert server.ask("MGET", "a", "b") == ["1", None]
        server.restart(wiped=True)
        assert server.ask("DBSIZE") == 0


def test_a_paused_server_is_silent_and_goes_on() -> None:
    """While it is paused connections open and nothing answers; it can be killed, too."""
    with RedisServer() as server:
        server.pause()
        with pytest.raises(TimeoutError):
            server.ask("PING", within=0.05)
        assert not refuses(server.address)
        server.resume()
        assert server.ask("PING") == "PONG"
        server.pause()
        server.kill()
        assert refuses(server.address)


def test_passwords_users_and_settings_are_taken() -> None:
    """What is given as keywords is in force, and a password gets into the URL."""
    anna = "anna on >hush ~* &* +@all"
    with RedisServer(password="p@ss/word", maxmemory="5mb", user=[anna]) as server:
        assert server.ask("CONFIG", "GET", "maxmemory") == ["maxmemory", str(5 * 1024 * 1024)]
        assert Door.of(server.url(quarantine=0)).ask("ACL", "WHOAMI") == "default"
        assert Door.of(server.url(user="anna", password="hush")).ask("ACL", "WHOAMI") == "anna"
        assert server.url(quarantine=0).endswith("/0?quarantine=0")
        with pytest.raises(hiredis.ReplyError, match="NOAUTH"):
            Door.of(server.url(password="")).ask("PING")


def test_a_server_that_cannot_start_says_why() -> None:
    """Its log is in the error."""
    with pytest.raises(RuntimeError, match="maxmemory"), RedisServer(maxmemory="nonsense"):
        pass


def test_the_shared_server_is_one(
    redis_server: SharedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All tests of a process get the same one, or the one that the environment names."""
    assert redis_server.ask("PING") == "PONG"
    if GIVEN not in os.environ:
        assert shared_server() is redis_server
    with RedisServer(password="hush") as other:
        monkeypatch.setenv(GIVEN, other.url(db=3))
        given = shared_server()
        assert given.ask("CONFIG", "GET", "port") == ["port", str(other.port)]
        assert given.url(quarantine=0).endswith("?db=3&quarantine=0")


def test_a_server_outlives_the_thread_that_started_it() -> None:
    """A server ends with its process, not with some thread of it."""
    with RedisServer() as server:
        server.kill()
        starting = threading.Thread(target=server.start)
        starting.start()
        starting.join()
        first = server.pid
        assert [server.ask("PING") for _ in range(10)] == ["PONG"] * 10
        assert server.pid == first


PARENT = """
import sys
from tests.servers.redis import RedisServer
server = RedisServer().start()
print(server.port, server.socket_path.parent, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("ends", ["killed", "in good order"])
def test_nothing_is_left_behind(ends: str) -> None:
    """Whether its parent is killed with -9 or ends by itself, the server ends too."""
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        port, folder = parent.stdout.readline().split()
        address = ("127.0.0.1", int(port))
        assert not refuses(address)
        if ends == "killed":
            parent.send_signal(signal.SIGKILL)
        else:
            parent.communicate()
            assert not Path(folder).exists()
        eventually(lambda: refuses(address), 5, "the end of the server")
        shutil.rmtree(folder, ignore_errors=True)  # of all things, this a killed parent does leave
