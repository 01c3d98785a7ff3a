"""Five independent servers that write nothing down: each forgets everything whenever it dies.

At any time a minority may be hurt, and then everything is promised. So a server that came back
empty is waited for until it votes again before the next is hurt.
"""

import time
from typing import Self

from holdfast.testing.verify.torments import LONG, SHORT, Scene, Torment
from holdfast.testing.watching import eventually
from tests.faults.ground import PREFIX, QUARANTINE, Ground
from tests.servers.redis import RedisServer, query, start_all

TERMS = {"quarantine": QUARANTINE, "node_limit": "200ms"}


class RedlockGround(Ground):
    """A quorum: one or two of five are killed, stopped, emptied."""

    name = "redlock"
    queue = False

    def __init__(self) -> None:
        super().__init__()
        self._servers = [RedisServer() for _ in range(5)]

    def start(self) -> Self:
        """Start all five, and wait until they are old enough to be trusted."""
        start_all(self._servers)
        time.sleep(float(QUARANTINE.rstrip("s")) + 1)
        return self

    def close(self) -> None:
        """End all five; nothing may be left there that does not end by itself."""
        leaked = [key for server in self._servers if server.running for key in _endless(server)]
        for server in self._servers:
            server.close()
        assert leaked == []

    def url(self) -> str:
        """Give the URL of the quorum."""
        hosts = ",".join(f"{server.address[0]}:{server.port}" for server in self._servers)
        return f"redlock://{hosts}{query({**TERMS})}"

    def torments(self) -> tuple[Torment, ...]:
        """List what can happen to a minority."""
        return (self.one_killed, self.two_killed, self.frozen, self.thrown_out, self.emptied)

    def one_killed(self, scene: Scene) -> None:
        """Kill one server -9; it comes back empty, and does not vote before it may."""
        with scene.crew.fault("one server killed"):
            self._kill(scene, 1)

    def two_killed(self, scene: Scene) -> None:
        """Kill two servers -9 at once: as many as may be missing."""
        with scene.crew.fault("two servers killed"):
            self._kill(scene, 2)

    def frozen(self, scene: Scene) -> None:
        """Stop two servers where they are, for longer than a lease lives or for less."""
        with scene.crew.fault("two servers frozen"):
            stopped = scene.dice.sample(self._servers, 2)
            for server in stopped:
                server.pause()
            scene.wait(scene.dice.choice([SHORT, LONG]))
            for server in stopped:
                server.resume()

    def thrown_out(self, scene: Scene) -> None:
        """Cut off every client of one server, and make it forget its scripts."""
        with scene.crew.fault("thrown out"):
            server = scene.dice.choice(self._servers)
            server.ask("SCRIPT", "FLUSH")
            for kind in ("normal", "pubsub"):
                server.ask("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")

    def emptied(self, scene: Scene) -> None:
        """Delete everything that one server knows; it goes on."""
        with scene.crew.fault("one server flushed"):
            server = scene.dice.choice(self._servers)
            server.ask("FLUSHALL")
            eventually(lambda: votes(server), 30, "the end of its quarantine")

    def _kill(self, scene: Scene, count: int) -> None:
        killed = scene.dice.sample(self._servers, count)
        for server in killed:
            server.kill()
        scene.wait(SHORT)
        start_all(killed)
        eventually(lambda: all(map(votes, killed)), 30, "the end of their quarantine")


def _endless(server: RedisServer) -> list[str]:
    return [key for key in server.ask("KEYS", "*") if server.ask("PTTL", key) == -1]


def votes(server: RedisServer) -> bool:
    """Whether a server has been let in to vote."""
    run = server.info("server")["run_id"]
    return bool(server.ask("HGET", f"{PREFIX}:quorum:birth", "run") == run)
