"""Bugs in the rule for who may hold, and in how deadlines are counted."""

from tests.mutants.catchers import GRAVES, ORDERS, RULES, SIMULATOR, TOGETHER
from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "release_without_owner_check",
        "whoever releases ends what is granted, though it is somebody else's",
        "rules/claim.py",
        """    claim_id = request.claim_id
    how: Ending = "withdrawn"
""",
        """    claim_id = request.claim_id
    if desk.grants and claim_id not in desk.grants:
        claim_id = next(iter(desk.grants))
    how: Ending = "withdrawn"
""",
        SIMULATOR,
    ),
    Mutant(
        "withdraw_forgets_a_grant",
        "a claim that was granted meanwhile is not given back when it is withdrawn",
        "rules/claim.py",
        """    if claim_id in desk.grants:
        del desk.grants[claim_id]
        how =""",
        """    if claim_id in desk.grants and isinstance(request, Withdraw):
        return Ended(claim_id, how)
    if claim_id in desk.grants:
        del desk.grants[claim_id]
        how =""",
        SIMULATOR,
    ),
    Mutant(
        "withdraw_leaves_no_tombstone",
        "a claim that arrives after its own withdrawal comes to life",
        "rules/claim.py",
        "elif isinstance(request, Release) or desk.knows(claim_id):",
        "else:",
        SIMULATOR,
    ),
    Mutant(
        "asked_again_is_another_claim",
        "a claim whose reply was lost finds itself in its own way",
        "rules/claim.py",
        """    if desk.knows(claim_id):
        return desk.standing(claim_id)
""",
        "",
        SIMULATOR,
    ),
    Mutant(
        "broken_grants_are_renewed",
        "a holder whose lock an operator has broken keeps it as long as it likes",
        "rules/claim.py",
        "if not grant.broken and item.token in (0, grant.token):",
        "if item.token in (0, grant.token):",
        SIMULATOR,
    ),
    Mutant(
        "a_break_asks_for_no_token",
        "an operator who looked a moment too early breaks the lock of the next holder",
        "rules/claim.py",
        "(one for one in desk.grants.values() if one.token == request.token)",
        "iter(desk.grants.values())",
        RULES,
    ),
    Mutant(
        "token_kept_at_hand_over",
        "the next in line gets the token of the one before",
        "rules/desk.py",
        "        self.last_token = max(self.last_token + 1, self.mint, claim.seen_token + 1)\n",
        """        if isinstance(claim, Claim) or not self.last_token:
            self.last_token = max(self.last_token + 1, self.mint, claim.seen_token + 1)
""",
        SIMULATOR,
    ),
    Mutant(
        "token_lost_with_the_memory",
        "tokens are counted in the record alone, and begin anew when it is forgotten",
        "rules/desk.py",
        "max(self.last_token + 1, self.mint, claim.seen_token + 1)",
        "self.last_token + 1",
        SIMULATOR,
    ),
    Mutant(
        "token_from_the_clock_alone",
        "a wall clock that is set back takes the tokens with it",
        "rules/desk.py",
        "max(self.last_token + 1, self.mint, claim.seen_token + 1)",
        "max(self.mint, claim.seen_token + 1)",
        SIMULATOR,
    ),
    Mutant(
        "dead_waiters_stay",
        "a waiter whose client is silent keeps its place for ever",
        "rules/desk.py",
        "if dead or waiter.patience_until <= now:",
        "if dead:",
        SIMULATOR,
    ),
    Mutant(
        "dead_holders_stay",
        "a grant whose client is known to be dead lives out its ttl",
        "rules/desk.py",
        "dead = bool(gone) and grant.holder.client in gone and not grant.want.detached",
        "dead = False",
        RULES,
    ),
    Mutant(
        "leases_without_a_process_die",
        "a lease that was taken from a shell ends with the process that took it",
        "rules/desk.py",
        "grant.holder.client in gone and not grant.want.detached",
        "grant.holder.client in gone",
        RULES,
    ),
    Mutant(
        "grants_end_early",
        "the backend lets the next one in half a second before the holder must stop",
        "rules/desk.py",
        "if dead or grant.ends_at <= now:",
        "if dead or grant.ends_at <= now + 0.5:",
        SIMULATOR,
    ),
    Mutant(
        "waiters_are_passed",
        "a newcomer is let in although somebody waits",
        "rules/desk.py",
        "self.free() >= want.weight and all(one.inbox in self.closed for one in waiting)",
        "self.free() >= want.weight",
        SIMULATOR,
    ),
    Mutant(
        "writers_starve",
        "who needs little is let in past the one at the head who needs more",
        "rules/desk.py",
        "break  # nobody passes a living waiter",
        "continue",
        SIMULATOR,
    ),
    Mutant(
        "everybody_finds_room",
        "a second claim is granted beside the first",
        "rules/desk.py",
        "        waiting = self.queue.values()\n",
        "        return True\n        waiting = self.queue.values()\n",
        ORDERS,
    ),
    Mutant(
        "weights_are_ignored",
        "a writer takes one share like any reader, so others come in beside it",
        "rules/desk.py",
        "sum(grant.want.weight for grant in self.grants.values())",
        "len(self.grants)",
        SIMULATOR,
    ),
    Mutant(
        "slots_are_shared",
        "two holders of a semaphore get the same slot",
        "rules/desk.py",
        "used = {slot for grant in self.grants.values() for slot in grant.slots}",
        "used: set[int] = set()",
        SIMULATOR,
    ),
    Mutant(
        "renewal_shortens",
        "a renewal by less than is left takes from the lease what its holder counts on",
        "rules/desk.py",
        "if self.now + ttl > grant.ends_at:",
        "if grant:",
        RULES,
    ),
    Mutant(
        "patience_shortens",
        "asking again with less patience loses the place sooner",
        "rules/desk.py",
        "max(waiter.patience_until, self.now + patience)",
        "self.now + patience",
        RULES,
    ),
    Mutant(
        "handed_over_in_full",
        "a grant that may never be heard of blocks the others for its whole ttl",
        "rules/desk.py",
        "ttl if asked else min(FIRST_LIFE, ttl)",
        "ttl",
        RULES,
    ),
    Mutant(
        "all_or_some",
        "of several names those that are free are taken, though another is not",
        "rules/together.py",
        "if all(one is None or isinstance(one, Granted) for one in found):",
        "if any(one is None or isinstance(one, Granted) for one in found):",
        TOGETHER,
    ),
    Mutant(
        "tombstones_crumble",
        "an id that ended is forgotten after half a minute",
        "rules/tombstones.py",
        "> now * 1000:",
        "> (now + KEPT_FOR / 2) * 1000:",
        GRAVES,
    ),
    Mutant(
        "tombstones_are_misread",
        "an id that is the end of another one is taken for it",
        "rules/tombstones.py",
        """    while at > 0 and ended[at - 1] != ";":  # the end of another id
        at = ended.find(claim_id + " ", at + 1)
""",
        "",
        GRAVES,
    ),
    Mutant(
        "margin_dropped",
        "nothing is allowed for clocks that differ",
        "rules/lease.py",
        "remaining - (remaining * RATE_ERROR + SLACK)",
        "remaining",
        SIMULATOR,
    ),
    Mutant(
        "renewed_too_late",
        "a lease is renewed just when it ends, so that one slow reply loses it",
        "rules/lease.py",
        "return now + life / 3",
        "return now + life",
        SIMULATOR,
    ),
)
