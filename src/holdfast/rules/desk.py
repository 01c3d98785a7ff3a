"""One record while a step works on it: the moves that ``rules.claim`` is made of.

Mutable, and never seen outside one call of ``step``. As pure as the rule itself: same record, same
times, same moves, same result.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice
from typing import Literal

from holdfast.rules import tombstones
from holdfast.rules.holding import Grant, Record, Waiter
from holdfast.rules.messages import Claim, Ended, Ending, Granted, Notice, Refused, Waiting, Want
from holdfast.values import Kind, Tenure

FIRST_LIFE = 3.0
"""A grant that was handed over lives at most this long until its client has confirmed it."""

SHOWN = 8
"""How many holders a reply names; a listing names them all."""


class Desk:
    """Grants and queue by claim id, in order; what is changed here becomes the next record."""

    def __init__(self, record: Record, now: float, mint: int, closed: Collection[str]) -> None:
        self.name = record.name
        self.kind: Kind = record.kind
        self.capacity = record.capacity
        self.last_token = record.last_token
        self.grants = {grant.claim_id: grant for grant in record.grants}
        self.queue = {waiter.claim_id: waiter for waiter in record.queue}
        self.ended = record.ended
        self.now = now
        self.mint = mint
        self.closed = closed
        self.notices: list[Notice] = []
        self._record = record
        self._changed = False

    def record(self) -> Record:
        """Give the record that the moves have made: the very same one if none changed anything."""
        if not self._changed:
            return self._record
        grants, queue = tuple(self.grants.values()), tuple(self.queue.values())
        return Record(
            self.name, self.kind, self.capacity, self.last_token, grants, queue, self.ended
        )

    def sweep(self, gone: Collection[str]) -> None:
        """Drop what has ended: by time, by lost patience, by the death of its client."""
        now = self.now
        if self.ended:
            self.ended = tombstones.prune(self.ended, now)
            self._changed = self.ended is not self._record.ended
        for grant in tuple(self.grants.values()):
            dead = bool(gone) and grant.holder.client in gone and not grant.want.detached
            if dead or grant.ends_at <= now:
                del self.grants[grant.claim_id]
                ended: Ending = "broken" if grant.broken else "lapsed"
                self.bury(grant.claim_id, "gone" if dead else ended)
        for waiter in tuple(self.queue.values()):
            dead = waiter.holder.client in gone
            if dead or waiter.patience_until <= now:
                del self.queue[waiter.claim_id]
                self.bury(waiter.claim_id, "gone" if dead else "lapsed")

    def hand_over(self, asking: Collection[str] = ()) -> None:
        """Grant what fits from the head of the queue on.

        ``asking`` are the claims that the asker itself named: they count as reachable and, since
        the reply tells them, they get their full life at once and no notice.
        """
        if not self.queue:
            return
        free = self.free()
        for waiter in tuple(self.queue.values()):
            asked = waiter.claim_id in asking
            if waiter.inbox in self.closed and not asked:
                continue  # passed over, not dropped
            if waiter.want.weight > free:
                break  # nobody passes a living waiter
            free -= waiter.want.weight
            ttl = waiter.want.ttl
            del self.queue[waiter.claim_id]
            granted = self.grant(waiter, ttl if asked else min(FIRST_LIFE, ttl))
            if not asked:
                self.tell("granted", self.grants[waiter.claim_id], granted.remaining)

    def grant(self, claim: Claim | Waiter, life: float) -> Granted:
        """Let ``claim`` hold for ``life``, with a token larger than every earlier one."""
        self._changed = True
        want = claim.want
        if not self.grants and not self.queue:
            self.kind, self.capacity = want.kind, want.capacity
        self.last_token = max(self.last_token + 1, self.mint, claim.seen_token + 1)
        grant = Grant(
            claim.claim_id,
            want,
            claim.holder,
            claim.inbox,
            self.last_token,
            self.now + life,
            self.mint / 1e6,
            self._free_slots(want.weight) if want.kind == "semaphore" else (),
        )
        self.grants[claim.claim_id] = grant
        return Granted(grant.claim_id, grant.token, life, grant.granted_at, grant.slots)

    def enqueue(self, claim: Claim) -> None:
        """Put ``claim`` at the end of the queue."""
        self._changed = True
        self.queue[claim.claim_id] = Waiter(
            claim.claim_id,
            claim.want,
            claim.holder,
            claim.inbox,
            self.now + claim.patience,
            claim.seen_token,
            self.mint / 1e6,
        )

    def prolong(self, grant: Grant, ttl: float) -> None:
        """Renewal never shortens; that it never revives is the sweep's doing."""
        if self.now + ttl > grant.ends_at:
            self._changed = True
            self.grants[grant.claim_id] = _changed(grant, self.now + ttl, grant.broken)

    def mark_broken(self, grant: Grant, reason: str) -> Grant:
        """Let the grant run out: it keeps its place until then, and cannot be renewed."""
        self._changed = True
        marked = self.grants[grant.claim_id] = _changed(grant, grant.ends_at, reason)
        return marked

    def be_patient(self, claim_id: str, patience: float, seen_token: int = 0) -> None:
        """Let the waiter live on; like a renewal this never shortens."""
        self._changed = True
        waiter = self.queue[claim_id]
        self.queue[claim_id] = Waiter(
            claim_id,
            waiter.want,
            waiter.holder,
            waiter.inbox,
            max(waiter.patience_until, self.now + patience),
            max(waiter.seen_token, seen_token),
            waiter.joined_at,
        )

    def bury(self, claim_id: str, how: Ending) -> None:
        """Remember that the id has ended, so that it is never granted again."""
        self._changed = True
        self.ended = tombstones.bury(self.ended, claim_id, how, self.now)

    def tell(
        self, what: Literal["granted", "broken", "forced"], grant: Grant, life: float = 0.0
    ) -> None:
        """Leave a notice for the grant's client, if it has an inbox."""
        if grant.inbox:
            self.notices.append(
                Notice(
                    what=what,
                    inbox=grant.inbox,
                    name=self.name,
                    claim_id=grant.claim_id,
                    token=grant.token,
                    life=life,
                    granted_at=grant.granted_at,
                    slots=grant.slots,
                    reason=grant.broken,
                )
            )

    def refusal(self, want: Want) -> Refused | None:
        """Say why ``want`` can never be right here, if so."""
        if want.weight > want.capacity:
            return Refused("weight", f"{want.weight} of {want.capacity} can never be had")
        if not self.grants and not self.queue:
            return None  # kind and capacity bind only while the name is in use
        if self.kind != want.kind:
            return Refused("kind", f"it is in use as a {self.kind}, not as a {want.kind}")
        if self.capacity != want.capacity:
            inside = f"it is in use with {self.capacity} permits"
            return Refused("capacity", f"{inside}, not {want.capacity}")
        return None

    def has_room(self, want: Want) -> bool:
        """Whether a newcomer may hold at once: it fits, and no living waiter is passed."""
        if not self.grants and not self.queue:
            return True
        waiting = self.queue.values()
        return self.free() >= want.weight and all(one.inbox in self.closed for one in waiting)

    def free(self) -> int:
        """How much of the capacity nobody has."""
        return self.capacity - sum(grant.want.weight for grant in self.grants.values())

    def knows(self, claim_id: str) -> bool:
        """Whether the claim holds, waits or ended lately."""
        if claim_id in self.grants or claim_id in self.queue:
            return True
        return tombstones.fate(self.ended, claim_id) is not None

    def standing(self, claim_id: str) -> Granted | Waiting | Ended:
        """Say where a claim stands."""
        grant = self.grants.get(claim_id)
        if grant is not None:
            remaining = grant.ends_at - self.now
            return Granted(claim_id, grant.token, remaining, grant.granted_at, grant.slots)
        waiter = self.queue.get(claim_id)
        if waiter is None:
            return self.ended_as(claim_id)
        retry_in = self._retry_in(waiter) if self._is_next(claim_id) else None
        return Waiting(retry_in, self.holders())

    def ended_as(self, claim_id: str) -> Ended:
        """Say how a claim ended that neither holds nor waits."""
        how = tombstones.fate(self.ended, claim_id) or "unknown"
        return Ended(claim_id, how, "", self.holders())

    def holders(self) -> tuple[Tenure, ...]:
        """Show the first few who hold."""
        if not self.grants:
            return ()
        return tuple([self.tenure(grant) for grant in tuple(self.grants.values())[:SHOWN]])

    def tenure(self, grant: Grant) -> Tenure:
        """Show a grant without its secret."""
        return Tenure(
            holder=grant.holder,
            token=grant.token,
            weight=grant.want.weight,
            since=grant.granted_at,
            expires_in=max(0.0, grant.ends_at - self.now),
            metadata=grant.want.metadata,
            slots=grant.slots,
            broken=grant.broken,
            detached=grant.want.detached,
        )

    def _free_slots(self, weight: int) -> tuple[int, ...]:
        used = {slot for grant in self.grants.values() for slot in grant.slots}
        return tuple(islice((slot for slot in range(self.capacity) if slot not in used), weight))

    def _is_next(self, claim_id: str) -> bool:
        """Whether everybody ahead is passed over."""
        for waiter in self.queue.values():
            if waiter.claim_id == claim_id:
                return True
            if waiter.inbox not in self.closed:
                return False
        return False

    def _retry_in(self, waiter: Waiter) -> float | None:
        """Say when enough of what is held will have ended by itself for ``waiter`` to fit."""
        free = self.free()
        for grant in sorted(self.grants.values(), key=lambda grant: grant.ends_at):
            free += grant.want.weight
            if free >= waiter.want.weight:
                return max(0.0, grant.ends_at - self.now)
        return None


def _changed(grant: Grant, ends_at: float, broken: str) -> Grant:
    return Grant(
        grant.claim_id,
        grant.want,
        grant.holder,
        grant.inbox,
        grant.token,
        ends_at,
        grant.granted_at,
        grant.slots,
        broken,
    )
