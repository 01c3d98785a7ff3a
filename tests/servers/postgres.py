"""A real PostgreSQL for one test, or for many: a cluster of its own in a folder of its own.

It keeps its port over restarts and its data too, until it is closed. It is quick and not durable:
``fsync`` is off, which a crash of the *server* does not notice and only one of the host would.
PostgreSQL refuses to run as root; there it runs as the user ``nobody``.
"""

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

import psycopg

from holdfast.testing.watching import eventually
from tests.servers.ports import HOST, Port
from tests.servers.postgres_binaries import chosen_postgres
from tests.servers.processes import ServerProcess
from tests.servers.scope import Scoped

USER = "holdfast"
DATABASE = "postgres"
NOBODY = 65534

QUICK = {
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "200",
    "dynamic_shared_memory_type": "mmap",  # in its folder: nothing is left in /dev/shm
    "listen_addresses": HOST,
}

Option = str | int | float


class PostgresServer(Scoped):
    """A server that is started by ``with`` or ``start()``, and is gone after ``close()``.

    Further settings are keywords: ``max_connections="20"``.
    """

    def __init__(self, **settings: str) -> None:
        self._process = ServerProcess(chosen_postgres())
        self._kept = Port()
        self.port = self._kept.number
        self.address = (HOST, self.port)
        self._user = NOBODY if os.geteuid() == 0 else None
        self._data = self._process.folder / "data"
        if self._user is not None:
            os.chown(self._process.folder, self._user, self._user)
        self._settings = QUICK | {"port": str(self.port)} | settings

    @property
    def folder(self) -> Path:
        """Where it lives; its Unix socket is there as well."""
        return self._process.folder

    @property
    def pid(self) -> int:
        """The process that all others of it come from."""
        return self._process.pid

    def url(self, *, port: int = 0, user: str = USER, **options: Option) -> str:
        """Give its URL; ``port`` may be that of a proxy, options become the query."""
        query = f"?{urlencode(options)}" if options else ""
        return f"postgresql://{user}@{HOST}:{port or self.port}/{DATABASE}{query}"

    def ask(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Carry out one statement, past any proxy, and give its rows."""
        where = {"host": str(self.folder), "port": self.port, "connect_timeout": 5}
        with psycopg.connect(user=USER, dbname=DATABASE, autocommit=True, **where) as connection:  # type: ignore[arg-type]
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def start(self) -> Self:
        """Start it unless it runs, and wait until it answers."""
        if not self._data.exists():
            self._make_cluster()
        if not self._process.running:
            self._launch()
        eventually(self._answers, 15.0, f"PostgreSQL on port {self.port} to answer")
        return self

    def stop(self) -> None:
        """End it in good order, without waiting for its clients to leave."""
        if self._process.running:
            self.resume()
            self._process.send(signal.SIGINT)
            if not self._process.ended(within=10):
                self.kill()

    def kill(self) -> None:
        """Kill it with SIGKILL; what it started ends by itself, and is waited for."""
        if self._process.running:
            self._process.pause()  # first: it would start others for those that are killed
        children = self._children() if self._process.running else []
        for child in children:
            _send(child, signal.SIGKILL)
        self._process.kill()
        gone = [Path(f"/proc/{child}") for child in children]
        eventually(lambda: not any(map(Path.exists, gone)), 5.0, "the end of its processes")

    def restart(self, *, killed: bool = False) -> Self:
        """Start it anew on its port, after stopping or killing it."""
        if killed:
            self.kill()
        self.stop()
        return self.start()

    def pause(self) -> None:
        """Stop all of it where it is: connections stay open and nothing answers."""
        self._process.pause()
        children = self._children()
        for child in children:
            _send(child, signal.SIGSTOP)
        eventually(lambda: all(map(_has_stopped, children)), 5.0, "all of it to stop")

    def resume(self) -> None:
        """Let it go on."""
        for child in self._children():
            _send(child, signal.SIGCONT)
        self._process.resume()

    def close(self) -> None:
        """End it and leave nothing behind."""
        try:
            self.stop()  # in good order, so that no shared memory is left
        finally:
            self._process.close()
            self._kept.release()

    def _make_cluster(self) -> None:
        initdb = self._process.binary.path.with_name("initdb")
        how = ["--auth=trust", f"--username={USER}", "--no-sync", "--encoding=UTF8", "--locale=C"]
        made = subprocess.run(
            [initdb, "-D", self._data, *how],
            cwd=self.folder,
            user=self._user,
            group=self._user,
            check=False,
            capture_output=True,
            text=True,
        )
        if made.returncode:
            shutil.rmtree(self._data, ignore_errors=True)
            raise RuntimeError(f"initdb failed:\n{made.stdout}\n{made.stderr}")

    def _launch(self) -> None:
        settings = [f"--{name}={value}" for name, value in self._settings.items()]
        arguments = ["-D", str(self._data), "-k", str(self.folder), *settings]
        self._process.launch(arguments, self._user)

    def _answers(self) -> bool:
        self._process.check()
        try:
            self.ask("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def _children(self) -> list[int]:
        """Name the processes that it started: they leave its process group."""
        try:
            found = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text("ascii")
        except OSError:
            return []
        return [int(child) for child in found.split()]


def _send(process: int, number: signal.Signals) -> None:
    try:
        os.kill(process, number)
    except ProcessLookupError:
        return


def _has_stopped(process: int) -> bool:
    try:
        stat = Path(f"/proc/{process}/stat").read_text("ascii", "replace")
    except OSError:
        return True  # it has ended
    return stat.rpartition(")")[2].split()[0] in {"T", "Z"}
