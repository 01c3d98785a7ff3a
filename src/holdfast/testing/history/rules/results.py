"""A once key has one result: everybody is given that one, and nobody works once it is there.

Whoever works has just seen that its lease is good, so nobody can have taken over since it began;
and whoever began was told that there was no result. So a worker that believes at a moment at which
somebody was given a result has begun although there was one.
"""

from __future__ import annotations

from holdfast.testing.history.claims import Event
from holdfast.testing.history.rules.epochs import EpochRule
from holdfast.testing.history.terms import Terms
from holdfast.testing.history.verdict import Proof
from holdfast.testing.history.weather import Weather


class Results(EpochRule):
    """What is done once is done once."""

    name = "results"
    words = frozenset({"working", "given"})

    def __init__(self, terms: Terms, weather: Weather) -> None:
        super().__init__(terms, weather)
        self._given: dict[str, tuple[object, Proof]] = {}

    def forget(self) -> None:
        """Begin anew: what was stored may have to be done again."""
        self._given.clear()

    def on_working(self, event: Event) -> None:
        """See that nobody has been given a result yet."""
        given = self._given.get(event.fields["key"])
        if given is not None and self.is_certain(event.fields["since"]):
            key = event.fields["key"]
            self.accuse(f"{event.worker} works on {key!r} again", given[1], event.proof)

    def on_given(self, event: Event) -> None:
        """See that it is what the others were given."""
        if not self.is_certain(event.fields["since"]):
            return
        self.judged += 1
        key, result = event.fields["key"], event.fields["result"]
        first, proof = self._given.setdefault(key, (result, event.proof))
        if first != result:
            self.accuse(
                f"{event.worker} was given {result!r} for {key!r}, another was given {first!r}",
                proof,
                event.proof,
            )
