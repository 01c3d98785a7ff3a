"""PostgreSQL's session locks behind a proxy.

What keeps a session is judged like everything else: nobody meets anybody. What ends it ends the
lock before its holder can know, which is not promised for; there everybody is told, and goes on.
"""

from typing import Self
from urllib.parse import urlsplit

from holdfast.testing.proxy.proxy import Proxy
from holdfast.testing.verify.torments import LONG, ON_SESSIONS, SHORT, Scene, Torment
from tests.faults.ground import Ground, quiet
from tests.servers.postgres import PostgresServer

THROW_OUT = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'
"""


class AdvisoryGround(Ground):
    """One server."""

    name = "advisory"

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
        parts = urlsplit(self._server.url(port=self.proxy.port))
        return parts._replace(scheme="postgresql+advisory").geturl()

    def torments(self) -> tuple[Torment, ...]:
        """List what can happen to sessions, and to the server that has them."""
        return (*ON_SESSIONS, self.frozen, self.thrown_out, self.crashed, self.restarted)

    def frozen(self, scene: Scene) -> None:
        """Stop every process of the server where it is."""
        with scene.crew.fault("server frozen") as fault:
            self._server.pause()
            fault.isolated()
            scene.wait(scene.dice.choice([SHORT, LONG]))
            fault.rejoined()
            self._server.resume()

    def thrown_out(self, scene: Scene) -> None:
        """End every session, as an operator would."""
        with scene.crew.fault("thrown out", forgets="all"):
            self._server.ask(THROW_OUT)
        quiet()

    def crashed(self, scene: Scene) -> None:
        """Kill the server -9, and start it again."""
        with scene.crew.fault("server crashed", forgets="all"):
            self._server.restart(killed=True)
        quiet()

    def restarted(self, scene: Scene) -> None:
        """Stop the server in good order, and start it again."""
        with scene.crew.fault("server restarted", forgets="all"):
            self._server.restart()
        quiet()
