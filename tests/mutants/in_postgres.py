"""Bugs in what PostgreSQL decides: the rule in SQL, and what a caller's transaction is told."""

from tests.mutants.catchers import by_pytest
from tests.mutants.mutant import Mutant

SQL = by_pytest("SQL differential", "tests/backends/postgres/test_differential.py")
PINS = by_pytest("pins", "tests/backends/postgres/test_pins.py")
GUARD = by_pytest("guard", "tests/postgres/test_guard.py")
FENCE = by_pytest("fence", "tests/postgres/test_fence.py")
MISUSE = by_pytest("misuse", "tests/postgres/test_misuse.py")
QUEUE = by_pytest("long queue", "tests/backends/postgres/test_long_queue.py")
LATE = by_pytest("late cancel", "tests/backends/postgres/advisory/test_late_cancel.py")

STEP = "backends/postgres/schema/steps/2_in_transactions.sql"

MUTANTS = (
    Mutant(
        "sql_tokens_counted_alone",
        "on PostgreSQL tokens begin anew when a name is forgotten",
        "backends/postgres/schema/2_moves.sql",
        "larger := greatest(n.last_token + 1, a_now, w.seen_token + 1);",
        "larger := n.last_token + 1;",
        SQL,
    ),
    Mutant(
        "sql_claim_ignores_tombstones",
        "on PostgreSQL a claim that was withdrawn before it arrived comes to life",
        "backends/postgres/schema/4_claims.sql",
        "AND s.taken = 0 AND s.waiting = 0 AND strpos(s.ended, a_id) = 0",
        "AND s.taken = 0 AND s.waiting = 0",
        SQL,
    ),
    Mutant(
        "sql_renewal_revives",
        "on PostgreSQL a lease that has ended is renewed",
        "backends/postgres/schema/5_renewals.sql",
        "AND s.claim_id = a_ids[1] AND s.ends_at > moment",
        "AND s.claim_id = a_ids[1]",
        SQL,
    ),
    Mutant(
        "sql_pinned_seat_is_freed",
        "on PostgreSQL a lease that ends is handed on though a transaction relies on it",
        "backends/postgres/schema/2_moves.sql",
        "FOR UPDATE SKIP LOCKED;\n    IF FOUND THEN",
        "FOR NO KEY UPDATE SKIP LOCKED;\n    IF FOUND THEN",
        PINS,
    ),
    Mutant(
        "sql_release_frees_a_pinned_seat",
        "on PostgreSQL a lease that is given back is handed on though a transaction relies on it",
        "backends/postgres/schema/4_claims.sql",
        "FOR UPDATE SKIP LOCKED;\n\n    -- It alone",
        "FOR NO KEY UPDATE SKIP LOCKED;\n\n    -- It alone",
        PINS,
    ),
    Mutant(
        "sql_hand_over_reads_the_queue",
        "on PostgreSQL a hand-over costs as much as there are waiters",
        "backends/postgres/schema/4_claims.sql",
        "WHERE q.ctid = w.found_at;",
        "WHERE q.prefix = a_prefix AND q.name = a_name AND q.place = w.place;",
        QUEUE,
    ),
    Mutant(
        "guard_does_not_pin",
        "between guard and commit somebody else is let in",
        STEP,
        "FOR KEY SHARE;",
        ";",
        GUARD,
    ),
    Mutant(
        "guard_passes_what_has_ended",
        "guard takes a lease for held that has ended and was not swept yet",
        STEP,
        " AND s.ends_at > holdfast.clock()",
        "",
        GUARD,
    ),
    Mutant(
        "guard_passes_what_is_broken",
        "guard takes a lease for held whose holder was told to stop",
        STEP,
        " AND s.broken = ''",
        "",
        GUARD,
    ),
    Mutant(
        "guard_calls_unseen_lost",
        "in repeatable read a lease that is held is called lost",
        STEP,
        "IF current_setting('transaction_isolation') <> 'read committed' THEN",
        "IF false THEN",
        GUARD,
    ),
    Mutant(
        "guard_knows_no_birth",
        "guard is content with the same name in another database",
        STEP,
        "IF holdfast.birth() <> a_birth THEN",
        "IF false THEN",
        MISUSE,
    ),
    Mutant(
        "guard_trusts_the_database_alone",
        "guard lets a lease pass that its own clock has given up",
        "postgres/guard.py",
        "token = grant.token if one.held else -1",
        "token = grant.token",
        GUARD,
    ),
    Mutant(
        "fence_lets_everybody_in",
        "the fence takes a smaller token for a newer one",
        STEP,
        "\n    WHERE f.token <= EXCLUDED.token;",
        ";",
        FENCE,
    ),
    Mutant(
        "fence_shuts_its_own_holder_out",
        "the fence refuses the second write of one lease",
        STEP,
        "WHERE f.token <= EXCLUDED.token;",
        "WHERE f.token < EXCLUDED.token;",
        FENCE,
    ),
    Mutant(
        "advisory_keeps_a_cancelled_wait",
        "a session lock that was granted just before its wait was cancelled is held by nobody",
        "backends/advisory/taking.py",
        "session.close()  # cancelled just after it was granted",
        "pass  # cancelled just after it was granted",
        LATE,
    ),
)
