"""Never more holders at once than there is room for, in real time.

A claim certainly holds from ``held_at`` to its last good check. Those spans are laid over each
other, name by name: wherever they overlap, their weights must fit into the capacity. A pause shows
no false overlap, because a span never reaches beyond a check; and it hides none, because a check
after the pause stretches the span over all of it. A grant that was broken by force, or forgotten by
the backend, counts up to the moment before that (``doubts``).

Spans grow in the order of time. So those of one name are kept in the order of their last check, and
a check looks back only as far as its own span reaches: in a good history, not at all.
"""

from __future__ import annotations

from holdfast.testing.history.claims import Claim, Event
from holdfast.testing.history.rules.doubts import DoubtingRule
from holdfast.testing.history.terms import Terms
from holdfast.testing.history.weather import Weather


class _Name:
    """The spans of one name that may still matter."""

    __slots__ = ("accused", "open", "spans")

    def __init__(self) -> None:
        self.spans: dict[Claim, int] = {}  # with their ends, in the order of these
        self.open: dict[Claim, None] = {}  # whoever may still check, in the order of their starts
        self.accused: set[Claim] = set()

    def forget(self) -> None:
        """Drop spans that ended before the oldest open claim began: nothing can reach them."""
        oldest = next(iter(self.open), None)
        while self.spans:
            claim = next(iter(self.spans))
            if oldest is not None and self.spans[claim] >= oldest.held_at:
                return
            del self.spans[claim]
            self.accused.discard(claim)


class Exclusion(DoubtingRule):
    """Certain spans of belief fit into the capacity."""

    name = "exclusion"

    def __init__(self, terms: Terms, weather: Weather) -> None:
        super().__init__(terms, weather)
        self._names: dict[str, _Name] = {}

    def on_held(self, event: Event) -> None:
        """Expect checks of this claim from now on."""
        claim = event.about()
        self._names.setdefault(claim.name, _Name()).open[claim] = None

    def on_checked(self, event: Event) -> None:
        """Stretch the claim's span to here, and look what it lies over."""
        claim = event.about()
        self.judged += 1
        until = self.certain_until(claim)
        name = self._names[claim.name]
        since = max(name.spans.get(claim, 0), claim.held_at)
        if until <= since:
            return  # in doubt by now: its span grows no more
        name.spans.pop(claim, None)
        self._compare(name, claim, since, until)
        name.spans[claim] = until

    def on_left(self, event: Event) -> None:
        """Expect no more checks of it."""
        self._close(event.about())

    def on_gone(self, event: Event) -> None:
        """Expect no more checks of this worker's claims."""
        for claim in event.left:
            self._close(claim)

    def _close(self, claim: Claim) -> None:
        name = self._names.get(claim.name)
        if name is not None and claim in name.open:
            del name.open[claim]
            name.forget()

    def _compare(self, name: _Name, claim: Claim, since: int, until: int) -> None:
        """Look at what is new of the span, from ``since`` on; the rest was looked at before."""
        beside: list[Claim] = []
        for other in reversed(name.spans):
            if name.spans[other] <= since:
                break
            if other.held_at < until:
                beside.append(other)
        if beside:
            crowd = _crowd(name.spans, claim, beside, since)
            if not name.accused.issuperset(crowd):  # once is enough
                name.accused.update(crowd)
                self._tell(crowd, until=min(until, *(name.spans[one] for one in crowd[1:])))

    def _tell(self, crowd: list[Claim], until: int) -> None:
        begin = max(claim.held_at for claim in crowd)
        who = " and ".join(str(claim) for claim in sorted(crowd, key=lambda one: one.held_at))
        room = min(claim.capacity for claim in crowd)
        self.accuse(
            f"{who} hold {crowd[0].name!r} at once from {self.clock(begin)} to {self.clock(until)},"
            f" {sum(claim.weight for claim in crowd)} where there is room for {room}",
            *(proof for claim in crowd for proof in (claim.held, claim.checked)),
        )


def _crowd(spans: dict[Claim, int], claim: Claim, beside: list[Claim], since: int) -> list[Claim]:
    """Find a moment from ``since`` on at which too many hold; somebody begins at it."""
    coming = sorted(beside, key=lambda one: one.held_at)
    inside: list[Claim] = []
    for position, one in enumerate(coming):
        at = max(one.held_at, since)
        inside = [other for other in inside if spans[other] > at]
        inside.append(one)
        following = coming[position + 1] if position + 1 < len(coming) else None
        if following is not None and following.held_at <= at:
            continue  # it is there at the same moment
        crowd = [claim, *inside]
        if sum(other.weight for other in crowd) > min(other.capacity for other in crowd):
            return crowd
    return []
