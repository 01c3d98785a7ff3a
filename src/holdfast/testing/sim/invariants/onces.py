"""A key has one result, and everybody is given that one; the work is done again only for a reason.

A result that is stored is never replaced, and never stored by a worker whose successor had begun.
Nobody begins once there is a result, nor while another who is at it still believes in its lease,
nor under a lease that is over.
Checked in every world; a result is kept until the server loses its memory, and what began before
that is judged by the lease alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.flows.book import LeaseState
from holdfast.flows.content import DIGEST_SIZE, unpacked
from holdfast.rules.record import Kept
from holdfast.rules.record_messages import Swap

if TYPE_CHECKING:
    from holdfast.testing.sim.client import Client
    from holdfast.testing.sim.watch import Watch

NAME = "done once"


class Run:
    """One time that the work was begun."""

    __slots__ = ("client", "over", "state")

    def __init__(self, client: Client, state: LeaseState) -> None:
        self.client = client
        self.state = state
        self.over = False

    def goes_on(self) -> bool:
        """Whether it is being done, by somebody who believes that it is theirs to do."""
        return not self.over and not self.client.dead and self.state.holds(self.client.now())


class Onces:
    """Remembers each key's runs and its result."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._runs: dict[str, list[Run]] = {}
        self._begun: dict[str, int] = {}  # the largest token under which each was begun
        self._results: dict[str, object] = {}

    def forget(self) -> None:
        """Note that there is no result any more, nor a word of who has begun."""
        self._begun.clear()
        self._results.clear()

    def landed(self, swap: Swap, before: Kept, after: Kept) -> None:
        """Look at a write that has changed what is known of a key."""
        key = swap.name
        if before.value is not None:
            self._watch.fail(NAME, f"the result of {key!r} was replaced by {swap.swap_id}")
        if after.value is None:
            self._begun[key] = max(self._begun.get(key, 0), swap.fence)
            return
        if swap.fence < self._begun.get(key, 0):
            text = f"{swap.swap_id} stored for {key!r} with {swap.fence}; another had begun since"
            self._watch.fail(NAME, text)
        self._results[key] = unpacked(after.value[1 + DIGEST_SIZE :], "sim")

    def begins(self, client: Client, key: str, state: LeaseState, since: float) -> Run:
        """Look at a worker that was told to begin, since it asked."""
        if key in self._results and self._watch.family.is_certain(since):
            text = f"{client.name} works on {key!r}, whose result is {self._results[key]!r}"
            self._watch.fail(NAME, text)
        if not state.holds(client.now()):
            self._watch.fail(NAME, f"{client.name} works on {key!r} under a lease that is over")
        runs = self._runs.setdefault(key, [])
        for run in runs:
            if run.goes_on() and self._watch.promises.exclusion:
                text = f"{client.name} works on {key!r} while {run.client.name} is at it"
                self._watch.fail(NAME, text)
        run = Run(client, state)
        runs.append(run)
        return run

    def given(self, client: Client, key: str, result: object, since: float) -> None:
        """Look at what a caller was given for the result, since it asked."""
        if self._results.get(key) != result and self._watch.family.is_certain(since):
            stored = self._results.get(key)
            text = f"{client.name} was given {result!r} for {key!r}, which has {stored!r}"
            self._watch.fail(NAME, text)
        self._watch.family.done += 1
