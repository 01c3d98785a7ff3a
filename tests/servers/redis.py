"""A real Redis, Valkey or Sentinel process for one test, or for many.

It keeps its port over restarts, forgets everything when it stops unless it is ``durable``, and is
ready when it answers, not after a pause. `url()` is what a test gives to holdfast; `ask()` is the
test's own way in, over the Unix socket, so it works past any proxy in front of the port.
"""

import shutil
import signal
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, urlencode

import hiredis

from holdfast.testing.watching import eventually
from tests.servers.asking import Door, Word
from tests.servers.binaries import Binary, chosen
from tests.servers.configuration import Setting, basics, written
from tests.servers.ports import HOST, Port
from tests.servers.processes import ServerProcess
from tests.servers.scope import Scoped

Option = str | int | float


class RedisServer(Scoped):
    """A server that is started by ``with`` or ``start()``, and is gone after ``close()``.

    Further settings of its configuration are keywords, ``maxmemory_policy="allkeys-lru"``; a list
    of values is a setting given several times, ``user=["anna on >secret ~* &* +@all"]``.
    """

    def __init__(
        self,
        *,
        durable: bool = False,
        cluster: bool = False,
        password: str = "",
        binary: Binary | None = None,
        environment: Mapping[str, str] | None = None,
        **settings: Setting,
    ) -> None:
        self._process = ServerProcess(binary or chosen(), environment)
        self._kept = Port()
        self.port = self._kept.number
        self.address = (HOST, self.port)
        self.password = password
        self.socket_path = self._process.folder / "socket"
        self.data = self._process.folder / "data"
        self.data.mkdir()
        self._config = self._process.folder / "server.conf"
        self._mode = ["--sentinel"] if "sentinel" in settings else []
        mine: dict[str, Setting] = {
            "port": self.port,
            "unixsocket": str(self.socket_path),
            "dir": str(self.data),
        }
        shape = basics(durable=durable, cluster=cluster, password=password)
        self._config.write_text(written(mine | shape | settings), "utf-8")
        self._door = Door(address=str(self.socket_path), password=password)

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process is there, be it paused."""
        return self._process.running

    @property
    def binary(self) -> Binary:
        """The program it runs."""
        return self._process.binary

    @property
    def log(self) -> Path:
        """What it wrote since it was first started."""
        return self._process.log

    def url(
        self, *, user: str = "", password: str | None = None, port: int = 0, **options: Option
    ) -> str:
        """Give its URL; ``port`` may be that of a proxy, options become the query."""
        secret = self.password if password is None else password
        login = f"{quote(user, '')}:{quote(secret, '')}@" if secret else ""
        return f"redis://{login}{HOST}:{port or self.port}/0{query(options)}"

    def unix_url(self, **options: Option) -> str:
        """Give the URL of its Unix socket."""
        login = f":{quote(self.password, '')}@" if self.password else ""
        return f"redis+unix://{login}{self.socket_path}{query(options)}"

    def ask(self, *words: Word, within: float = 5.0) -> Any:
        """Send one command and give the reply as text, numbers and lists; raise what went wrong."""
        return self._door.ask(*words, within=within)

    def info(self, section: str = "default") -> dict[str, str]:
        """Give what ``INFO`` says."""
        lines = self.ask("INFO", section).splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def start(self) -> Self:
        """Start it unless it runs, and wait until it answers."""
        if not self.running:
            self.launch()
        return self.wait_until_ready()

    def launch(self) -> None:
        """Start it without waiting, so that several can start at the same time."""
        self._process.launch([str(self._config), *self._mode])

    def wait_until_ready(self, within: float = 10.0) -> Self:
        """Wait until it answers and has its data in memory."""
        eventually(self._answers, within, f"{self.binary.called} on port {self.port} to answer")
        return self

    def stop(self) -> None:
        """End it in good order: with data written out if it is durable, without waiting for it."""
        if self.running:
            self._process.send(signal.SIGTERM)
            if not self._process.ended(within=5):
                self.kill()

    def kill(self) -> None:
        """Kill it with SIGKILL, paused or not."""
        self._process.kill()

    def pause(self) -> None:
        """Stop the process where it is: connections stay open and nothing answers."""
        self._process.pause()

    def resume(self) -> None:
        """Let a paused process go on."""
        self._process.resume()

    def restart(self, *, wiped: bool = False, killed: bool = False) -> Self:
        """Start it anew on its port, after stopping or killing it if it runs.

        It finds again what it wrote to disk, which is nothing unless it is ``durable`` or was told
        to ``SAVE``; ``wiped`` takes that away too. Its place in a cluster stays.
        """
        if killed:
            self.kill()
        self.stop()
        if wiped:
            shutil.rmtree(self.data / "appendonlydir", ignore_errors=True)
            (self.data / "dump.rdb").unlink(missing_ok=True)
        return self.start()

    def close(self) -> None:
        """Kill it and leave nothing behind."""
        self._process.close()
        self._kept.release()

    def _answers(self) -> bool:
        self._process.check()
        try:
            self.ask("PING", within=1)
        except OSError:
            return False
        except hiredis.ReplyError as error:
            return not str(error).startswith("LOADING")  # to be refused is an answer
        return True


def query(options: dict[str, Option]) -> str:
    """Write options as the query of a URL."""
    return f"?{urlencode(options)}" if options else ""


def start_all(servers: Iterable[RedisServer]) -> None:
    """Start several at the same time."""
    started = list(servers)
    for server in started:
        server.launch()
    for server in started:
        server.wait_until_ready()
