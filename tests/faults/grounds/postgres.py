"""One PostgreSQL behind a proxy: killed, restarted, frozen, emptied of sessions, locked."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

import psycopg

from holdfast.testing.proxy.proxy import Proxy
from holdfast.testing.verify.torments import LONG, ON_THE_NETWORK, SHORT, Scene, Torment
from holdfast.testing.workload.crew import Fault
from tests.faults.ground import QUARANTINE, Ground
from tests.servers.postgres import PostgresServer

OURS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"


class PostgresGround(Ground):
    """One server: it remembers everything, whatever becomes of it."""

    name = "postgres"

    def __init__(self) -> None:
        super().__init__()
        self._server = PostgresServer()
        self.proxy: Proxy = Proxy(self._server.address)

    def start(self) -> Self:
        """Start the server, and what stands before it."""
        self._server.start()
        self.proxy.start()
        return self

    def close(self) -> None:
        """End both."""
        self.proxy.close()
        self._server.close()

    def url(self) -> str:
        """Give the URL of the proxy."""
        return self._server.url(port=self.proxy.port, quarantine=QUARANTINE)

    def torments(self) -> tuple[Torment, ...]:
        """List all that can happen to it."""
        mine = (self.thrown_out, self.frozen, self.crashed, self.restarted, self.table_locked)
        return (*ON_THE_NETWORK, *mine)

    def undisturbed(self) -> tuple[Torment, ...]:
        """List what would wait for ever for a worker that was paused inside a transaction."""
        return (self.table_locked,)

    def thrown_out(self, scene: Scene) -> None:
        """End every session, as an operator would, a few times in a row."""
        with scene.crew.fault("thrown out"):
            for _ in range(scene.dice.randint(1, 4)):
                self._server.ask(OURS)
                scene.wait((0.0, 0.1))

    def frozen(self, scene: Scene) -> None:
        """Stop all of its processes where they are."""
        with scene.crew.fault("server frozen") as fault:
            self._server.pause()
            fault.isolated()
            scene.wait(scene.dice.choice([SHORT, LONG]))
            fault.rejoined()
            self._server.resume()

    def crashed(self, scene: Scene) -> None:
        """Kill it -9; it comes back with all that was committed."""
        with scene.crew.fault("server crashed") as fault, self._down(fault):
            self._server.kill()
            fault.isolated()
            scene.wait(SHORT)

    def restarted(self, scene: Scene) -> None:
        """Stop it in good order, and start it again."""
        with scene.crew.fault("server restarted") as fault, self._down(fault):
            self._server.stop()
            fault.isolated()
            scene.wait(SHORT)

    def table_locked(self, scene: Scene) -> None:
        """Let somebody keep all tables of ours to themselves for a while."""
        with scene.crew.fault("tables locked") as fault, self._session() as session:
            tables = session.execute(
                "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables"
                " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
            ).fetchall()
            with session.transaction():
                for (table,) in tables:
                    session.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
                fault.isolated()
                scene.wait(scene.dice.choice([SHORT, LONG]))
                fault.rejoined()

    @contextmanager
    def _down(self, fault: Fault) -> Iterator[None]:
        """Start it again after the block."""
        yield
        fault.rejoined()
        self._server.start()

    @contextmanager
    def _session(self) -> Iterator[psycopg.Connection[tuple[str]]]:
        """Open a session past the proxy."""
        with psycopg.connect(self._server.url(), autocommit=True) as session:
            yield session
