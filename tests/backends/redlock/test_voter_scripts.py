"""The same random history through the voter's rule and through its scripts on a real server.

Spans are long against a history, so that no clock has a say: what is compared is who has the vote,
with which token, who waits, and what ended how. Some requests of a history travel as one command,
on several names or twice on one: the rule answers them one after another.
"""

import secrets
from collections.abc import Sequence
from typing import Any

import hiredis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.backends.redis.calls import Bundle
from holdfast.backends.redlock.replies import read
from holdfast.backends.redlock.requests import Post
from holdfast.backends.redlock.scripts import NAMES as SCRIPTS
from holdfast.backends.redlock.scripts import script
from holdfast.rules.messages import (
    Break,
    Claim,
    Ended,
    Granted,
    Item,
    Look,
    Release,
    Renew,
    Renewed,
    Seen,
    Want,
    Withdraw,
)
from holdfast.rules.quorum_messages import Admit, Stand, Stood, Undo, Unsettled, VoterRequest
from holdfast.rules.voter import Slip, Standing, step
from holdfast.values import Holder
from tests.servers.shared import shared_server

IDS = ("one", "two", "th+ree/", "four")
NAMES = ("x", "y", "z")
TTL = 1000.0

ids = st.sampled_from(IDS)
names = st.sampled_from(NAMES)
tokens = st.integers(0, 12)
patiences = st.sampled_from((0.0, 900.0))
kinds = st.sampled_from(("lock", "lock", "lead"))


def claim(
    claim_id: str, patience: float, seen: int, kind: Any, name: str = "x", client: str = ""
) -> Claim:
    """Claim a name for a client; if none is given, for one that is named like the claim."""
    client = client or claim_id
    holder, inbox = Holder(client, "host", 7, "label"), f"in:{client[0]}"
    return Claim(name, claim_id, Want(kind, 1, 1, TTL), holder, inbox, patience, seen)


@st.composite
def claims_together(draw: st.DrawFn) -> tuple[VoterRequest, ...]:
    """Claim several names for one client that wants the same of each."""
    client, patience, kind = draw(ids), draw(patiences), draw(kinds)
    wanted = draw(st.lists(st.tuples(ids, tokens, names), min_size=2, max_size=5))
    return tuple(claim(one, patience, seen, kind, name, client) for one, seen, name in wanted)


@st.composite
def ends_together(draw: st.DrawFn) -> tuple[VoterRequest, ...]:
    """Give back, withdraw or undo several claims."""
    kind: Any = draw(st.sampled_from((Release, Withdraw, Undo)))
    ended = draw(st.lists(st.tuples(names, ids), min_size=2, max_size=5))
    return tuple(kind(name, one) for name, one in ended)


one_request: st.SearchStrategy[VoterRequest] = st.one_of(
    st.builds(claim, ids, patiences, tokens, kinds, names),
    st.builds(lambda name, one, token: Renew(name, (Item(one, token, TTL),)), names, ids, tokens),
    st.builds(Release, names, ids),
    st.builds(Withdraw, names, ids),
    st.builds(Undo, names, ids),
    st.builds(Break, names, tokens, st.just("why"), st.booleans()),
    st.builds(Look, names),
    st.just(Stand()),
    st.builds(Admit, st.integers(0, 9)),
)
together: st.SearchStrategy[tuple[VoterRequest, ...]] = st.one_of(
    st.tuples(one_request), claims_together(), ends_together()
)


class Server:
    """A real server as a voter."""

    def __init__(self) -> None:
        self._server = shared_server()
        self._post = Post(f"voter-{secrets.token_hex(6)}")
        for name in SCRIPTS:
            self._server.ask("SCRIPT", "LOAD", script(name).body)

    def ask(self, request: VoterRequest, run: bytes = b"run") -> Any:
        """Carry out one request, as a wire does that is connected to the process ``run``."""
        call, keys, words = self._post.parcel(request, run)
        return read(request, self._raw(call.one(keys, words)), "the server")

    def ask_all(self, requests: Sequence[VoterRequest], run: bytes = b"run") -> list[Any]:
        """Carry out requests of one kind as one command."""
        if len(requests) == 1:
            return [self.ask(requests[0], run)]
        parcels = [self._post.parcel(request, run) for request in requests]
        bundle = Bundle(parcels[0][0])
        for call, keys, words in parcels:
            assert call is bundle.call, "they can travel together"
            bundle.keys.append(keys)
            bundle.words.append(words)
        answers = self._raw(bundle.written())
        return [
            read(request, raw, "the server") for request, raw in zip(requests, answers, strict=True)
        ]

    def _raw(self, data: bytes) -> Any:
        reader = hiredis.Reader()
        reader.feed(data)
        return _encoded(self._server.ask(*reader.gets()))


