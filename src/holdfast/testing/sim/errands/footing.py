"""What a write under a lease stands on, for errands that have the lease itself and not its face."""

from __future__ import annotations

from holdfast.flows.book import LeaseState
from holdfast.flows.lose import lost_error
from holdfast.flows.session import Session


class Footing:
    """What ``flows.swap.Fencing`` asks of a lease: the clock's word, at the moment of asking."""

    __slots__ = ("_session", "_state")

    def __init__(self, session: Session, state: LeaseState) -> None:
        self._session = session
        self._state = state

    @property
    def name(self) -> str:
        """What is held."""
        return self._state.name

    @property
    def token(self) -> int:
        """The fencing number."""
        return self._state.token

    @property
    def remaining(self) -> float:
        """Seconds until its deadline."""
        return max(0.0, self._state.deadline - self._session.runtime.now())

    def check(self) -> None:
        """Raise ``LockLost`` unless the lease is good."""
        if not self._state.holds(self._session.runtime.now()):
            raise lost_error(self._session, self._state)
