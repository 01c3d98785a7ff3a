"""One PostgreSQL behind a proxy: killed, restarted, frozen, made read-only, its tables locked."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from holdfast.testing.proxy.proxy import Proxy
from holdfast.testing.verify.torments import LONG, ON_THE_NETWORK, SHORT, Scene, Torment
from holdfast.testing.workload.crew import Fault
from tests.faults.ground import QUARANTINE, OneServer, quiet
from tests.servers.postgres import PostgresServer

THROW_OUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"


class PostgresGround(OneServer):
    """One server: everything but its clock can be turned."""

    name = "postgres"

    def __init__(self) -> None:
        self._server = PostgresServer()
        super().__init__(self._server, Proxy(self._server.address))
        self.left_out.append("the clock of PostgreSQL is not set here")

    def url(self) -> str:
        """Give the URL of the proxy."""
        return self._server.url(port=self.proxy.port, quarantine=QUARANTINE)

    def torments(self) -> tuple[Torment, ...]:
        """List all that can happen to the server, and to its tables."""
        server = (self.thrown_out, self.frozen, self.crashed, self.restarted, self.read_only)
        tables = (self.locked, self.pinned, self.packed, self.dropped)
        return (*ON_THE_NETWORK, *server, *tables)

    def thrown_out(self, scene: Scene) -> None:
        """End every session, as an operator would, a few times in a row."""
        with scene.crew.fault("thrown out"):
            for _ in range(scene.dice.randint(1, 4)):
                self._server.ask(THROW_OUT)
                scene.wait((0.0, 0.1))

    def frozen(self, scene: Scene) -> None:
        """Stop every process of the server where it is."""
        with scene.crew.fault("server frozen") as fault:
            self._server.pause()
            self._cut_off(fault, scene)
            self._server.resume()

    def crashed(self, scene: Scene) -> None:
        """Kill the server -9; it comes back with all that was committed."""
        with scene.crew.fault("server crashed") as fault:
            self._server.kill()
            self._cut_off(fault, scene)
            self._server.start()

    def restarted(self, scene: Scene) -> None:
        """Stop the server in good order, and start it again."""
        with scene.crew.fault("server restarted"):
            self._server.restart()

    def read_only(self, scene: Scene) -> None:
        """Let it refuse to write for a while, as a standby does."""
        with scene.crew.fault("read-only"):
            self._server.ask("ALTER SYSTEM SET default_transaction_read_only = on")
            self._server.ask("SELECT pg_reload_conf()")
            scene.wait(scene.dice.choice([SHORT, LONG]))
            self._server.ask("ALTER SYSTEM RESET default_transaction_read_only")
            self._server.ask("SELECT pg_reload_conf()")

    def locked(self, scene: Scene) -> None:
        """Let somebody have the table for himself for a while."""
        with scene.crew.fault("table locked") as fault, self._transaction() as own:
            own.execute("LOCK TABLE holdfast.seats")
            self._cut_off(fault, scene)

    def pinned(self, scene: Scene) -> None:
        """Let a transaction rely on every lease there is: nothing is handed over before it ends."""
        with scene.crew.fault("leases pinned"), self._transaction() as own:
            own.execute("SELECT FROM holdfast.seats FOR KEY SHARE")
            scene.wait(scene.dice.choice([SHORT, LONG]))

    def packed(self, scene: Scene) -> None:
        """Let somebody write the tables anew."""
        with scene.crew.fault("tables packed"):
            self._server.ask("VACUUM FULL holdfast.seats")
            self._server.ask("VACUUM FULL holdfast.waiters")

    def dropped(self, scene: Scene) -> None:
        """Drop the schema under everybody's feet: it is forgotten, and made anew."""
        with scene.crew.fault("schema dropped", forgets="all"):
            self._server.ask("DROP SCHEMA holdfast CASCADE")
        quiet()

    def _cut_off(self, fault: Fault, scene: Scene) -> None:
        """Say that nobody can do anything, for as long as that is so for certain."""
        fault.isolated()
        scene.wait(scene.dice.choice([SHORT, LONG]))
        fault.rejoined()

    @contextmanager
    def _transaction(self) -> Iterator[psycopg.Connection[Any]]:
        """Give a transaction past the proxy."""
        with psycopg.connect(self._server.url()) as own:
            yield own
