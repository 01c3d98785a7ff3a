"""Where a hand-over spends its time, by stations: ``python -m benchmarks.postgres.stations``.

Two threads with a client each pass a lock to and fro, as in the workload ``hand-over``. The
functions on the way are wrapped from outside and note the time, which costs each about a
microsecond. The server's own station is the moment that it puts into the notice. Shown is how long
after the holder's last line each was reached. Below it stand the notices that the workload sets it
against, from the same minutes.
"""

import argparse
import logging
import threading
import time
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import holdfast
from benchmarks.postgres import bare
from benchmarks.postgres.hand_over import (
    BARE,
    CHANGED,
    HOLD,
    NOTIFY,
    OURS,
    UPDATE,
    both,
    passed_notices,
)
from benchmarks.rounds import percentile
from holdfast.backends.postgres.inbox import Inbox
from holdfast.backends.postgres.link import Link
from holdfast.flows import acquire
from holdfast.flows.begin import take
from holdfast.flows.book import Book, Handed
from tests.servers.postgres import PostgresServer

SENT, REPLY = "the holder's release is sent", "its answer is back"
SERVER = "the server decides"
WAKES, READ, SETTLED = "the waiter's thread wakes", "the notice is read", "the claim is settled"
BEGUN, INSIDE = "its lease has begun", "its first line"

Mark = tuple[float, int, str]
"""When a station was passed, by which thread, and which."""

_marks: list[Mark] = []


def _mark(station: str, at: float | None = None) -> None:
    _marks.append((at or time.perf_counter(), threading.get_ident(), station))


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
    _marked(Link, "send", after=SENT)
    _marked(Link, "result", after=REPLY)
    _marked(Inbox, "overhear", WAKES)
    _marked(Book, "deliver", READ, SETTLED)

    @wraps(take)
    async def taking(*args: Any) -> Any:
        outcome = args[3]
        state = await take(*args)
        _mark(BEGUN)
        if isinstance(outcome, Handed):
            _mark(SERVER, outcome.granted.granted_at - time.time() + time.perf_counter())
        return state

    vars(acquire)["take"] = taking


def passes(one: holdfast.Client, other: holdfast.Client, count: int) -> dict[str, list[float]]:
    """Let two take turns; give when each station was passed, hand-over by hand-over."""
    left: list[tuple[float, int]] = []
    found: dict[str, list[float]] = {}

    def play(client: holdfast.Client) -> None:
        me = threading.get_ident()
        for _ in range(count):
            with client.lock("baton"):
                entered_at = time.perf_counter()
                if left and left[-1][1] != me:
                    _sort_in(found, *left[-1], entered_at, me)
                _marks.clear()
                time.sleep(HOLD)
                left.append((time.perf_counter(), me))

    both(lambda: play(one), lambda: play(other))
    return found


def _sort_in(
    found: dict[str, list[float]], begun: float, holder: int, ended: float, heir: int
) -> None:
    at: dict[str, float] = {INSIDE: ended}
    for when, thread, station in sorted(_marks):
        if begun <= when <= ended:
            owner = holder if station in {SENT, REPLY} else heir
            if thread == owner and (station == WAKES or station not in at):
                at[station] = when
    for station, when in at.items():
        found.setdefault(station, []).append((when - begun) * 1e6)


def show(what: str, found: Iterable[tuple[str, list[float]]]) -> None:
    """Print the stations in the order in which they are passed."""
    print(f"{what}: µs after the last line")
    print(f"  {'':30} {'p10':>6} {'p50':>6} {'p90':>6}  passed")
    for station, spans in sorted(found, key=lambda one: percentile(one[1], 50)):
        shares = " ".join(f"{percentile(spans, percent):6.0f}" for percent in (10, 50, 90))
        print(f"  {station:30} {shares}  {len(spans)}")


def main() -> None:
    """Show the stations of a hand-over and of a bare notice, in turns."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.postgres.stations")
    parser.add_argument("--passes", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    count, rounds = (args := parser.parse_args()).passes, args.rounds
    logging.getLogger("holdfast").setLevel(logging.ERROR)  # that fsync is off is no news here
    _mark_all()
    totals: dict[str, dict[str, list[float]]] = {}
    with PostgresServer() as server:
        server.ask(bare.SET_UP)
        url = server.url(quarantine=0)
        with holdfast.Client(url) as one, holdfast.Client(url) as other:
            passes(one, other, 30)  # for warming up
            rivals: dict[str, Callable[[], dict[str, list[float]]]] = {
                OURS: lambda: passes(one, other, count),
                BARE: lambda: passed_notices(server.url(), count, NOTIFY),
                CHANGED: lambda: passed_notices(server.url(), count, UPDATE),
            }
            for _ in range(rounds):
                for rival, play in rivals.items():
                    for station, spans in play().items():
                        totals.setdefault(rival, {}).setdefault(station, []).extend(spans)
    for rival, found in totals.items():
        show(rival, found.items())


if __name__ == "__main__":
    main()
