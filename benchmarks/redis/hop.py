"""The least that a hand-over could take: a script that publishes, and a subscriber that hears it.

Two processes pass the word to and fro on blocking sockets, each holding it as long as the contests
hold their lock. It knows no queue, no token and no lease.
"""

import time
from collections.abc import Callable
from contextlib import closing

from benchmarks.redis.bare_sync import Wire, packed
from benchmarks.redis.contest import HOLD, Half, Plan, Stay

PUBLISH = "return redis.call('publish', KEYS[1], ARGV[1])"


def hop(port: int, number: int, serve: Callable[[Half], None]) -> None:
    """Play one of the two sides; the number of waiters does not matter."""
    with closing(Wire(port)) as asking, closing(Wire(port)) as listening:
        script = asking.run("SCRIPT", "LOAD", PUBLISH)
        go_on, stop = (
            packed("EVALSHA", script, 1, f"hop:{1 - number}", word) for word in ("go on", "stop")
        )
        listening.run("SUBSCRIBE", f"hop:{number}")

        def play(plan: Plan, _: range) -> list[Stay]:
            stays: list[Stay] = []
            if number == 0:
                time.sleep(max(0.0, plan.open_at - time.monotonic()))
                asking.ask(go_on)
            while True:
                _, _, word = listening.read()
                entered_at = time.monotonic()
                if entered_at >= plan.until or word == b"stop":
                    if word != b"stop":
                        asking.ask(stop)
                    return stays
                time.sleep(HOLD)
                left_at = time.monotonic()
                asking.ask(go_on)
                stays.append(Stay(entered_at, left_at, number))

        serve(play)
