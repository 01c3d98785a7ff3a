"""What can be done to one server of the Redis family by somebody who has power over it.

``pick`` chooses the server anew for each fault: the only one, the master of now, some node.
``alone`` says that nothing can be granted without it: then a silent server cuts everybody off for
certain, and the checker may rely on that.
"""

import random
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from holdfast.testing.verify.torments import LONG, SHORT, Scene, Torment
from holdfast.testing.watching import eventually
from holdfast.testing.workload.crew import Fault
from tests.faults.ground import PREFIX, quiet
from tests.servers.redis import RedisServer

PENDING = "0" * 16
"""What a birth mark begins with that only counts the age of its server."""

NEWS = 0.2
"""How old the snapshot is that a server is rolled back to, in seconds."""


class RedisFaults:
    """Faults of a server, one method each."""

    def __init__(self, pick: Callable[[random.Random], RedisServer], *, alone: bool) -> None:
        self._pick = pick
        self._alone = alone

    def mild(self) -> tuple[Torment, ...]:
        """List those after which the server is what it was."""
        return (self.thrown_out, self.scripts_forgotten, self.commands_paused, self.frozen)

    def harsh(self) -> tuple[Torment, ...]:
        """List those that the server survives only because it writes everything down."""
        return (self.crashed, self.emptied, self.rolled_back, self.flushed)

    def thrown_out(self, scene: Scene) -> None:
        """Cut off every client, as an operator would, a few times in a row."""
        server = self._pick(scene.dice)
        with scene.crew.fault("thrown out"):
            for _ in range(scene.dice.randint(1, 4)):
                for kind in ("normal", "pubsub"):
                    server.ask("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")
                scene.wait((0.0, 0.1))

    def scripts_forgotten(self, scene: Scene) -> None:
        """Forget every script."""
        with scene.crew.fault("scripts forgotten"):
            self._pick(scene.dice).ask("SCRIPT", "FLUSH")

    def commands_paused(self, scene: Scene) -> None:
        """Let the server take commands and do none of them for a while."""
        server = self._pick(scene.dice)
        seconds = scene.dice.uniform(*scene.dice.choice([SHORT, LONG])) * scene.crew.plan.ttl
        with scene.crew.fault("commands paused") as fault:
            over_at = time.monotonic() + seconds  # not before: the server starts to count later
            server.ask("CLIENT", "PAUSE", round(seconds * 1000), "ALL")
            self._isolated(fault)
            time.sleep(max(0.0, over_at - 0.01 - time.monotonic()))
            fault.rejoined()
            server.ask("PING", within=10)

    def frozen(self, scene: Scene) -> None:
        """Stop the server's process where it is."""
        server = self._pick(scene.dice)
        with scene.crew.fault("server frozen") as fault:
            server.pause()
            self._isolated(fault)
            scene.wait(scene.dice.choice([SHORT, LONG]))
            fault.rejoined()
            server.resume()

    def crashed(self, scene: Scene) -> None:
        """Kill the server -9; it comes back with all it knew."""
        server = self._pick(scene.dice)
        with scene.crew.fault("server crashed") as fault, self._down(server, fault):
            scene.wait(SHORT)

    def emptied(self, scene: Scene) -> None:
        """Kill the server -9; it comes back empty, and grants nothing before it is old enough."""
        server = self._pick(scene.dice)
        with scene.crew.fault("server came back empty", loses="records") as fault:
            with self._down(server, fault):
                shutil.rmtree(server.data / "appendonlydir")
            eventually(lambda: has_mark(server), 20, "the end of the quarantine")

    def rolled_back(self, scene: Scene) -> None:
        """Kill the server -9; it comes back with what it knew a little earlier."""
        server = self._pick(scene.dice)
        files, copy = server.data / "appendonlydir", server.data / "earlier"
        with scene.crew.fault("server rolled back", forgets="some") as fault:
            shutil.copytree(files, copy)
            time.sleep(NEWS)
            with self._down(server, fault):
                shutil.rmtree(files)
                copy.replace(files)
        quiet()

    def flushed(self, scene: Scene) -> None:
        """Delete everything; the server goes on."""
        server = self._pick(scene.dice)
        with scene.crew.fault("server flushed", forgets="all" if self._alone else "some"):
            server.ask("FLUSHALL")
        quiet()

    def _isolated(self, fault: Fault) -> None:
        if self._alone:
            fault.isolated()

    @contextmanager
    def _down(self, server: RedisServer, fault: Fault) -> Iterator[None]:
        """Kill it, and start it again after the block."""
        server.kill()
        self._isolated(fault)
        yield
        fault.rejoined()
        server.start()


def has_mark(server: RedisServer) -> bool:
    """Whether a server has the birth mark that ends its quarantine."""
    keys = [key for key in server.ask("KEYS", f"{PREFIX}:*birth*") if "inbox" not in key]
    marks = [server.ask("GET", key) or PENDING for key in keys]
    return any(not mark.startswith(PENDING) for mark in marks)
