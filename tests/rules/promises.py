"""The promises of DESIGN section 5, each as one small check of one step.

Written from the design, not from the rule: each looks only at what went in and what came out, and
at the ledger of what was seen before. ``answers`` holds those about what is said to the asker.
"""

from __future__ import annotations

from holdfast.rules import tombstones
from holdfast.rules.claim import step
from holdfast.rules.holding import Grant
from holdfast.rules.messages import Break, Claim, Item, Look, Renew
from tests.rules.answers import ANSWERS
from tests.rules.ledger import Ledger, endings, was_over
from tests.rules.scene import Moment, asking, grants_of, typed, waiters_of


def capacity_is_never_exceeded(moment: Moment, _: Ledger) -> None:
    """See that all who hold want the same of the name, and together no more than there is."""
    after = moment.after
    assert sum(grant.want.weight for grant in after.grants) <= after.capacity
    wants = [grant.want for grant in after.grants] + [waiter.want for waiter in after.queue]
    for want in wants:
        assert (want.kind, want.capacity) == (after.kind, after.capacity)


def nobody_believes_in_vain(moment: Moment, ledger: Ledger) -> None:
    """See that who was told that it holds does hold, until the time it was told."""
    grants = grants_of(moment.after)
    for claim_id, belief in ledger.beliefs.items():
        assert grants[claim_id].token == belief.token
    assert sum(one.weight for one in ledger.beliefs.values()) <= moment.after.capacity


def nobody_passes_a_living_waiter(moment: Moment, _: Ledger) -> None:
    """See that a grant passes only those whose inbox is closed and who did not ask."""
    places = {one: place for place, one in enumerate(waiters_of(moment.before))}
    for granted in _new_grants(moment):
        place = places.get(granted.claim_id, len(places))
        for waiter in moment.after.queue:
            if places.get(waiter.claim_id, len(places)) < place:
                assert not _reachable(moment, waiter.claim_id, waiter.inbox)


def nothing_is_left_lying(moment: Moment, _: Ledger) -> None:
    """See that the first waiter who can be reached waits only because it does not fit."""
    after = moment.after
    free = after.capacity - sum(grant.want.weight for grant in after.grants)
    living = [one for one in after.queue if _reachable(moment, one.claim_id, one.inbox)]
    assert not living or living[0].want.weight > free


def places_are_kept(moment: Moment, _: Ledger) -> None:
    """See that the queue keeps its order, and a newcomer joins at its end."""
    before, after = list(waiters_of(moment.before)), list(waiters_of(moment.after))
    stayed = [one for one in before if one in after]
    assert after[: len(stayed)] == stayed
    newcomers = after[len(stayed) :]
    assert not newcomers or newcomers == list(asking(moment.request))


def nothing_ends_without_cause(moment: Moment, _: Ledger) -> None:
    """See that time, death and requests end what they must, and nothing else ends."""
    ended = endings(moment)
    grants, waiters = grants_of(moment.after), waiters_of(moment.after)
    for claim_id in grants_of(moment.before):
        assert (claim_id in grants) is (claim_id not in ended)
    for claim_id in waiters_of(moment.before):
        assert (claim_id in grants or claim_id in waiters) is (claim_id not in ended)


def ended_ids_stay_ended(moment: Moment, ledger: Ledger) -> None:
    """See that who ended in the last minute is remembered and does not come back."""
    alive = grants_of(moment.after).keys() | waiters_of(moment.after).keys()
    assert alive.isdisjoint(ledger.graves)
    for claim_id, (how, _) in ledger.graves.items():
        assert tombstones.fate(moment.after.ended, claim_id) == how
    assert moment.after.ended.count(";") == len(ledger.graves)


def tokens_rise(moment: Moment, ledger: Ledger) -> None:
    """See that each token is above the last and the claimant's, and not below mint."""
    last = moment.before.last_token
    for grant in _new_grants(moment):
        seen = ledger.claims[grant.claim_id].seen_token
        last = max(last + 1, moment.mint, seen + 1)
        assert grant.token == last
    assert moment.after.last_token == last
    issued = list(ledger.tokens.values())
    assert issued == sorted(set(issued))


def lives_are_as_promised(moment: Moment, _: Ledger) -> None:
    """See that a new grant lives its ttl, or three seconds if its client did not ask."""
    now, old = moment.now, grants_of(moment.before)
    for grant in moment.after.grants:
        before = old.get(grant.claim_id)
        if before is not None:
            expected = before.ends_at
        elif grant.claim_id in asking(moment.request):
            expected = now + grant.want.ttl
        else:
            expected = now + min(3.0, grant.want.ttl)
        for item in _items(moment, grant.claim_id):
            if item.token in {0, grant.token} and not grant.broken:
                expected = max(expected, now + item.ttl)
        assert grant.ends_at == expected


def patience_only_grows(moment: Moment, _: Ledger) -> None:
    """See that a waiter lives on when its client asks again or renews it, and never less long."""
    old, request = waiters_of(moment.before), moment.request
    for waiter in moment.after.queue:
        before = old.get(waiter.claim_id)
        spans = [item.patience for item in _items(moment, waiter.claim_id)]
        if isinstance(request, Claim) and request.claim_id == waiter.claim_id:
            spans.append(request.patience)
        ends = [moment.now + span for span in spans]
        assert waiter.patience_until == max([before.patience_until, *ends] if before else ends)


