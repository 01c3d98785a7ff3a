"""What all connections of one client to a quorum share: its servers, its words, its standing.

No I/O here. Both wires follow the stories of ``rules.quorum`` and the admissions of
``rules.standing`` through this; so the restart rule and the warnings are dealt with once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

from holdfast import clock
from holdfast.backends.redlock.node import Node, Self
from holdfast.backends.redlock.requests import Post
from holdfast.backends.redlock.target import Quorum
from holdfast.errors import BackendUnavailable, Misuse
from holdfast.rules.messages import Claim, Granted, Release, Renewed, Reply, Request, Withdraw
from holdfast.rules.play import Play
from holdfast.rules.quorum_messages import Admit, Answer, Stood, Unsettled
from holdfast.rules.standing import AGAIN, Applicant, admissions
from holdfast.values import Capabilities

REMEMBERED = 10_000
"""So many claims of living leases are remembered, to be repeated to a server that lost its own."""

_said: set[str] = set()


class Council:
    """One client's view of its quorum."""

    def __init__(self, quorum: Quorum, prefix: str) -> None:
        self.quorum = quorum
        self.terms = quorum.terms
        self.shown = quorum.terms.shown
        self.node_limit = quorum.node_limit
        self.post = Post(prefix)
        pairs = zip(quorum.terms.names, quorum.targets, strict=True)
        self.nodes = [Node(number, name, target) for number, (name, target) in enumerate(pairs)]
        self.claims: dict[str, Claim] = {}
        self.settle_at = inf  # when to look whether somebody can be let in to vote
        self.capabilities = _capabilities(quorum)

    def asked(self) -> list[Node]:
        """Give the servers to ask: all of them if those that answer are no majority."""
        good = [node for node in self.nodes if not node.fault]
        return good if len(good) >= self.terms.need else self.nodes

    # What a new connection says

    def meet(self, node: Node, said: Self) -> None:
        """Note what a server says of itself; two that are one and the same are refused."""
        for other in self.nodes:
            if other is not node and other.self is not None and other.self.run == said.run:
                raise Misuse(
                    f"{self.shown}: {other.name} and {node.name} are one and the same server, and"
                    " one server has one vote. Give the address of another"
                )
        if node.self is None or node.self.run != said.run:
            self.settle_at = min(self.settle_at, clock.now())
        node.self = said

    def _compare_policies(self) -> None:
        """Warn of servers that can throw votes away, once all that can be met were met."""
        policies = {node.name: node.self.policy for node in self.nodes if node.self is not None}
        evicting = sorted(name for name, policy in policies.items() if policy != "noeviction")
        said = f"{self.shown} evicts: {', '.join(evicting)}"
        if not evicting or said in _said:
            return
        _said.add(said)
        import logging  # a logger of its own, so that it can be silenced by itself

        unequal = len(set(policies.values())) > 1
        logging.getLogger("holdfast.survey").warning(
            "%s: %s can throw a vote away when memory is full (maxmemory-policy is %s)%s. Set"
            " noeviction on all of them, or let the protected resource check the token.",
            self.shown,
            ", ".join(evicting),
            policies[evicting[0]],
            ", unlike the others" if unequal else "",
        )

    # The restart rule

    def hear(self, answers: Iterable[Answer]) -> None:
        """Take note of a voter that does not vote: somebody has to see whether it can be let in."""
        if self.settle_at == inf and any(isinstance(one, Unsettled) for one in answers):
            self.settle_at = clock.now()

    def must_settle(self) -> bool:
        """Whether it is time to look who can be let in."""
        return clock.now() >= self.settle_at

    def admissions(self, answers: dict[int, Answer]) -> dict[int, Admit]:
        """Decide whom to let in, by what they said of themselves, and when to look again."""
        self._compare_policies()
        settled: dict[int, Stood] = {}
        applicants: dict[int, Applicant] = {}
        for number, stood in answers.items():
            said = self.nodes[number].self
            if not isinstance(stood, Stood) or said is None:
                continue
            if stood.settled:
                settled[number] = stood
                continue
            kept = stood._replace(remembers=stood.remembers and said.durable)
            applicants[number] = Applicant(kept, said.age_now())
        decided = admissions(settled, applicants, self.terms, self.quorum.quarantine)
        absent = len(settled) + len(applicants) < self.terms.nodes
        look_in = min(decided.look_in, AGAIN) if applicants and absent else decided.look_in
        self.settle_at = clock.now() + look_in
        if applicants and len(applicants) > len(decided.let_in):
            self._say_waiting(applicants.keys() - decided.let_in.keys())
        return decided.let_in

    def _say_waiting(self, numbers: Iterable[int]) -> None:
        names = ", ".join(sorted(self.nodes[number].name for number in numbers))
        said = f"{self.shown} {names}"
        if said in _said:
            return
        _said.add(said)
        from holdfast.observe.logs import logger

        logger.warning(
            "%s: %s has restarted and may have forgotten its votes: it votes again when it is %.0f"
            " s old and knows the tokens of the others (?quarantine=0 turns the waiting off)",
            self.shown,
            names,
            self.quorum.quarantine,
        )

    # What is remembered of leases

    def noted(self, requests: Sequence[Request], play: Play) -> list[Reply | BackendUnavailable]:
        """Give the replies of a play that is over, and remember what they mean for leases."""
        replies: list[Reply | BackendUnavailable] = []
        for request, reply in zip(requests, play.replies, strict=True):
            assert reply is not None  # noqa: S101 - every story has ended
            self._note(request, reply)
            replies.append(reply)
        return replies

    def _note(self, request: Request, reply: Reply | BackendUnavailable) -> None:
        """Remember the claims behind living leases; forget those that are over."""
        if isinstance(request, Claim):
            if isinstance(reply, Granted):
                if len(self.claims) >= REMEMBERED:
                    self.claims.pop(next(iter(self.claims)), None)
                self.claims[request.claim_id] = request
        elif isinstance(request, (Release, Withdraw)):
            self.claims.pop(request.claim_id, None)
        elif isinstance(reply, Renewed):
            for answer in reply.answers:
                if not isinstance(answer, Granted):
                    self.claims.pop(getattr(answer, "claim_id", ""), None)


def _capabilities(quorum: Quorum) -> Capabilities:
    spare = quorum.terms.spare
    return Capabilities(
        backend="redlock",
        scope="network",
        wakeup="push",
        notices_crash=False,
        min_ttl=0.5,
        kinds=("lock", "lead"),
        survives=("restart", "failover"),
        notes=(
            f"{quorum.terms.nodes} independent servers; any {spare} of them may fail",
            "no queue: whoever waits comes again",
        ),
        queue=False,
    )
