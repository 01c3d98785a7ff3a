"""What a client offers for choosing one of many: to lead, to ask who leads, to follow it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from holdfast.api.checks import UNSET, Given, checked_name, checked_signals, checked_wait
from holdfast.api.face import ClientFace
from holdfast.durations import Duration
from holdfast.runtimes.step import run
from holdfast.values import Json, OnLoss, Tenure

if TYPE_CHECKING:
    from holdfast.api.leader_watch import AsyncLeaderWatch, LeaderWatch
    from holdfast.api.leadership import AsyncLeadership, Leadership


class Election(ClientFace):
    """Elections for threads."""

    def lead(
        self,
        name: str,
        *,
        ttl: Given = UNSET,
        wait: Given | None = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "raise",
        renew: bool = True,
        metadata: Mapping[str, Json] | None = None,
        resign_on: Iterable[str | int] = (),
    ) -> Leadership:
        """Describe the lead of ``name``: the body of a ``with`` runs while this client leads.

        The others stand by in line. Leaving the body resigns, and the next one leads at once; after
        a crash within ``ttl``. ``resign_on`` names signals (``("SIGTERM",)``) that end the body as
        if by ``sys.exit(128 + N)``; it is for the main thread.
        """
        from holdfast.api.leadership import Leadership

        order = self._orders.order(
            name,
            kind="lead",
            ttl=ttl,
            wait=wait,
            max_hold=max_hold,
            renew=renew,
            reentrant=False,
            metadata=metadata,
        )
        policy, signals = self._orders.on_loss(on_loss), checked_signals(resign_on)
        return Leadership(self, self._engine, order, policy, signals)

    def leader(self, name: str) -> Tenure | None:
        """Say who leads ``name`` now, since when and with which token; ``None`` if nobody does."""
        from holdfast.flows.lead import leader

        return run(leader(self._engine.session, checked_name(name)))

    def watch_leader(self, name: str, *, wait: Duration | None = None) -> LeaderWatch:
        """Follow who leads ``name``: an iterator of leaders, ``None`` where nobody leads.

        The first is the leader of now, then comes every change, in order. It looks once a second
        and rides over outages; leaders that came and went meanwhile are told from their journal,
        where the backend keeps records. With ``wait`` the iteration ends when nothing has changed
        for so long.
        """
        from holdfast.api.leader_watch import LeaderWatch

        return LeaderWatch(self, self._engine, checked_name(name), checked_wait(wait))


class AsyncElection(ClientFace):
    """Elections for tasks."""

    def lead(
        self,
        name: str,
        *,
        ttl: Given = UNSET,
        wait: Given | None = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "stop",
        renew: bool = True,
        metadata: Mapping[str, Json] | None = None,
        resign_on: Iterable[str | int] = (),
    ) -> AsyncLeadership:
        """Describe the lead of ``name``: the body of a ``with`` runs while this client leads.

        The others stand by in line. Leaving the body resigns, and the next one leads at once; after
        a crash within ``ttl``. ``resign_on`` names signals (``("SIGTERM",)``) that end the body as
        if by ``sys.exit(128 + N)``; it is for a loop in the main thread.
        """
        from holdfast.api.leadership import AsyncLeadership

        order = self._orders.order(
            name,
            kind="lead",
            ttl=ttl,
            wait=wait,
            max_hold=max_hold,
            renew=renew,
            reentrant=False,
            metadata=metadata,
        )
        policy, signals = self._orders.on_loss(on_loss), checked_signals(resign_on)
        return AsyncLeadership(self, self._engine, order, policy, signals)

    async def leader(self, name: str) -> Tenure | None:
        """Say who leads ``name`` now, since when and with which token; ``None`` if nobody does."""
        from holdfast.flows.lead import leader

        return await leader(self._engine.session, checked_name(name))

    def watch_leader(self, name: str, *, wait: Duration | None = None) -> AsyncLeaderWatch:
        """Follow who leads ``name``: an iterator of leaders, ``None`` where nobody leads.

        The first is the leader of now, then comes every change, in order. It looks once a second
        and rides over outages; leaders that came and went meanwhile are told from their journal,
        where the backend keeps records. With ``wait`` the iteration ends when nothing has changed
        for so long.
        """
        from holdfast.api.leader_watch import AsyncLeaderWatch

        return AsyncLeaderWatch(self, self._engine, checked_name(name), checked_wait(wait))