def _encoded(raw: Any) -> Any:
    """Give what the test's own connection decodes as the wires see it: as bytes."""
    if isinstance(raw, list):
        return [_encoded(one) for one in raw]
    return raw.encode() if isinstance(raw, str) else raw


def timeless(reply: Any) -> Any:
    """Take every point in time out of a reply, and what only a server can know."""
    if isinstance(reply, Stood):
        return reply.settled, reply.highest
    if isinstance(reply, Renewed):
        return [timeless(one) for one in reply.answers]
    if isinstance(reply, Seen):
        info = reply.locks[0]
        line = [place.holder for place in info.queue]
        return info.kind if info.held else "", info.token, timeless(info.holders), line
    if isinstance(reply, tuple):
        fields = reply._asdict() if hasattr(reply, "_asdict") else {}
        times = {"since", "expires_in", "remaining", "granted_at"}
        if fields:
            return [
                type(reply).__name__,
                *(timeless(v) for k, v in fields.items() if k not in times),
            ]
        return [timeless(one) for one in reply]
    return reply


class Rule:
    """The rule as a voter."""

    def __init__(self) -> None:
        self.slips: dict[str, Slip] = {}
        self.standing = Standing()

    def ask(self, request: VoterRequest, now: float = 0.0) -> Any:
        """Answer one request."""
        name = getattr(request, "name", "")
        slip = self.slips.get(name) or Slip(name)
        self.slips[name], self.standing, reply, _ = step(slip, self.standing, request, now)
        return reply


@settings(max_examples=150, deadline=None)
@given(st.lists(together, max_size=25))
def test_the_scripts_do_what_the_rule_says(history: list[tuple[VoterRequest, ...]]) -> None:
    """Whatever a voter is asked, alone or with others, the server answers what the rule answers."""
    server, rule = Server(), Rule()
    end = [(Look(name),) for name in NAMES]
    asked: list[tuple[VoterRequest, ...]] = [(Stand(),), (Admit(3),), *history, *end, (Stand(),)]
    for number, requests in enumerate(asked):
        replies = [rule.ask(request, float(number)) for request in requests]
        assert timeless(tuple(server.ask_all(requests))) == timeless(tuple(replies)), requests


def test_a_voter_that_votes_not_says_so_to_each() -> None:
    """Also to those who ask together: none is granted, and each is told why."""
    server = Server()
    asked = [claim("one", 0, 0, "lock", name, "client") for name in NAMES]
    assert server.ask_all(asked, b"another") == [Unsettled()] * len(NAMES)


@pytest.mark.parametrize("withdrawn", [False, True], ids=["short way", "long way"])
def test_of_very_many_ends_the_newest_are_remembered(withdrawn: bool) -> None:  # noqa: FBT001
    """The newest 64 of a name: what ended before them may come again, they never."""
    server, rule = Server(), Rule()
    used = [f"id-{number:03}" for number in range(70)]
    ends: list[VoterRequest] = []
    for one in used:
        ends += [Withdraw("x", one)] if withdrawn else [claim(one, 0, 0, "lock"), Release("x", one)]
    for request in (Stand(), Admit(3), *ends):
        assert timeless(server.ask(request)) == timeless(rule.ask(request)), request
    for one, kind in ((used[-1], Ended), (used[6], Ended), (used[5], Granted)):
        asked = claim(one, 0, 0, "lock")
        assert isinstance(rule.ask(asked), kind)
        assert isinstance(server.ask(asked), kind), one


def test_a_voter_that_is_another_process_votes_not() -> None:
    """Under another process's name nothing is given and nothing prolonged; it still takes back."""
    server, rule = Server(), Rule()
    for request in (
        claim("one", 0, 0, "lock"), Renew("x", (Item("one", 1, TTL),)), Release("x", "one"),
        Admit(5), claim("one", 0, 0, "lock"), claim("two", 0, 0, "lock"),
    ):  # fmt: skip
        reply = rule.ask(request)
        assert timeless(server.ask(request)) == timeless(reply), request
    assert rule.slips["x"].last == 6


def test_what_a_process_has_kept_of_one_that_was_not_let_in_does_not_count() -> None:
    """One that was let in is remembered by the next; one that was asked and not let in is not."""
    server = Server()
    server.ask(Admit(5))
    assert server.ask(Stand(), b"second").remembers
    assert server.ask(Stand(), b"second").remembers
    assert not server.ask(Stand(), b"third").remembers
    assert not server.ask(Stand(), b"third").remembers
    assert server.ask(Admit(5), b"third").settled
    assert server.ask(Stand(), b"fourth").remembers


def test_who_knows_nothing_says_for_how_long_it_has_known_that() -> None:
    """Counted from the first question, by the server's clock; whoever was let in says nothing."""
    server = Server()
    first, second = server.ask(Stand()).blank_for, server.ask(Stand()).blank_for
    assert first == 0
    assert 0 < second < 60
    assert server.ask(Admit(5)).settled
    assert server.ask(Stand()).blank_for is None
