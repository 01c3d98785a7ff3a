"""Several names in one step, by example and by property: all are granted, or none is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.rules.claim import step
from holdfast.rules.holding import Record
from holdfast.rules.many import ClaimAll
from holdfast.rules.messages import Busy, Claim, Ended, Granted, Refused, Release, Want
from holdfast.rules.together import FREE, step_all
from holdfast.values import Holder

LOCK = Want("lock", 1, 1, 10.0)
NAMES = ("a", "b", "c")
MINT = 1_000_000


def claim(name: str, claim_id: str, patience: float = 0.0, want: Want = LOCK) -> Claim:
    """Claim one name."""
    return Claim(name, claim_id, want, Holder(claim_id, "host", 1), f"inbox {claim_id}", patience)


def together(*names: str, who: str = "ann") -> ClaimAll:
    """Claim several names for one client."""
    return ClaimAll(tuple(claim(name, f"{who} {name}") for name in names))


def taken(records: dict[str, Record], *claims: Claim, now: float = 0.0) -> dict[str, Record]:
    """Let others take names first."""
    for one in claims:
        records[one.name] = step(records[one.name], one, now, MINT).record
    return records


def free() -> dict[str, Record]:
    """Give records of names that nobody uses."""
    return {name: Record(name) for name in NAMES}


def test_free_names_are_granted_together() -> None:
    """Each has a token of its own name, its full life, and no notice is needed."""
    records, reply, notices = step_all(free(), together(*NAMES), 5.0, MINT)
    assert [type(one) for one in reply.standings] == [Granted] * 3
    assert {record.grants[0].ends_at for record in records.values()} == {15.0}
    assert notices == ()


def test_one_busy_name_keeps_all_from_being_granted() -> None:
    """The records stay the very same, and the reply says who is in the way."""
    before = taken(free(), claim("b", "bob"))
    records, reply, _ = step_all(before, together(*NAMES), 0.0, MINT)
    first, second, third = reply.standings
    assert first == third == FREE
    assert isinstance(second, Busy)
    assert [held.holder.client for held in second.holders] == ["bob"]
    assert all(records[name] is before[name] for name in NAMES)


def test_a_living_waiter_is_not_passed() -> None:
    """A name that is free for the moment but waited for counts as busy."""
    before = taken(free(), claim("b", "bob"), claim("b", "cy", patience=60.0))
    before["b"] = before["b"]._replace(grants=())
    records, reply, notices = step_all(before, together(*NAMES), 0.0, MINT)
    assert isinstance(reply.standings[1], Busy)
    assert [grant.claim_id for grant in records["b"].grants] == ["cy"]
    assert [notice.claim_id for notice in notices] == ["cy"]
    assert records["a"].idle


def test_what_has_ended_is_dropped_first() -> None:
    """A grant past its end is in nobody's way."""
    before = taken(free(), claim("b", "bob"))
    records, reply, _ = step_all(before, together(*NAMES), 10.0, MINT)
    assert [type(one) for one in reply.standings] == [Granted] * 3
    assert records["b"].grants[0].claim_id == "ann b"


def test_asked_again_it_gives_what_is_there() -> None:
    """A lost reply is asked for again: the same tokens, and what is left of the life."""
    records, first, _ = step_all(free(), together(*NAMES), 0.0, MINT)
    again, second, _ = step_all(records, together(*NAMES), 4.0, MINT + 4)
    assert [one.token for one in second.standings if isinstance(one, Granted)] == [
        one.token for one in first.standings if isinstance(one, Granted)
    ]
    assert {one.remaining for one in second.standings if isinstance(one, Granted)} == {6.0}
    assert again == records


def test_an_ended_claim_is_not_granted_again() -> None:
    """Where one of the claims is over, none of the others is granted in its place."""
    records, _, _ = step_all(free(), together(*NAMES), 0.0, MINT)
    records["b"] = step(records["b"], Release("b", "ann b"), 1.0, MINT).record
    after, reply, _ = step_all(records, together(*NAMES), 2.0, MINT)
    assert isinstance(reply.standings[1], Ended)
    assert after["b"].grants == ()


def test_another_kind_is_refused() -> None:
    """The refusal names what it is in use as."""
    before = taken(free(), claim("c", "bob", want=Want("semaphore", 2, 1, 10.0)))
    reply = step_all(before, together(*NAMES), 0.0, MINT).reply
    assert isinstance(reply.standings[2], Refused)
    assert reply.standings[0] == FREE


@given(
    st.lists(
        st.tuples(
            st.sampled_from(NAMES),
            st.integers(0, 4),
            st.sampled_from([0.0, 60.0]),
            st.sampled_from([0.0, 1.0, 11.0]),
        ),
        max_size=12,
    ),
    st.permutations(NAMES),
)
def test_it_grants_what_single_claims_would_get_or_nothing(
    moves: list[tuple[str, int, float, float]], names: list[str]
) -> None:
    """All hold exactly if each single claim would have been granted; the reply says so."""
    now, records = 0.0, free()
    for number, (name, client, patience, pause) in enumerate(moves):
        now += pause
        records = taken(records, claim(name, f"c{client} {number}", patience), now=now)
    request = together(*names)
    single = [step(records[one.name], one, now, MINT).reply for one in request.claims]
    after, reply, _ = step_all(records, request, now, MINT)
    held = [any(g.holder.client.startswith("ann") for g in after[name].grants) for name in names]
    expected = all(isinstance(one, Granted) for one in single)
    assert held == [expected] * 3
    assert all(isinstance(one, Granted) for one in reply.standings) is expected
    if expected:
        assert list(reply.standings) == single
