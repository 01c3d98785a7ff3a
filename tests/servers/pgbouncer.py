"""A real PgBouncer in front of a PostgreSQL of the tests: a session there lasts one transaction.

It comes from Debian (`apt-get install pgbouncer`); tests that need it are skipped where it is not
installed. It refuses to run as root, as PostgreSQL does.
"""

import os
import shutil
import signal
from pathlib import Path
from typing import Self

import psycopg

from holdfast.testing.watching import eventually
from tests.servers.binaries import Binary
from tests.servers.ports import HOST, Port
from tests.servers.postgres import DATABASE, NOBODY, USER
from tests.servers.processes import ServerProcess
from tests.servers.scope import Scoped

_PLACES = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
PROGRAM = shutil.which("pgbouncer", path=_PLACES)

CONFIGURATION = """
[databases]
* = host={host} port={server}
[pgbouncer]
listen_addr = {host}
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = {size}
max_client_conn = 500
"""


class PgBouncer(Scoped):
    """A pooler; with ``mode="session"`` a session lasts as long as its connection."""

    def __init__(self, server: int, *, mode: str = "transaction", size: int = 3) -> None:
        assert PROGRAM is not None
        self._process = ServerProcess(
            Binary(name="pgbouncer", path=Path(PROGRAM), called="pgbouncer")
        )
        self._kept = Port()
        self.port = self._kept.number
        self._user = NOBODY if os.geteuid() == 0 else None
        self._file = self._process.folder / "pgbouncer.ini"
        text = CONFIGURATION.format(
            host=HOST, server=server, port=self.port, mode=mode, size=size
        ).replace("* =", f"{DATABASE} = user={USER}")
        self._file.write_text(text, "utf-8")
        self._process.folder.chmod(0o755)

    def url(self, **options: str | int) -> str:
        """Give the URL of the database behind it."""
        query = "&".join(f"{name}={value}" for name, value in options.items())
        return f"postgresql://{USER}@{HOST}:{self.port}/{DATABASE}?{query}"

    def start(self) -> Self:
        """Start it, and wait until it lets somebody in."""
        self._process.launch([str(self._file)], self._user)
        eventually(self._answers, 10.0, "PgBouncer to answer")
        return self

    def close(self) -> None:
        """End it and leave nothing behind."""
        if self._process.running:
            self._process.send(signal.SIGTERM)
            self._process.ended(within=2)
        self._process.close()
        self._kept.release()

    def _answers(self) -> bool:
        self._process.check()
        try:
            with psycopg.connect(self.url(), connect_timeout=2, prepare_threshold=None) as one:
                one.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True
