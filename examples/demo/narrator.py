"""What a person reads: plain lines with the seconds since the start; colours on a terminal only."""

import os
import sys
import time
from collections.abc import Sequence

import holdfast
from examples.demo import report
from examples.demo.report import Report

BOLD, DIM, RED, GREEN, YELLOW, PLAIN = "1", "2", "31", "32", "33", "0"

COLOURS = {
    report.WAITS: DIM,
    report.HOLDS: GREEN,
    report.LOST: RED,
    report.LOGGED: YELLOW,
}


class Narrator:
    """Tells one run of the demo."""

    def __init__(self) -> None:
        self._started_at = time.monotonic()
        self._coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    @property
    def elapsed(self) -> float:
        """Seconds since the demo began."""
        return time.monotonic() - self._started_at

    def title(self, text: str) -> None:
        """Open an act."""
        print(f"\n{self.painted(BOLD, text)}", flush=True)

    def line(self, who: str, text: str, colour: str = PLAIN) -> None:
        """Say what happens to somebody."""
        print(f"{self.elapsed:6.2f} s  {who:8}{self.painted(colour, text)}", flush=True)

    def retell(self, told: Report) -> None:
        """Say what a worker reported."""
        words = {
            report.WAITS: "asks for the lock",
            report.HOLDS: f"HOLDS it, token {told.token}",
            report.LEFT: "is done and gives it back",
            report.LOST: f"is told: {told.note}",
            report.LOGGED: f"logs: {told.note}",
        }
        if told.what in words:
            self.line(told.who, words[told.what], COLOURS.get(told.what, PLAIN))

    def painted(self, colour: str, text: str) -> str:
        """Colour a text if this is a terminal."""
        return f"\x1b[{colour}m{text}\x1b[0m" if self._coloured else text


def standing(info: holdfast.LockInfo) -> str:
    """Say who holds and who waits, as holdfast itself sees it."""
    holders = listed([tenure.holder.label for tenure in info.holders])
    waiters = [place.holder.label for place in info.queue]
    holding = f"{holders} holds" if holders else "nobody holds"
    if not waiters:
        return f"{holding}, nobody waits"
    return f"{holding}, {listed(waiters)} {'waits' if len(waiters) == 1 else 'wait'}"


def listed(names: Sequence[str]) -> str:
    """Join names as a person would."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
