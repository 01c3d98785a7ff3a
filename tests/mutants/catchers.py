"""Who is expected to catch mutants: each is a command that fails if the product has the bug."""

from __future__ import annotations

from typing import NamedTuple

SEEDS = 1600
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


def tests(label: str, *selected: str) -> Catcher:
    """Let pytest run these files or tests."""
    return Catcher(label, (*PYTEST, *selected))


SIMULATOR = Catcher("simulator", ("-m", "tests.mutants.searching", str(SEEDS)))
ORDERS = tests("every order", "tests/sim/test_interleavings.py")
STRIKES = tests("every blow", "tests/sim/test_exhaustive_strikes.py")
RULES = tests("rules", "tests/rules/test_claim_examples.py", "tests/rules/test_claim_properties.py")
TOGETHER = tests("rules, many", "tests/rules/test_together.py")
GRAVES = tests("tombstones", "tests/rules/test_tombstones.py")
RECORDS = tests("records", "tests/rules/test_record.py")
BUCKETS = tests("buckets", "tests/rules/test_bucket.py")
FLOWS = tests("flows", "tests/flows")
LUA = tests("Lua differential", "tests/backends/redis/test_differential.py")
LUA_FAMILIES = tests(
    "Lua differential, families", "tests/backends/redis/test_family_differential.py"
)
BIRTH = tests("birth mark", "tests/backends/redis/test_scripts_birth.py")
LOST_REPLIES = tests("lost replies", "tests/backends/redis/test_network_faults.py", "-k", "lost")
EMPTIED = tests(
    "another mark",
    "tests/backends/redis/test_server_faults.py",
    "-k",
    "another_birth_mark or flushall",
)
DISK = tests("disk", "tests/faults/test_disk.py", "-k", "goes_away or reboot")


def conforming(label: str, backend: str, words: str) -> Catcher:
    """Let the conformance suite run the tests in whose names ``words`` are, on one backend."""
    return tests(label, "tests/conformance/test_suite.py", "-k", f"{backend} and ({words})")
