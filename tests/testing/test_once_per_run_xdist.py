"""An expensive session fixture under pytest-xdist: real workers, in a pytest of their own."""

from pathlib import Path

import pytest

from tests.testing.alone import ALONE

# Five interpreters start in each test, on a machine that is busy and may be measuring coverage.
pytestmark = pytest.mark.timeout(90)

FIXTURE = """
import os, pathlib, pytest

LOG = pathlib.Path({log!r})

def note(text):
    with LOG.open("a") as log:
        log.write(text + "\\n")

{make}

@pytest.fixture(scope="session")
def database(holdfast_once_per_run):
    return holdfast_once_per_run("database", make, {options})
"""

TESTS = """
import os, pytest

@pytest.mark.parametrize("number", range(16))
def test_uses_it(database, number):
    assert database["pid"]
"""

MAKE = """
def make():
    note(f"make {os.getpid()}")
    return {"pid": os.getpid()}

def stop(value):
    note(f"stop {value['pid']}")
"""


def run(
    pytester: pytest.Pytester, make: str, options: str, *arguments: str
) -> tuple[pytest.RunResult, list[str]]:
    """Run sixteen tests that use the fixture; give what the fixture wrote down as well."""
    log = Path(pytester.path) / "log.txt"
    pytester.makeconftest(FIXTURE.format(log=str(log), make=make, options=options))
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess(*ALONE, *arguments)
    return result, log.read_text().splitlines() if log.exists() else []


def test_four_workers_make_it_once(pytester: pytest.Pytester) -> None:
    """One worker makes it, and all sixteen tests in four of them use the same."""
    result, log = run(pytester, MAKE, "", "-n", "4")
    result.assert_outcomes(passed=16)
    result.stdout.fnmatch_lines(["*4 workers*"])
    assert [line.split()[0] for line in log] == ["make"]


def test_the_last_worker_to_leave_puts_it_away(pytester: pytest.Pytester) -> None:
    """What was made is stopped as often as it was made: once, unless a worker came very late."""
    result, log = run(pytester, MAKE, "stop=stop", "-n", "4")
    result.assert_outcomes(passed=16)
    made = [line.split()[1] for line in log if line.startswith("make")]
    stopped = [line.split()[1] for line in log if line.startswith("stop")]
    assert made == stopped
    assert [line.split()[0] for line in log] == ["make", "stop"] * len(made)


def test_one_process_makes_it_too(pytester: pytest.Pytester) -> None:
    """Without xdist everything is the same; the next run makes it again."""
    for _ in range(2):
        result, log = run(pytester, MAKE, "stop=stop")
        result.assert_outcomes(passed=16)
    assert [line.split()[0] for line in log] == ["make", "stop"] * 2
    assert log[0].split()[1] == log[1].split()[1]


def test_a_failure_is_told_in_every_worker(pytester: pytest.Pytester) -> None:
    """Tried once, failed once: each test says what went wrong, in the words of the maker."""
    make = """
def make():
    note("make")
    raise OSError("port 5432 is taken")
"""
    result, log = run(pytester, make, "keep_failure=True", "-n", "4")
    result.assert_outcomes(errors=16)
    assert log == ["make"]
    result.stdout.fnmatch_lines(["*SetUpFailed: 'database' could not be made: it failed in gw*"])
    result.stdout.fnmatch_lines(["*OSError: port 5432 is taken*"])


def test_a_worker_that_crashes_is_followed_by_another(pytester: pytest.Pytester) -> None:
    """The maker dies in the middle of it: a test fails for that, the others get what they need."""
    make = """
def make():
    first = not LOG.exists()
    note(f"make {os.getpid()}")
    if first:
        os._exit(1)
    return {"pid": os.getpid()}
"""
    result, log = run(pytester, make, "", "-n", "4")
    result.assert_outcomes(passed=15, failed=1)
    assert len(log) == 2
