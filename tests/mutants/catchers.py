"""Who is expected to catch mutants: each is a command that fails if the product has the bug."""

from __future__ import annotations

from typing import NamedTuple

SEEDS = 2500
"""So many seeds the simulator gets: a hundred of each kind of world. Most need a few dozen."""

PYTEST = (
    *("-m", "pytest", "-p", "tests.mutants.hasty", "-p", "no:cacheprovider", "-o", "timeout=60"),
    *("--exitfirst", "--quiet", "--tb=line", "-rfE", "--show-capture=no"),
)


class Catcher(NamedTuple):
    """A part of the tests that is quick enough to be run once for each mutant."""

    label: str
    arguments: tuple[str, ...]
    """What the interpreter is called with."""


def by_pytest(label: str, *selected: str) -> Catcher:
    """Let pytest run these files or tests."""
    return Catcher(label, (*PYTEST, *selected))


SIMULATOR = Catcher("simulator", ("-m", "tests.mutants.searching", "claims", str(SEEDS)))
FAMILY = Catcher("simulator, family", ("-m", "tests.mutants.searching", "family", str(SEEDS)))
ORDERS = by_pytest("every order", "tests/sim/test_interleavings.py")
STRIKES = by_pytest("every blow", "tests/sim/test_exhaustive_strikes.py")
RULES = by_pytest(
    "rules", "tests/rules/test_claim_examples.py", "tests/rules/test_claim_properties.py"
)
TOGETHER = by_pytest("rules, many", "tests/rules/test_together.py")
GRAVES = by_pytest("tombstones", "tests/rules/test_tombstones.py")
RECORDS = by_pytest("records", "tests/rules/test_record.py")
BUCKETS = by_pytest("buckets", "tests/rules/test_bucket.py")
QUORUM = by_pytest("quorum rules", "tests/rules/test_quorum.py")
VOTER = by_pytest("voter in Lua", "tests/backends/redlock/test_voter_scripts.py")
MINORITY = by_pytest(
    "hurt minority",
    "tests/backends/redlock/test_minority.py",
    "-k",
    "no_script or from_the_start",
)
QUORUM_BUNDLES = by_pytest("bundles of votes", "tests/backends/redlock/test_bundles.py")
FLOWS = by_pytest("flows", "tests/flows")
RUNTIMES = by_pytest("runtimes", "tests/runtimes")
LUA = by_pytest("Lua differential", "tests/backends/redis/test_differential.py")
LUA_FAMILIES = by_pytest(
    "Lua differential, families", "tests/backends/redis/test_family_differential.py"
)
ASKED_AGAIN = by_pytest("asked again", "tests/backends/redis/test_asked_again.py")
BIRTH = by_pytest("birth mark", "tests/backends/redis/test_scripts_birth.py")
BUNDLES = by_pytest("bundles", "tests/backends/redis/test_bundles.py")
BREAKS = by_pytest("breaks", "tests/backends/redis/test_scripts_breaks.py")
LOOKOUT = by_pytest(
    "lookout", "tests/backends/test_lookout.py", "tests/backends/test_waiters_listen.py"
)
INBOX = by_pytest("inbox", "tests/backends/postgres/test_inbox.py")
LOST_REPLIES = by_pytest(
    "lost replies", "tests/backends/test_network_faults.py", "-k", "lost and redis"
)
LATE_REPLIES = by_pytest("late replies", "tests/backends/redis/test_late_replies.py")
EMPTIED = by_pytest(
    "another mark",
    "tests/backends/redis/test_server_faults.py",
    "-k",
    "another_birth_mark or flushall",
)
YOUNG_NODES = by_pytest("young nodes", "tests/backends/redis/test_young_nodes.py")
ONE_STEP = by_pytest("one step", "tests/backends/sqlite/test_one_step.py")
DISK = by_pytest("disk", "tests/faults/test_disk.py", "-k", "goes_away or reboot")


def conforming(label: str, backend: str, words: str) -> Catcher:
    """Let the conformance suite run the tests in whose names ``words`` are, on one backend."""
    return by_pytest(label, "tests/conformance/test_suite.py", "-k", f"{backend} and ({words})")
