"""Whoever hears that its lease is over does not believe any more, from that very moment.

By a renewal that is answered "ended", by a notice that it was broken, by a reply that carries
another birth mark than before. Checked in every world.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import Ended, Notice, Renewed, Reply

if TYPE_CHECKING:
    from holdfast.testing.sim.client import Client
    from holdfast.testing.sim.watch import Watch

NAME = "whoever hears of the end stops"


class Heed:
    """Looks, right after the event in which a client heard of an end, whether it still believes."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def answers(self, client: Client, answers: Sequence[Reply | BackendUnavailable]) -> None:
        """Note what a client was answered."""
        for answer in answers:
            if type(answer) is Renewed:
                over = [one.claim_id for one in answer.answers if type(one) is Ended]
                if over:
                    self._look_soon(client, over)

    def notices(self, client: Client, notices: Iterable[Notice]) -> None:
        """Note what a client has taken in."""
        for notice in notices:
            if notice.what in ("broken", "forced"):
                self._look_soon(client, [notice.claim_id])

    def amnesia(self, client: Client) -> None:
        """Note that a client has seen another birth mark than before."""
        inside = [stay for stays in self._watch.stays.values() for stay in stays]
        self._look_soon(client, [one.state.claim_id for one in inside if one.client is client])

    def _look_soon(self, client: Client, claims: list[str]) -> None:
        client.scheduler.soon(self._look, (client, claims))

    def _look(self, heard: tuple[Client, list[str]]) -> None:
        client, claims = heard
        for stays in self._watch.stays.values():
            for stay in stays:
                over = stay.client is client and stay.state.claim_id in claims
                if over and stay.believes():
                    text = f"{stay} was told that its lease on {stay.state.name!r} is over"
                    self._watch.fail(NAME, text)
