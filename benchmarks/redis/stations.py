"""Where a hand-over spends its time, station by station: ``python -m benchmarks.redis.stations``.

The contests are those of the workload ``hand-over``. Here the functions that a hand-over passes
through are wrapped from outside and note the time, which costs each about a microsecond. The
server's own station is the moment that it puts into the notice: its script has begun. Shown is, for
each, how long after the holder's last line it was reached.
"""

import argparse
import json
import logging
import tempfile
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial, wraps
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.redis.contest import Half, Plan, Stay, two_processes
from benchmarks.redis.sides import SIDES, TASKS, THREADS
from benchmarks.rounds import percentile
from holdfast.backends.redis.line import Line
from holdfast.backends.redis.link import Link
from holdfast.flows import acquire
from holdfast.flows.begin import take
from holdfast.flows.book import Book, Handed
from tests.servers.redis import RedisServer

ASKS, REPLY = "the holder's release is sent", "its answer is back"
SERVER = "the server's script begins"
WAKES, READ, SETTLED = "the waiter's process wakes", "the notice is read", "the claim is settled"
AWAKE, BEGUN, INSIDE = "the caller goes on", "its lease has begun", "its first line"
THEIRS = (ASKS, REPLY)
OURS = (SERVER, WAKES, READ, SETTLED, AWAKE, BEGUN)

Mark = tuple[float, str]
"""When a station was passed, and which."""

_marks: list[Mark] = []


def _mark(station: str) -> None:
    _marks.append((time.monotonic(), station))


def _marked(owner: type, name: str, before: str = "", after: str = "") -> None:
    """Let a method make marks where it begins and where it ends."""
    method = getattr(owner, name)

    @wraps(method)
    def marking(*args: Any) -> Any:
        if before:
            _mark(before)
        result = method(*args)
        if after:
            _mark(after)
        return result

    setattr(owner, name, marking)


def _mark_all() -> None:
    """Wrap the stations of this process."""
    _marked(Link, "ask", ASKS, REPLY)
    _marked(Link, "read_pushes", WAKES)
    _marked(Line, "send_along", ASKS)
    _marked(Line, "buffer_updated", WAKES)
    _marked(Book, "deliver", READ, SETTLED)

    @wraps(take)
    async def taking(*args: Any) -> Any:
        _mark(AWAKE)
        outcome = args[3]
        state = await take(*args)
        _mark(BEGUN)
        if isinstance(outcome, Handed):
            _marks.append((outcome.granted.granted_at - time.time() + time.monotonic(), SERVER))
        return state

    vars(acquire)["take"] = taking


def _side(kind: str, folder: str, port: int, number: int, serve: Callable[[Half], None]) -> None:
    """Play one side, and leave its marks in the folder."""
    logging.getLogger("holdfast").setLevel(logging.ERROR)  # servers without a disk are no news here
    _mark_all()

    def serve_marked(half: Half) -> None:
        def play(plan: Plan, waiters: range) -> list[Stay]:
            _marks.clear()
            stays = half(plan, waiters)
            Path(folder, str(number)).write_text(json.dumps(sorted(_marks)), encoding="utf-8")
            return stays

        serve(play)

    SIDES[kind](port, number, serve_marked)


def passed(
    begun: float, ended: float, marks: Sequence[Mark], stations: Sequence[str]
) -> dict[str, float]:
    """Give when each of these stations was passed, counted from ``begun``."""
    found: dict[str, float] = {}
    for at, station in marks[bisect_left(marks, (begun, "")) :]:
        if at > ended:
            break
        if station == WAKES and READ not in found:
            found.pop(WAKES, None)  # only the last one before the notice was for it
        if station in stations:
            found.setdefault(station, at - begun)
    return found


def stations(kind: str, waiters: int, seconds: float) -> dict[str, list[float]]:
    """Let one contest happen; give when each station was passed, hand-over by hand-over."""
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder, RedisServer() as server:
        with two_processes(partial(_side, kind, folder), server.port) as play:
            play(waiters, seconds / 4)  # for warming up
            plan, stays = play(waiters, seconds)
        marks = [
            [tuple(mark) for mark in json.loads(Path(folder, str(number)).read_text("utf-8"))]
            for number in range(2)
        ]
    inside = [stay for stay in stays if stay.entered_at > plan.open_at]
    for before, after in pairwise(inside):
        if (before.waiter + after.waiter) % 2 == 0:
            continue  # not between the processes
        begun, ended = before.left_at, after.entered_at
        at = {
            **passed(begun, ended, marks[before.waiter % 2], THEIRS),
            **passed(begun, ended, marks[after.waiter % 2], OURS),
            INSIDE: ended - begun,
        }
        for station, when in at.items():
            found.setdefault(station, []).append(when)
    return found


def main() -> None:
    """Show the stations of each kind of waiters."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.redis.stations", description=__doc__
    )
    parser.add_argument("--waiters", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0)
    args = parser.parse_args()
    for kind in (THREADS, TASKS):
        found = stations(kind, args.waiters, args.seconds)
        print(f"{args.waiters} {kind}, {len(found[INSIDE])} hand-overs: µs after the last line")
        print(f"  {'':30} {'p10':>6} {'p50':>6} {'p90':>6}")
        for station in sorted(found, key=lambda one: percentile(found[one], 50)):
            spans = [
                f"{percentile(found[station], percent) * 1e6:6.0f}" for percent in (10, 50, 90)
            ]
            print(f"  {station:30} {' '.join(spans)}")


if __name__ == "__main__":
    main()
