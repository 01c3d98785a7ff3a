"""The same random history through the voter's rule and through its scripts on a real server.

Spans are long against a history, so that no clock has a say: what is compared is who has the vote,
with which token, who waits, who was told, and what ended how.
"""

import secrets
from typing import Any

import hiredis
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.backends.redlock.replies import read
from holdfast.backends.redlock.requests import Post
from holdfast.backends.redlock.scripts import NAMES, script
from holdfast.rules.messages import (
    Break,
    Claim,
    Item,
    Look,
    Release,
    Renew,
    Renewed,
    Seen,
    Want,
    Withdraw,
)
from holdfast.rules.quorum_messages import Admit, Stand, Stood, Undo, VoterRequest
from holdfast.rules.voter import Slip, Standing, step
from holdfast.values import Holder
from tests.servers.shared import shared_server

IDS = ("one", "two", "th+ree/", "four")
TTL = 1000.0

ids = st.sampled_from(IDS)
tokens = st.integers(0, 12)


def claim(claim_id: str, patience: float, seen: int, kind: Any) -> Claim:
    """Claim ``x`` for the client that is named like the claim."""
    holder = Holder(claim_id, "host", 7, "label")
    return Claim("x", claim_id, Want(kind, 1, 1, TTL), holder, f"in:{claim_id[0]}", patience, seen)


requests: st.SearchStrategy[VoterRequest] = st.one_of(
    st.builds(
        claim, ids, st.sampled_from((0.0, 900.0)), tokens, st.sampled_from(("lock", "lock", "lead"))
    ),
    st.builds(lambda one, token: Renew("x", (Item(one, token, TTL),)), ids, tokens),
    st.builds(lambda one: Release("x", one), ids),
    st.builds(lambda one: Withdraw("x", one), ids),
    st.builds(lambda one: Undo("x", one), ids),
    st.builds(lambda token, force: Break("x", token, "why", force), tokens, st.booleans()),
    st.just(Look("x")),
    st.just(Stand()),
    st.builds(Admit, st.integers(0, 9)),
)


class Server:
    """A real server as a voter."""

    def __init__(self) -> None:
        self._server = shared_server()
        self._post = Post(f"voter-{secrets.token_hex(6)}")
        for name in NAMES:
            self._server.ask("SCRIPT", "LOAD", script(name).body)

    def ask(self, request: VoterRequest, run: bytes = b"run") -> Any:
        """Carry out one request, as a wire does that is connected to the process ``run``."""
        call, keys, words = self._post.parcel(request, run)
        reader = hiredis.Reader()
        reader.feed(call.one(keys, words))
        raw = self._server.ask(*reader.gets())
        return read(request, _encoded(raw), "the server")


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


@settings(max_examples=120, deadline=None)
@given(st.lists(requests, max_size=25))
def test_the_scripts_do_what_the_rule_says(history: list[VoterRequest]) -> None:
    """Whatever a voter is asked, the server answers what the rule answers."""
    server, slip, standing = Server(), Slip("x"), Standing()
    for number, request in enumerate((Stand(), Admit(3), *history, Look("x"), Stand())):
        slip, standing, reply, _ = step(slip, standing, request, float(number))
        assert timeless(server.ask(request)) == timeless(reply), request


def test_a_voter_that_is_another_process_votes_not() -> None:
    """Under another process's name nothing is given and nothing prolonged; it still takes back."""
    server, slip, standing = Server(), Slip("x"), Standing()
    for request in (
        claim("one", 0, 0, "lock"), Renew("x", (Item("one", 1, TTL),)), Release("x", "one"),
        Admit(5), claim("one", 0, 0, "lock"), claim("two", 0, 0, "lock"),
    ):  # fmt: skip
        slip, standing, reply, _ = step(slip, standing, request, 0.0)
        assert timeless(server.ask(request)) == timeless(reply), request
    assert slip.last == 6


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
