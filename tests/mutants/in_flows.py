"""Bugs in the stories: acquiring, keeping, losing, releasing."""

from tests.mutants.catchers import FLOWS, SIMULATOR, STRIKES
from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "half_spent_taken_for_fresh",
        "a lease that was handed over half spent is renewed as if it had just begun",
        "flows/begin.py",
        "rule.next_renewal(now, deadline - now) if order.renew",
        "rule.next_renewal(now, order.want.ttl) if order.renew",
        FLOWS,
    ),
    Mutant(
        "deadline_from_the_reply",
        "a slow reply makes the lease look longer than it is",
        "flows/acquire.py",
        "deadline = rule.deadline(asked_at, reply.remaining)",
        "deadline = rule.deadline(runtime.now(), reply.remaining)",
        SIMULATOR,
    ),
    Mutant(
        "over_on_arrival",
        "a body starts under a grant that had ended before the reply came",
        "flows/acquire.py",
        "if now < deadline and not ticket.broken:  # most calls end here",
        "if deadline:",
        FLOWS,
    ),
    Mutant(
        "notice_believed_without_limit",
        "a life that is known from a notice alone is counted from when it was heard",
        "flows/begin.py",
        "deadline = rule.deadline(ticket.confirmed_at, granted.remaining)",
        "deadline = rule.deadline(now, granted.remaining)",
        SIMULATOR,
    ),
    Mutant(
        "still_waiting_counted_from_the_reply",
        'a hand-over that crossed a slow "still waiting" seems younger than it is',
        "flows/acquire.py",
        "ticket.confirmed_at = asked_at\n            ticket.holders = reply.holders",
        "ticket.confirmed_at = session.runtime.now()\n            ticket.holders = reply.holders",
        SIMULATOR,
    ),
    Mutant(
        "unconfirmed_is_called_busy",
        'whoever gives up is told "busy" though nobody knows what became of the claim',
        "flows/acquire.py",
        "if not isinstance(reply, Ended):",
        "if reply is not None and not isinstance(reply, Ended):",
        FLOWS,
    ),
    Mutant(
        "a_late_grant_is_called_undone",
        "who was granted too late hears that nothing was changed, though nobody has confirmed it",
        "flows/explain.py",
        'outcome="unknown" if unsure else "none"',
        'outcome="none"',
        FLOWS,
    ),
    Mutant(
        "confirmed_though_broken",
        "a body starts under a grant that was broken while it was being confirmed",
        "flows/begin.py",
        "        # It may have been broken, or its client closed, while it was being confirmed.\n"
        "        return state if ticket.good() else never_began(session, order, trip, state)\n",
        "        return state\n",
        FLOWS,
    ),
    Mutant(
        "the_first_copy_is_forgotten",
        "busy after a lost reply: the first copy of the claim may still be granted",
        "flows/acquire.py",
        "to_be_withdrawn = ticket.doubtful",
        "to_be_withdrawn = False",
        SIMULATOR,
    ),
    Mutant(
        "unknown_claims_are_left_behind",
        "a claim that was given up is not withdrawn, and holds for nobody",
        "flows/acquire.py",
        'to_be_withdrawn = error.outcome == "unknown"',
        "to_be_withdrawn = False",
        SIMULATOR,
    ),
    Mutant(
        "lost_reply_taken_for_no_answer",
        "what may have been done is reported as not done",
        "flows/session.py",
        'outcome = error.outcome = error.outcome if outcome == "none" else outcome',
        'outcome = error.outcome = "none"',
        SIMULATOR,
    ),
    Mutant(
        "asked_again_counts_from_the_reply",
        "a claim that had to be asked for again makes the lease look longer than it is",
        "flows/session.py",
        "        else:\n            return reply, asked_at",
        "        else:\n            return reply, runtime.now()",
        SIMULATOR,
    ),
    Mutant(
        "a_struck_clean_up_is_forgotten",
        "a caller that is cancelled twice leaves its claim behind",
        "flows/release.py",
        """        return None
    except BaseException:
        session.leave(request, until)
        raise
""",
        """        return None
""",
        STRIKES,
    ),
    Mutant(
        "a_struck_release_is_forgotten",
        "a release that is interrupted leaves the lease to its ttl",
        "flows/release.py",
        """        session.leave(Release(state.name, state.claim_id), state.surely_over_at)
        raise
""",
        "        raise\n",
        FLOWS,
    ),
    Mutant(
        "an_unconfirmed_release_is_forgotten",
        "a release whose reply was lost is not said again",
        "flows/release.py",
        """    session.leave(request, state.surely_over_at)
    session.hub.tell(events.ReleaseFailed(""",
        "    session.hub.tell(events.ReleaseFailed(",
        SIMULATOR,
    ),
    Mutant(
        "a_loss_found_by_the_release_is_silent",
        "a lease that was taken away before its release looks as if it had been good",
        "flows/release.py",
        'if isinstance(reply, Ended) and reply.how != "released":',
        'if isinstance(reply, Ended) and reply.how == "gone":',
        FLOWS,
    ),
    Mutant(
        "renewal_counted_from_the_reply",
        "a slow renewal makes the lease look longer than it is",
        "flows/keep.py",
        "confirmed = rule.deadline(asked_at, answer.remaining)",
        "confirmed = rule.deadline(now, answer.remaining)",
        SIMULATOR,
    ),
    Mutant(
        "renewal_revives",
        "an answer that comes after the deadline brings the lease back",
        "flows/keep.py",
        """    if now >= state.deadline:
        return  # it is lost, whatever the backend would say
""",
        "",
        SIMULATOR,
    ),
    Mutant(
        "renewal_errors_swallowed",
        "no answer is taken for a good one",
        "flows/keep.py",
        '            error = f"unexpected answer ({type(answer).__name__})"\n',
        """            state.deadline = rule.deadline(asked_at, item.ttl)
            error = f"unexpected answer ({type(answer).__name__})"
""",
        SIMULATOR,
    ),
    Mutant(
        "end_of_a_lease_ignored",
        "the holder goes on although the backend says that the lease is over",
        "flows/keep.py",
        'lose(session, state, f"the backend has ended it ({answer.how})")',
        "pass",
        SIMULATOR,
    ),
    Mutant(
        "renewed_beyond_max_hold",
        "a lease is believed in for longer than its caller allowed",
        "flows/keep.py",
        "state.deadline = min(max(state.deadline, confirmed), state.stop_at)",
        "state.deadline = max(state.deadline, confirmed)",
        FLOWS,
    ),
    Mutant(
        "lost_notices_are_never_made_up_for",
        "who was not told of its grant waits for ever",
        "flows/keep.py",
        "            ticket.settle(Confirmed(answer, asked_at))\n",
        "            pass\n",
        SIMULATOR,
    ),
    Mutant(
        "chores_are_forgotten",
        "a release that the keeper could not deliver is not said again",
        "flows/keep.py",
        "book.chores.extend(failed)",
        "failed.clear()",
        SIMULATOR,
    ),
    Mutant(
        "losses_are_not_told",
        "nobody hears of a deadline that has passed",
        "flows/keep.py",
        "if state.loss or now >= state.deadline:",
        "if state.loss:",
        SIMULATOR,
    ),
    Mutant(
        "listeners_are_not_called",
        "the body is not stopped when its lease is lost",
        "flows/lose.py",
        "while state.listeners:",
        "while False:",
        FLOWS,
    ),
    Mutant(
        "company_is_not_lost",
        "of several names held together one is lost, and the work goes on under the others",
        "flows/lose.py",
        "                lose(session, other, reason)\n",
        "                pass\n",
        FLOWS,
    ),
    Mutant(
        "extension_revives",
        "an extension that is answered after the deadline brings the lease back",
        "flows/extend.py",
        """    if not state.holds(session.runtime.now()):
        raise lost_error(session, state)  # the answer came too late: nothing revives a lease
""",
        "",
        FLOWS,
    ),
    Mutant(
        "extension_counted_from_the_reply",
        "a slow extension makes the lease look longer than it is",
        "flows/extend.py",
        "confirmed = rule.deadline(asked_at, answer.remaining)",
        "confirmed = rule.deadline(session.runtime.now(), answer.remaining)",
        SIMULATOR,
    ),
    Mutant(
        "held_is_a_flag",
        "what some thread should have set is believed, and not the clock",
        "flows/book.py",
        "return now < self.deadline and not self.loss and not self.released",
        "return not self.loss and not self.released",
        SIMULATOR,
    ),
    Mutant(
        "amnesia_is_ignored",
        "a server that has lost its memory is trusted as before",
        "flows/book.py",
        """                    state.deadline = -inf  # somebody else may be in already
                    state.loss = notice.reason
""",
        "                    state.renew_at = -inf\n",
        SIMULATOR,
    ),
    Mutant(
        "old_notices_are_believed",
        "a notice that was overtaken by a newer grant lets its reader in",
        "flows/book.py",
        "if ticket is not None and notice.token > self.seen_token(notice.name):",
        "if ticket is not None:",
        FLOWS,
    ),
    Mutant(
        "child_keeps_the_parents_lease",
        "both processes hold after a fork",
        "flows/rounds.py",
        """        state.loss = "this process was forked, and the lease stayed with its parent"
        state.released = True  # so that nothing done here reaches the parent's grant
""",
        "        state.renew_at = inf\n",
        SIMULATOR,
    ),
    Mutant(
        "standstill_counts_as_time",
        "a lease is taken from its owner because both stood still",
        "flows/rounds.py",
        "if state.looks < LOOKS:",
        "if now < state.started_at + ON_ITS_WAY:",
        FLOWS,
    ),
    Mutant(
        "orphans_are_kept",
        "a lease that nobody ever had is renewed for ever",
        "flows/rounds.py",
        "if not state.released and (state.face is not None or _is_awaited(state)):",
        "if state:",
        SIMULATOR,
    ),
)
