"""The rule for buckets: by example, and against random histories and the textbook's fractions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.rules.bucket import OWED_LIMIT, TAKES_LONGEST, Bucket, step
from holdfast.rules.bucket_messages import (
    BucketReply,
    BucketRequest,
    GaveBack,
    GiveBack,
    Short,
    Take,
    Terms,
    Took,
)
from holdfast.rules.messages import Refused
from tests.rules.bucket_histories import SECOND, TERMS, History, histories, play
from tests.rules.bucket_model import Model, Use, Witness
from tests.rules.record_histories import START, swap_id_of

pytestmark = pytest.mark.timeout(120)

TEN = Terms(10, SECOND, 10)
TENTH = 100_000


class Desk:
    """One bucket and a clock that only the test moves."""

    def __init__(self, terms: Terms = TEN) -> None:
        self.bucket: Bucket | None = None
        self.terms = terms
        self.now = START
        self.takes = 0
        self.spent = False

    def ask(self, request: BucketRequest) -> BucketReply:
        """Ask anything."""
        self.bucket, reply = step(self.bucket, request, self.now, spent=self.spent)
        return reply

    def take(
        self, permits: int = 1, wait: int = 0, take_id: str = "", *, adopt: bool = False
    ) -> BucketReply:
        """Take, with an id of its own."""
        self.takes += 1
        take_id = take_id or swap_id_of(self.takes)
        return self.ask(Take("limiter", "x", take_id, permits, self.terms, wait, adopt))

    def give_back(self, take_id: str) -> BucketReply:
        """Undo a take."""
        return self.ask(GiveBack("limiter", "x", take_id))


@settings(max_examples=800)
@given(histories("steady"))
def test_a_bucket_says_what_the_textbook_says(history: History) -> None:
    """Never too much in any stretch of time, in order, nothing taken twice, exact to the last."""
    play(history, Witness().ask)


@pytest.mark.soak
@pytest.mark.timeout(0)
@settings(max_examples=10_000)
@given(histories("steady", 150))
def test_a_bucket_says_what_the_textbook_says_for_long(history: History) -> None:
    """Long histories come out the same too."""
    play(history, Witness().ask)


@settings(max_examples=500)
@given(histories("mixed"))
def test_numbers_stay_where_servers_count_exactly(history: History) -> None:
    """Whatever is adopted, reserved or given back, what is owed stays in its limits."""
    buckets: dict[str, Bucket | None] = {}

    def ask(request: BucketRequest, now: int) -> BucketReply:
        buckets[request.name], reply = step(buckets.get(request.name), request, now)
        after = buckets[request.name]
        assert after is None or 0 < after.owed <= OWED_LIMIT
        assert after is None or len(after.takes) <= TAKES_LONGEST
        return reply

    play(history, ask)


@settings(max_examples=300)
@given(
    st.sampled_from(TERMS[:4]),
    st.lists(st.tuples(st.integers(0, 200_000), st.integers(0, 3_000_000)), max_size=40),
)
def test_a_clock_that_is_set_back_gives_nothing_away(
    terms: Terms, moves: list[tuple[int, int]]
) -> None:
    """By the time that really passes there is never too much, however often a clock is set back."""
    desk, model = Desk(terms), Model(terms)
    real = START
    for pause, back in moves:
        real += pause
        desk.now += pause - (back if back % 5 == 0 else 0)
        reply = desk.take(wait=back)
        if isinstance(reply, Took):
            model.uses.append(Use("", real + reply.ready_in, 1, reserved=True))
    model.never_too_much()


@given(st.sampled_from(TERMS), st.integers(1, 10), st.integers(0, 3))
def test_who_is_told_when_to_come_again_is_let_in_then_and_not_before(
    terms: Terms, permits: int, reserved: int
) -> None:
    """``retry_in`` is exact to the microsecond."""
    desk = Desk(terms)
    permits = min(permits, terms.burst)
    desk.take(terms.burst)
    for _ in range(reserved):
        desk.take(wait=10**15)
    reply = desk.take(permits)
    assert isinstance(reply, Short)
    desk.now += reply.retry_in - 1
    assert isinstance(desk.take(permits), Short)
    desk.now += 1
    assert isinstance(desk.take(permits), Took)


def test_a_burst_is_there_at_once_and_then_the_rate() -> None:
    """Ten at once, the eleventh a tenth of a second later."""
    desk = Desk()
    assert [desk.take() for _ in range(10)] == [Took(0, left) for left in range(9, -1, -1)]
    assert desk.take() == Short(TENTH, 0)
    desk.now += TENTH
    assert desk.take() == Took(0, 0)
    assert desk.take() == Short(TENTH, 0)


def test_several_permits_are_taken_together_or_not_at_all() -> None:
    """What does not fit leaves the bucket as it was."""
    desk = Desk()
    assert desk.take(8) == Took(0, 2)
    before = desk.bucket
    assert desk.take(3) == Short(TENTH, 2)
    assert desk.bucket is before
    assert desk.take(2) == Took(0, 0)


def test_those_who_wait_stand_in_line_and_nobody_passes_them() -> None:
    """Reservations follow each other at the rate; who does not wait finds nothing."""
    desk = Desk()
    desk.take(10)
    waits = [desk.take(wait=SECOND) for _ in range(3)]
    assert waits == [Took(TENTH, 0), Took(2 * TENTH, 0), Took(3 * TENTH, 0)]
    assert desk.take() == Short(4 * TENTH, 0)
    assert desk.take(wait=4 * TENTH - 1) == Short(4 * TENTH, 0)
    assert desk.take(wait=4 * TENTH) == Took(4 * TENTH, 0)


def test_a_take_asked_again_is_not_taken_twice() -> None:
    """It keeps its moment, however much later the answer is asked for."""
    desk = Desk()
    desk.take(10)
    assert desk.take(3, SECOND, "mine") == Took(3 * TENTH, 0)
    before = desk.bucket
    desk.now += TENTH
    assert desk.take(3, SECOND, "mine") == Took(2 * TENTH, 0)
    desk.now += 3 * TENTH
    assert desk.take(3, 0, "mine") == Took(0, 1)
    assert desk.bucket is before


def test_an_idle_bucket_leaves_nothing() -> None:
    """Once all is worked off it is like one that never was."""
    desk = Desk()
    desk.take(3)
    assert desk.bucket is not None
    assert desk.bucket.empty_at == START + 3 * TENTH
    desk.now = desk.bucket.empty_at
    assert desk.take() == Took(0, 9)
    assert desk.bucket.takes.count(";") == 1


def test_the_last_take_can_be_undone() -> None:
    """As if it had never been; and then the one before it is the last."""
    desk = Desk()
    desk.take(10)
    desk.take(1, SECOND, "first")
    without = desk.bucket
    desk.take(1, SECOND, "second")
    assert desk.give_back("second") == GaveBack("undone")
    assert desk.bucket == without
    assert desk.give_back("second") == GaveBack("unknown")
    assert desk.give_back("first") == GaveBack("undone")
    assert desk.take(wait=SECOND) == Took(TENTH, 0)


def test_a_take_that_others_came_after_stays() -> None:
    """Undone, it would put the next to come into the same moment as somebody who waits already."""
    desk = Desk()
    desk.take(10)
    desk.take(1, SECOND, "first")
    desk.take(1, SECOND, "second")
    before = desk.bucket
    assert desk.give_back("first") == GaveBack("kept")
    assert desk.bucket is before


def test_a_bucket_that_is_given_back_to_the_last_permit_is_gone() -> None:
    """Nothing owed, nothing kept."""
    desk = Desk()
    desk.take(1, 0, "mine")
    assert desk.give_back("mine") == GaveBack("undone")
    assert desk.bucket is None
    assert desk.give_back("mine") == GaveBack("unknown")


def test_other_terms_are_refused_while_it_is_in_use() -> None:
    """Whoever disagrees is told so, and with what it is in use; when it is idle, terms are free."""
    desk = Desk()
    desk.take(10)
    desk.terms = Terms(600, 60 * SECOND, 20)
    before = desk.bucket
    assert desk.take() == Refused("terms", "it is in use with 10 permits per 1 s and a burst of 10")
    assert desk.bucket is before
    desk.now += SECOND
    assert desk.take() == Took(0, 19)


def test_other_terms_can_be_adopted() -> None:
    """As many permits are owed as before; a broken one counts as whole."""
    desk = Desk()
    desk.take(10)
    desk.now += TENTH // 2  # nine and a half are owed
    desk.terms = Terms(1, SECOND, 20)
    assert desk.take(4, adopt=True) == Took(0, 6)
    assert desk.take(7) == Short(SECOND, 6)


def test_terms_are_adopted_even_if_nothing_can_be_had() -> None:
    """From then on the bucket is worked off at the new rate."""
    desk = Desk()
    desk.take(10)
    desk.terms = Terms(1, SECOND, 10)
    assert desk.take(adopt=True) == Short(SECOND, 0)
    assert desk.bucket is not None
    assert desk.bucket.terms == desk.terms


def test_a_backend_that_may_have_forgotten_starts_without_a_permit() -> None:
    """What it does not know counts as spent, and fills up at the rate."""
    desk = Desk()
    desk.spent = True
    assert desk.take() == Short(TENTH, 0)
    desk.now += 3 * TENTH
    assert desk.take(3) == Took(0, 0)
    desk.now += SECOND
    assert desk.take(10) == Took(0, 0), "this one it does know"


def test_a_clock_that_is_set_back_does_not_shut_the_door() -> None:
    """Neither a newcomer nor somebody who asks again waits for the clock to catch up."""
    desk = Desk()
    desk.take(10)
    assert desk.take(1, SECOND, "mine") == Took(TENTH, 0)
    desk.now -= 3600 * SECOND
    assert desk.take(1, SECOND, "mine") == Took(TENTH, 0)
    assert desk.take() == Short(2 * TENTH, 0)
    desk.now += 2 * TENTH
    assert desk.take() == Took(0, 0)


@pytest.mark.parametrize("permits", [0, -1, 11])
def test_what_can_never_be_had_is_refused(permits: int) -> None:
    """More than the burst at once, or none."""
    assert Desk().take(permits) == Refused("permits", f"{permits} of 10 can never be had at once")


@pytest.mark.parametrize(
    "terms",
    [
        Terms(0, SECOND, 1),
        Terms(1, 0, 1),
        Terms(1, SECOND, 0),
        Terms(1, SECOND, OWED_LIMIT // SECOND + 1),
        Terms(OWED_LIMIT + 1, 1, 1),
    ],
)
def test_terms_that_cannot_be_counted_are_refused(terms: Terms) -> None:
    """Nothing per nothing, or so much that a server could not count it exactly."""
    refused = Desk(terms).take()
    assert isinstance(refused, Refused)
    assert refused.why == "terms"


def test_reservations_end_where_counting_does() -> None:
    """A line that would be too long to count is not joined, whatever the wait."""
    terms = Terms(1, SECOND, OWED_LIMIT // SECOND)
    desk = Desk(terms)
    assert isinstance(desk.take(terms.burst), Took)
    assert isinstance(desk.take(1, wait=10**18), Short)
