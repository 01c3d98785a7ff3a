"""What all connections of one client share: where the server is, how letters are written and read.

No I/O and no threads here but one: ``topology.find`` blocks, and only wires call it. Both wires
send letters and pass every raw reply through ``read``, so redirections, lost scripts, the birth
mark and the replicas' word are dealt with once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from holdfast import clock
from holdfast.backends.redis import faults, replies
from holdfast.backends.redis.births import Births
from holdfast.backends.redis.keys import KeyRing
from holdfast.backends.redis.requests import Asked, Letter, Post, command
from holdfast.backends.redis.survey import Survey
from holdfast.backends.redis.target import Target, Where
from holdfast.backends.redis.topology import ClusterMap, redirected, topology_of
from holdfast.errors import BackendUnavailable
from holdfast.rules.many import ClaimAll, Together
from holdfast.rules.messages import Claim, Granted, Notice, Renew, Renewed, Reply

Answer = Reply | BackendUnavailable

ROUNDS = 5
"""How often one letter is sent anew before its call fails: redirections do not go on for ever."""


class Resend(NamedTuple):
    """Send the letter again: to ``where`` (or to the same server), after these commands.

    Or send another one instead of it, which asks the same.
    """

    where: Where | None
    before: bytes
    instead: Letter | None = None

    def errand(self, letter: Letter, where: Where) -> tuple[Letter, Where, bytes]:
        """Say what to send next for a ``letter`` that went to ``where``."""
        return self.instead or letter, self.where or where, self.before


class Office:
    """One client's correspondence with its server."""

    def __init__(self, target: Target, prefix: str) -> None:
        self.target = target
        self.shown = target.shown
        self.topology = topology_of(target)
        self.clustered = target.mode == "cluster"
        self.post = Post(prefix, target.quarantine, clustered=self.clustered)
        self.survey = Survey(target)
        self.generation = 0  # connections of an earlier one lead to a master that is none any more
        self.mark = 0  # the birth mark that replies carried last; in Cluster it stays 0
        self.tell: Callable[[Notice], None] = lambda _notice: None
        self._said_quarantined = False
        self.births = (
            Births(target, self.topology, self.keys, self._say_quarantined, self._forgotten)
            if isinstance(self.topology, ClusterMap)
            else None
        )

    @property
    def keys(self) -> KeyRing:
        """Where names live."""
        return self.post.keys

    def slot(self, request: Asked) -> int:
        """Say to which slot a request belongs."""
        return self.keys.of(request.name).slot if self.clustered else 0

    def is_apart(self, request: ClaimAll) -> bool:
        """Whether the names live in several slots of a cluster, so that no script reaches all."""
        if not self.clustered:
            return False
        return len({self.keys.of(claim.name).slot for claim in request.claims}) > 1

    def written(self, letter: Letter, held_until: float) -> bytes:
        """Give what to send to a node of a cluster that must not grant anything until then."""
        left = held_until and held_until - clock.now()
        return self.post.held_back(letter, left).data if left > 0 else letter.data

    def read(self, letter: Letter, raw: Any, where: Where) -> list[Answer] | Resend:
        """Read a raw reply: one answer per request, or how to send the letter again."""
        if isinstance(raw, Exception):
            return self._refused(letter, str(raw), where)
        mark = replies.mark_of(raw)
        if mark != self.mark:
            self._see(mark)
        if letter.script.name == "renew":
            return replies.read_renewals(letter.requests, raw)
        try:
            return [replies.read(letter.requests[0], raw)]
        except BackendUnavailable as error:
            return [error]

    def _see(self, mark: int) -> None:
        """Another mark: the server has lost its memory, and with it everything we hold."""
        if not mark:
            if not self.clustered:
                self._say_quarantined()
            return
        before, self.mark = self.mark, mark
        if before:
            self._forgotten()

    def _say_quarantined(self) -> None:
        if self._said_quarantined:
            return
        self._said_quarantined = True
        from holdfast.observe.logs import logger

        logger.warning(
            "%s has just started without holdfast's data, so it may have forgotten who holds what:"
            " nothing is granted until it is %.0f s old (?quarantine=0 turns this off)",
            self.shown,
            self.target.quarantine,
        )

    def _forgotten(self) -> None:
        reason = "the server has lost its data (another birth mark), so somebody else may hold it"
        self.tell(Notice("forgotten", "", "", "", 0, reason=reason))

    def _refused(self, letter: Letter, text: str, where: Where) -> list[Answer] | Resend:
        sign = text.partition(" ")[0]
        if sign == "NOSCRIPT":
            return Resend(None, command("SCRIPT", "LOAD", letter.script.body))
        if sign in ("MOVED", "ASK") and isinstance(self.topology, ClusterMap):
            slot, owner = redirected(text, where)
            if sign == "ASK":
                return Resend(owner, command("ASKING"))
            self.topology.moved(slot, owner)
            return Resend(owner, b"")
        if sign == "TRYAGAIN" and letter.script.name == "look":
            # ASKING: perhaps the slot's next owner said that. To any other node it means nothing.
            return Resend(None, command("ASKING"), self.post.glance(letter))
        if sign == "ERR" and letter.script.name == "glance":
            # It met a key that is on the other node, for which nodes have no word inside scripts.
            text = f"TRYAGAIN {text}"
        if sign in faults.MOVING:
            self.topology.suspect()
        if sign in faults.DEMOTED:
            self.generation += 1
        return [faults.refused(self.shown, text)] * len(letter.requests)

    def unserved(self, slot: int | None = None) -> BackendUnavailable:
        """Say that nobody has a slot, or any, as the map has it; the next to ask draws it anew."""
        self.topology.suspect()
        which = "no slot has a master" if slot is None else f"slot {slot} has no master"
        return faults.refused(self.shown, f"CLUSTERDOWN {which}")

    def insist_on_master(self, role: Any) -> None:
        """Refuse a server that the sentinels called a master and that is none (any more)."""
        if isinstance(role, list) and role[0] != b"master":
            self.topology.suspect()
            raise faults.refused(self.shown, "READONLY it says that it is a replica")

    # Confirmation by replicas

    def wait_command(self, deadline: float) -> bytes:
        """Give the command that waits for the replicas, for half of the time there is."""
        half = max(1, int((deadline - clock.now()) * 500))
        return command("WAIT", self.target.replicas, half)

    def needs_replicas(self, letter: Letter) -> bool:
        """Whether what the letter asks for must survive a fail-over."""
        return bool(self.target.replicas) and (
            isinstance(letter.requests[0], (Claim, ClaimAll, Renew))
            or letter.script.name == "record_swap"
        )

    def confirmed(self, answers: list[Answer], heard: Any) -> list[Answer]:
        """Keep what was granted only if enough replicas have it."""
        wanted = self.target.replicas
        if isinstance(heard, Exception):
            refusal = faults.refused(self.shown, str(heard))
            refusal.outcome, refusal.transient = "unknown", False  # granted, and not confirmed
            return [refusal] * len(answers)
        if heard >= wanted:
            return answers
        lacking = faults.unconfirmed(self.shown, wanted, heard)
        return [lacking if gives(answer) else answer for answer in answers]


