"""Several stories of a quorum told side by side: what they all ask for leaves together.

Whoever can carry out an ``Ask`` (a wire, the simulator) does so for all that are open, gives the
answers back, and repeats that until every story has ended. One story's failure never touches
another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.errors import BackendUnavailable
from holdfast.rules.ballot import Terms
from holdfast.rules.messages import Claim, Reply, Request
from holdfast.rules.quorum import Ask, Story, Tell, story
from holdfast.rules.quorum_messages import Answer, VoterRequest


class Play:
    """The stories of some requests, up to where they have got."""

    def __init__(
        self, requests: Sequence[Request], terms: Terms, known: Mapping[str, Claim]
    ) -> None:
        self.replies: list[Reply | BackendUnavailable | None] = [None] * len(requests)
        self.asks: list[Ask] = []
        self.tells: list[tuple[int, VoterRequest]] = []
        self._open: list[tuple[int, Story]] = []
        for place, request in enumerate(requests):
            self._go_on(place, story(request, terms, known), None)

    def answer(self, answers: Sequence[dict[int, Answer]]) -> None:
        """Give each of ``asks`` its answers; then ``asks`` and ``tells`` are the next ones."""
        going, self._open, self.asks = self._open, [], []
        for (place, told), found in zip(going, answers, strict=True):
            self._go_on(place, told, found)

    def take_tells(self) -> list[tuple[int, VoterRequest]]:
        """Give what is to be told without waiting, to whom; once."""
        tells, self.tells = self.tells, []
        return tells

    def _go_on(self, place: int, told: Story, answers: dict[int, Answer] | None) -> None:
        try:
            step = next(told) if answers is None else told.send(answers)
            while isinstance(step, Tell):
                self.tells.extend(step.requests.items())
                step = told.send({})
        except StopIteration as done:
            self.replies[place] = done.value
        except BackendUnavailable as error:
            self.replies[place] = error
        else:
            self._open.append((place, told))
            self.asks.append(step)


class Exchange:
    """Some questions to all servers, and the answers so far."""

    def __init__(self, asks: Sequence[Ask]) -> None:
        self.asks = asks
        self.answers: list[dict[int, Answer]] = [{} for _ in asks]
        self._open = [bool(ask.requests) for ask in asks]
        self._left = sum(self._open)

    def put(self, at: int, number: int, answer: Answer) -> None:
        """Note an answer to one of the questions."""
        found = self.answers[at]
        found[number] = answer
        if self._open[at] and self.asks[at].is_over(found):
            self._open[at] = False
            self._left -= 1

    def enough(self) -> bool:
        """Whether nobody needs to hear more."""
        return not self._left
