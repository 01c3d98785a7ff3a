"""A worker ends with a word, or was killed on record: an error of its own is no end."""

from __future__ import annotations

from holdfast.testing.history.claims import Event
from holdfast.testing.history.rule import Rule
from holdfast.testing.history.terms import Terms
from holdfast.testing.history.verdict import Proof
from holdfast.testing.history.weather import Weather


class Endings(Rule):
    """No worker vanishes."""

    name = "endings"

    def __init__(self, terms: Terms, weather: Weather) -> None:
        super().__init__(terms, weather)
        self._ended: set[str] = set()
        self._vanished: list[tuple[str, int, Proof]] = []
        self._killed: set[int] = set()

    def on_end(self, event: Event) -> None:
        """Take note of an orderly end."""
        self._ended.add(event.worker)

    def on_fault(self, event: Event) -> None:
        """Take note of who is killed."""
        if event.fields["kind"] == "kill":
            self._killed.update(event.fields["pids"] or ())

    def on_gone(self, event: Event) -> None:
        """See whether the file ends as it should; who was killed is known only at the end."""
        if event.fields["role"] != "worker":
            return  # a resource only ends when everybody does
        self.judged += 1
        if event.worker not in self._ended:
            last = Proof(event.proof.path, event.proof.line - 1)
            self._vanished.append((event.worker, event.pid, last))

    def finish(self) -> None:
        """Accuse whoever vanished without having been killed."""
        for worker, pid, proof in self._vanished:
            if pid not in self._killed:
                self.accuse(f"{worker} ends in the middle, and nobody has killed it", proof)