def gives(answer: Answer) -> bool:
    """Whether it grants or prolongs something, which enough replicas must then have."""
    if isinstance(answer, Together):
        return any(isinstance(one, Granted) for one in answer.standings)
    from holdfast.rules.record_messages import Swapped  # locks alone do without

    return isinstance(answer, (Granted, Renewed, Swapped))


class Sorter:
    """Puts the answers to many letters back into the places of their requests."""

    def __init__(self, count: int) -> None:
        self._answers: list[dict[int, Answer]] = [{} for _ in range(count)]

    def put(self, letter: Letter, answers: list[Answer]) -> None:
        """File the answers of one letter."""
        for place, part, answer in zip(letter.places, letter.parts, answers, strict=True):
            self._answers[place][part] = answer

    def fail(self, letter: Letter, error: BackendUnavailable) -> None:
        """File an error for everything that a letter carried."""
        self.put(letter, [error] * len(letter.places))

    def result(self) -> list[Answer]:
        """Give all answers, in the order of the requests."""
        return [_put_together(parts) for parts in self._answers if parts]


def _put_together(parts: dict[int, Answer]) -> Answer:
    """Make one answer of the parts of a long renewal, which may have come in any order."""
    if len(parts) == 1:
        return next(iter(parts.values()))
    whole = Renewed(())
    for _, part in sorted(parts.items()):
        if not isinstance(part, Renewed):
            return part
        whole = Renewed(whole.answers + part.answers)
    return whole
