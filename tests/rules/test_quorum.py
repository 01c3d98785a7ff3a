"""What votes amount to, by example and by property: majorities, tokens, validity, who may vote."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import BackendUnavailable
from holdfast.rules import ballot
from holdfast.rules.ballot import Terms
from holdfast.rules.messages import (
    Break,
    Broke,
    Busy,
    Claim,
    Ended,
    Granted,
    Later,
    NotHeld,
    Release,
    Want,
)
from holdfast.rules.play import Play
from holdfast.rules.quorum_messages import Admit, Answer, Stood, Undo, VoterRequest
from holdfast.rules.standing import Applicant, admissions
from holdfast.rules.voter import Slip, Standing, step
from holdfast.values import Holder

TTL = 10.0


def terms(nodes: int) -> Terms:
    """Give the terms of a quorum."""
    return Terms(tuple(f"n{number}" for number in range(nodes)))


def claim(claim_id: str, patience: float = 0.0) -> Claim:
    """Claim ``x``."""
    holder = Holder(claim_id.partition(" ")[0], "host", 1)
    return Claim("x", claim_id, Want("lock", 1, 1, TTL), holder, f"in {claim_id}", patience)


class Voters:
    """Voters in memory, some of which can be out of reach."""

    def __init__(self, nodes: int) -> None:
        self.terms = terms(nodes)
        self.slips = [Slip("x") for _ in range(nodes)]
        self.standings = [Standing(settled=True) for _ in range(nodes)]

    def ask(self, number: int, request: VoterRequest) -> Answer:
        """Let one voter answer."""
        after = step(self.slips[number], self.standings[number], request, 0.0)
        self.slips[number], self.standings[number] = after.slip, after.standing
        return after.reply

    def play(
        self,
        request: Claim | Release | Break,
        lost: frozenset[int] = frozenset(),
        mute: frozenset[int] = frozenset(),
    ) -> Granted | Ended | Busy | Later | Broke | NotHeld | BackendUnavailable:
        """Tell one story; ``lost`` voters hear nothing, ``mute`` ones are not heard."""
        play = Play([request], self.terms, {})
        while play.asks:
            (ask,) = play.asks
            found = {n: self.ask(n, one) for n, one in ask.requests.items() if n not in lost}
            play.answer([{n: one for n, one in found.items() if n not in mute}])
            for number, told in play.take_tells():
                if number not in lost:
                    self.ask(number, told)
        (reply,) = play.replies
        assert isinstance(reply, (Granted, Ended, Busy, Later, Broke, NotHeld, BackendUnavailable))
        return reply

    def held(self, claim_id: str) -> int:
        """Count the votes that a claim has."""
        return sum(
            1 for one in self.slips if one.grant is not None and one.grant.claim_id == claim_id
        )


@pytest.mark.parametrize("nodes, need, spare", [(3, 2, 1), (5, 3, 2), (7, 4, 3)])
def test_a_majority(nodes: int, need: int, spare: int) -> None:
    """More than half is needed; fewer than half may be missing."""
    assert (terms(nodes).need, terms(nodes).spare) == (need, spare)


def test_a_second_round_only_where_counters_disagree() -> None:
    """The token is the largest of a majority, and those below it stand at it before it is told."""
    voters = Voters(3)
    voters.slips[0] = Slip("x", last=40)
    asked: list[int] = []
    play = Play([claim("a")], voters.terms, {})
    while play.asks:
        (ask,) = play.asks
        asked.append(len(ask.requests))
        found = {n: voters.ask(n, one) for n, one in ask.requests.items() if n != 2}
        play.answer([found])
    reply = play.replies[0]
    assert isinstance(reply, Granted)
    assert (reply.token, asked) == (41, [3, 1])
    assert [slip.last for slip in voters.slips] == [41, 41, None]
    voters.play(Release("x", "a"))
    again = voters.play(claim("b"))
    assert isinstance(again, Granted)
    assert again.token == 42


def test_a_lower_majority_is_enough() -> None:
    """A voter that is far ahead does not force the others up, if they are a majority."""
    voters = Voters(3)
    voters.slips[0] = Slip("x", last=40)
    granted = [Granted("a", token, TTL, 0.0) for token in (41, 1, 1)]
    assert ballot.token(dict(enumerate(granted)), voters.terms) == 1


def test_who_stands_elsewhere_is_told_the_token() -> None:
    """Above it or below it: so whoever breaks the lock by its token finds a majority."""
    voters = Voters(3)
    for number, last in enumerate((71, 73, 75)):
        voters.slips[number] = Slip("x", last=last)
    granted = voters.play(claim("a 1"))
    assert isinstance(granted, Granted)
    assert [one.grant.token for one in voters.slips if one.grant] == [granted.token] * 3
    broken = voters.play(Break("x", granted.token, "in the way"))
    assert isinstance(broken, Broke)
    assert voters.slips[2].last == 76  # a counter never goes back


def test_a_break_of_a_minority_is_not_called_nothing() -> None:
    """One voter has marked the grant and told its holder, so nobody says that nothing was done."""
    voters = Voters(3)
    granted = voters.play(claim("a 1"))
    assert isinstance(granted, Granted)
    for number in (1, 2):
        slip = voters.slips[number]
        assert slip.grant is not None
        voters.slips[number] = slip._replace(grant=slip.grant._replace(token=granted.token + 5))
    unsure = voters.play(Break("x", granted.token, "in the way"))
    assert isinstance(unsure, BackendUnavailable)
    assert unsure.outcome == "unknown"
    assert isinstance(voters.play(Break("x", 99, "in the way")), NotHeld)


def test_validity_is_that_of_the_majority_that_lives_longest() -> None:
    """The votes that it can do without do not shorten it; drift is taken off."""
    lives = {number: Granted("a", 1, life, 0.0) for number, life in enumerate((9.0, 4.0, 8.0))}
    assert ballot.validity(lives, terms(3), TTL) == pytest.approx(8.0 - 0.1 - 0.002)


def test_a_try_that_met_somebody_leaves_nothing() -> None:
    """Also where its vote was given and not heard of; who holds it is named, node by node."""
    voters = Voters(3)
    for number in (0, 1):
        voters.ask(number, claim("bob"))
    reply = voters.play(claim("ann", patience=3.0), mute=frozenset({2}))
    assert isinstance(reply, Later)
    assert [held.holder.client for held in reply.holders] == ["bob"]
    assert "held by" in reply.told[0]
    assert voters.held("ann") == 0
    late = voters.ask(2, claim("ann"))
    assert isinstance(late, Ended)  # a copy that comes behind its own undoing comes too late


def test_split_votes_have_no_holder() -> None:
    """Nobody is named who does not hold it, also to those who do not wait."""
    voters = Voters(3)
    voters.ask(0, claim("bob"))
    voters.ask(1, claim("cid"))
    reply = voters.play(claim("ann"))
    assert isinstance(reply, Later)
    assert reply.holders == ()


def test_nothing_is_undone_while_nobody_is_in_the_way() -> None:
    """The same claim is asked again and finds its votes."""
    voters = Voters(3)
    reply = voters.play(claim("ann"), lost=frozenset({1, 2}))
    assert isinstance(reply, BackendUnavailable)
    assert reply.outcome == "unknown"
    assert voters.held("ann") == 1
    assert isinstance(voters.play(claim("ann")), Granted)


def test_unreachable_servers_are_named() -> None:
    """The error says what each of them answered."""
    voters = Voters(3)
    reply = voters.play(claim("ann"), lost=frozenset({0, 1, 2}))
    assert isinstance(reply, BackendUnavailable)
    assert all(name in reply.message for name in voters.terms.names)


@given(
    st.sampled_from((3, 5, 7)),
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sets(st.integers(0, 6)), st.sets(st.integers(0, 6))),
        max_size=30,
    ),
)
def test_one_holds_at_a_time_and_tokens_grow(
    nodes: int, tries: list[tuple[str, set[int], set[int]]]
) -> None:
    """Whatever is lost on the way, a grant excludes all others and has the largest token."""
    voters = Voters(nodes)
    largest, holder = 0, ""
    for number, (who, lost, mute) in enumerate(tries):
        claim_id = f"{who} {number}"
        reply = voters.play(claim(claim_id), frozenset(lost), frozenset(mute))
        if isinstance(reply, Granted):
            assert voters.held(claim_id) >= voters.terms.need
            assert not holder or voters.held(holder) < voters.terms.need
            assert reply.token > largest
            largest = reply.token
            released = voters.play(Release("x", claim_id), frozenset(lost))
            holder = "" if isinstance(released, Ended) else claim_id
            for stray in range(nodes):  # what was not told is told later
                voters.ask(stray, Undo("x", claim_id))
        else:
            for stray in range(nodes):
                voters.ask(stray, Undo("x", claim_id))


def stood(settled: bool, highest: int = 0, wall: int = 0, remembers: bool = False) -> Stood:  # noqa: FBT001, FBT002
    """Say how a voter stands."""
    return Stood(settled, highest, wall, remembers)


def test_a_new_quorum_is_founded_from_the_latest_clock() -> None:
    """Nobody knows anything: all begin above every clock, so above whatever was before."""
    applicants = {n: Applicant(stood(False, wall=100 + n), 11.0) for n in range(3)}
    found = admissions({}, applicants, terms(3), TTL)
    assert found.let_in == {n: Admit(102) for n in range(3)}
    assert found.look_in == inf


def test_who_restarted_waits_and_takes_the_tokens_of_the_others() -> None:
    """The quarantine first; then the highest of f + 1 others, and never its own clock."""
    others = {0: stood(True, 7), 1: stood(True, 9)}
    young = {2: Applicant(stood(False, wall=10**15), 6.0)}
    assert admissions(others, young, terms(3), TTL) == ({}, 4.0)
    old = {2: Applicant(stood(False, wall=10**15), TTL)}
    assert admissions(others, old, terms(3), TTL).let_in == {2: Admit(9)}
    assert admissions({0: others[0]}, old, terms(3), TTL).let_in == {}
    assert admissions(others, young, terms(3), 0.0).let_in == {2: Admit(9)}  # turned off


def test_who_was_emptied_without_a_restart_waits_from_when_it_was_noticed() -> None:
    """An old process that knows nothing has forgotten just now, for all that anybody knows."""
    others = {0: stood(True, 7), 1: stood(True, 9)}
    emptied = {2: Applicant(stood(False)._replace(blank_for=1.0), 1000.0)}
    assert admissions(others, emptied, terms(3), TTL) == ({}, TTL - 1.0)


def test_a_majority_that_was_emptied_waits_while_one_still_knows() -> None:
    """They are old, and no restart is to be seen: but somebody knows that the quorum is not new."""
    settled = {0: Stood(settled=True, highest=70, wall=100)}
    emptied = Applicant(Stood(settled=False, highest=0, wall=100, blank_for=0.5), 1000.0)
    decided = admissions(settled, {1: emptied, 2: emptied}, terms(3), 10.0)
    assert decided.let_in == {}
    assert decided.look_in == pytest.approx(9.5)
    later = Applicant(emptied.stood._replace(blank_for=10.5), 1010.0)
    decided = admissions(settled, {1: later, 2: later}, terms(3), 10.0)
    assert decided.let_in == {1: Admit(100), 2: Admit(100)}


def test_who_kept_everything_votes_at_once() -> None:
    """With synchronous persistence nothing was forgotten, so nothing has to be waited for."""
    applicants = {2: Applicant(stood(False, 3, remembers=True), 1.0)}
    assert admissions({}, applicants, terms(3), TTL).let_in == {2: Admit(0)}


@given(st.sampled_from((3, 5)), st.data())
def test_no_token_is_forgotten_through_restarts_of_a_minority(
    nodes: int, data: st.DataObject
) -> None:
    """Grant, forget on some voters, let them in again by the rule: the next token is larger."""
    voters = Voters(nodes)
    spare, largest = voters.terms.spare, 0
    for number in range(8):
        out = data.draw(st.sets(st.integers(0, nodes - 1), max_size=spare))
        reply = voters.play(claim(f"a {number}"), frozenset(out))
        assert isinstance(reply, Granted)
        assert reply.token > largest
        largest = reply.token
        voters.play(Release("x", f"a {number}"))
        forgetful = data.draw(st.sets(st.integers(0, nodes - 1), max_size=spare))
        for one in forgetful:
            voters.slips[one], voters.standings[one] = Slip("x"), Standing()
        others = [n for n in range(nodes) if n not in forgetful]
        asked = data.draw(st.permutations(others))[: voters.terms.need]
        settled = {n: stood(True, voters.standings[n].highest) for n in asked}
        applicants = {n: Applicant(stood(False), TTL) for n in forgetful}
        for one, admit in admissions(settled, applicants, voters.terms, TTL).let_in.items():
            voters.ask(one, admit)
        assert all(standing.settled for standing in voters.standings)
