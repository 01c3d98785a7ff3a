"""From one to the next: the gap between a release and the other's body, against a bare NOTIFY.

Two threads, each with a client of its own, pass a lock to and fro; two others pass a bare notice.
Both pairs are in one process, so both pay for the interpreter. A transaction that only notifies has
nothing to flush at its commit, one that gives a lock back has. So there is a third pair, whose
notice goes with the update of one row: the least that a lock in a table could do.
"""

import select
import threading
import time
from collections.abc import Callable
from statistics import median

from psycopg import pq
from psycopg.pq.abc import PGconn

import holdfast
from benchmarks.figures import Aim, Figure, Value
from benchmarks.postgres import bare
from benchmarks.postgres.scale import Scale
from benchmarks.rounds import interleaved, median_ratio
from tests.servers.postgres import PostgresServer

HOLD = 0.001

OURS, BARE, CHANGED = "holdfast", "bare NOTIFY", "UPDATE + NOTIFY"

NOTIFY = "NOTIFY hop_{}"
UPDATE = "UPDATE bare SET owner = 'me' WHERE name = 'name:0' RETURNING pg_notify('hop_{}', '')"


def measure(scale: Scale) -> list[Figure]:
    """Measure all of them in turn."""
    with PostgresServer() as server:
        server.ask(bare.SET_UP)
        url = server.url(quarantine=0)
        with holdfast.Client(url) as one, holdfast.Client(url) as other:
            rivals: dict[str, Callable[[], float]] = {
                OURS: lambda: _passed(one, other, scale.passes),
                BARE: lambda: _notified(server.url(), scale.passes, NOTIFY),
                CHANGED: lambda: _notified(server.url(), scale.passes, UPDATE),
            }
            gaps = interleaved(rivals, scale.rounds)
    return [
        Figure(
            what="hand-over, gap p50",
            ours=Value(median(gaps[OURS]), "s"),
            against=theirs,
            theirs=Value(median(gaps[theirs]), "s"),
            result=Value(median_ratio(gaps[OURS], gaps[theirs]), "times"),
            aim=aim,
        )
        for theirs, aim in ((BARE, Aim("at most", Value(2.5, "times"))), (CHANGED, None))
    ]


def _passed(one: holdfast.Client, other: holdfast.Client, passes: int) -> float:
    """Let two take turns; give the median of the gaps between them."""
    left: list[tuple[int, float]] = []
    gaps: list[float] = []

    def play(number: int, client: holdfast.Client) -> None:
        for _ in range(passes):
            with client.lock("baton"):
                entered_at = time.perf_counter()
                if left and left[-1][0] != number:
                    gaps.append(entered_at - left[-1][1])
                time.sleep(HOLD)
                left.append((number, time.perf_counter()))

    both(lambda: play(0, one), lambda: play(1, other))
    return median(gaps)


def _notified(url: str, passes: int, statement: str) -> float:
    """Send a notice to and fro; give the median of the time that one takes."""
    return median(passed_notices(url, passes, statement)["it is heard"]) / 1e6


def passed_notices(url: str, passes: int, statement: str) -> dict[str, list[float]]:
    """Send a notice to and fro; give how many µs each took to be answered, and to be heard."""
    sent: list[float] = []
    spans: dict[str, list[float]] = {"it is answered": [], "it is heard": []}

    def play(number: int) -> None:
        # Not psycopg's own connection: it would take in a notice that comes before its reply.
        connection = pq.PGconn.connect(url.encode())
        connection.exec_(b"LISTEN hop_%d" % number)
        ready.wait()
        for turn in range(passes):
            if number == 1 or turn:
                _wait_for_notice(connection)
                spans["it is heard"].append((time.perf_counter() - sent[-1]) * 1e6)
            time.sleep(HOLD)
            sent.append(begun := time.perf_counter())
            connection.exec_(statement.format(1 - number).encode())
            spans["it is answered"].append((time.perf_counter() - begun) * 1e6)
        connection.finish()

    ready = threading.Barrier(2)
    both(lambda: play(0), lambda: play(1))
    return spans


def _wait_for_notice(connection: PGconn) -> None:
    while connection.notifies() is None:
        select.select([connection.socket], [], [], 10)
        connection.consume_input()


def both(one: Callable[[], None], other: Callable[[], None]) -> None:
    """Do both at the same time."""
    threads = [threading.Thread(target=one), threading.Thread(target=other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