def grants_do_not_change(moment: Moment, ledger: Ledger) -> None:
    """See that a grant is made of its claim; then only its end moves, and only a break marks it."""
    old, request = grants_of(moment.before), moment.request
    for grant in moment.after.grants:
        claim, before = ledger.claims[grant.claim_id], old.get(grant.claim_id)
        assert (grant.want, grant.holder, grant.inbox) == (claim.want, claim.holder, claim.inbox)
        if before is None:
            assert (grant.granted_at, grant.broken) == (moment.mint / 1e6, "")
            continue
        assert grant.token == before.token
        assert (grant.granted_at, grant.slots) == (before.granted_at, before.slots)
        hit = isinstance(request, Break) and request.token == grant.token
        assert grant.broken == ("stuck" if hit else before.broken)


def slots_are_unique(moment: Moment, _: Ledger) -> None:
    """See that each holder of a semaphore has as many slots as it weighs, for itself."""
    after = moment.after
    taken = [slot for grant in after.grants for slot in grant.slots]
    assert len(taken) == len(set(taken))
    assert all(0 <= slot < after.capacity for slot in taken)
    for grant in after.grants:
        assert len(grant.slots) == (grant.want.weight if after.kind == "semaphore" else 0)


def notices_go_to_those_who_did_not_ask(moment: Moment, _: Ledger) -> None:
    """See that there is one notice per grant that no reply tells of, one per break."""
    told = [
        _notice("granted", grant, grant.ends_at - moment.now)
        for grant in _new_grants(moment)
        if grant.claim_id not in asking(moment.request)
    ]
    request = moment.request
    if isinstance(request, Break):
        for grant in moment.before.grants:
            if grant.token == request.token and not was_over(moment, grant):
                what = "forced" if request.force else "broken"
                told.insert(0, _notice(what, grant, 0.0))
    shown = [
        (one.what, one.inbox, one.claim_id, one.token, one.life, one.granted_at, one.slots)
        for one in moment.notices
    ]
    assert shown == told
    for notice in moment.notices:
        assert notice.reason == ("" if notice.what == "granted" else "stuck")


def a_step_is_a_pure_function(moment: Moment, _: Ledger) -> None:
    """See that the same record, request and times always make the same."""
    when = (moment.now, moment.mint, moment.closed, moment.gone)
    again = step(moment.before, moment.request, *when)
    assert (again.record, again.notices) == (moment.after, moment.notices)
    assert typed(again.reply) == typed(moment.reply)


def asking_twice_changes_nothing(moment: Moment, _: Ledger) -> None:
    """See that the same request at the same moment gives the same answer and moves nothing."""
    request = moment.request
    if isinstance(request, Claim) and request.holder.client in moment.gone:
        return  # the late claim of a dead client is dropped by whatever step comes next
    when = (moment.now, moment.mint, moment.closed, moment.gone)
    again = step(moment.after, request, *when)
    assert again.record == moment.after
    if not isinstance(request, Break):
        assert typed(again.reply) == typed(moment.reply)
        assert again.notices == ()


def looking_changes_nothing(moment: Moment, _: Ledger) -> None:
    """See that who looks gets an answer, and that is all."""
    if isinstance(moment.request, Look):
        assert moment.after == moment.before
        assert moment.notices == ()


ALWAYS = (
    a_step_is_a_pure_function,
    looking_changes_nothing,
    asking_twice_changes_nothing,
    *ANSWERS,
)
WHEN_MOVED = (
    capacity_is_never_exceeded,
    nobody_believes_in_vain,
    nobody_passes_a_living_waiter,
    nothing_is_left_lying,
    places_are_kept,
    nothing_ends_without_cause,
    ended_ids_stay_ended,
    tokens_rise,
    lives_are_as_promised,
    patience_only_grows,
    grants_do_not_change,
    slots_are_unique,
    notices_go_to_those_who_did_not_ask,
)


class Witness:
    """Watches a history and holds the rule to all its promises."""

    def __init__(self) -> None:
        self.ledger = Ledger()

    def __call__(self, moment: Moment) -> None:
        """Check one step."""
        self.ledger.write(moment)
        moved = not isinstance(moment.request, Look)
        for promise in (*ALWAYS, *WHEN_MOVED) if moved else ALWAYS:
            promise(moment, self.ledger)


def _new_grants(moment: Moment) -> list[Grant]:
    old = grants_of(moment.before)
    return [grant for grant in moment.after.grants if grant.claim_id not in old]


def _reachable(moment: Moment, claim_id: str, inbox: str) -> bool:
    return inbox not in moment.closed or claim_id in asking(moment.request)


def _items(moment: Moment, claim_id: str) -> list[Item]:
    items = moment.request.items if isinstance(moment.request, Renew) else ()
    return [item for item in items if item.claim_id == claim_id]


def _notice(what: str, grant: Grant, life: float) -> tuple[object, ...]:
    return (what, grant.inbox, grant.claim_id, grant.token, life, grant.granted_at, grant.slots)
