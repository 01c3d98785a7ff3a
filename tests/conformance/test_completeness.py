"""Nothing is left out: every behaviour, on every backend there is, in both runtimes."""

import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.backends import registry
from holdfast.testing import suite
from tests.conformance.backends import REGISTERED

ROOT = Path(__file__).parent.parent.parent
COLLECTED = re.compile(r"test_suite\.py::(Test\w+)::(test_\w+)\[(.+)\]$")


def behaviours() -> list[type]:
    """Find the classes of tests in the modules of the suite."""
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(suite.__path__, f"{suite.__name__}.")
    ]
    return [
        value
        for module in modules
        for name, value in vars(module).items()
        if name.startswith("Test") and value.__module__ == module.__name__
    ]


def test_every_behaviour_is_exported() -> None:
    """Whoever inherits the suite gets all of it."""
    assert set(suite.BEHAVIOURS) == set(behaviours())
    assert {one.__name__ for one in suite.BEHAVIOURS} <= set(suite.__all__)


def test_every_behaviour_says_what_it_expects() -> None:
    """Each test of the suite opens with a sentence."""
    silent = [
        f"{one.__name__}.{name}"
        for one in behaviours()
        for name, member in vars(one).items()
        if name.startswith("test_") and not (member.__doc__ or "").strip().endswith(".")
    ]
    assert silent == []


def test_every_backend_is_registered() -> None:
    """A backend that can be opened by a URL is in the run.

    The sandbox is memory behind wires that can fail: `tests/testing` runs the suite on it.
    """
    known = {scheme for backend in REGISTERED for scheme in backend.schemes}
    assert {"sandbox", *known} == set(registry._MODULES)


@pytest.mark.timeout(60)  # it collects the whole suite once more, on a machine that is busy
def test_every_combination_is_run() -> None:
    """Each test of the suite is collected for each backend, sync and async."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    command += ["-m", "soak or not soak"]  # also what the default run leaves to `make soak`
    listing = subprocess.run(
        [*command, "tests/conformance/test_suite.py"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    found = [match.groups() for line in listing.splitlines() if (match := COLLECTED.search(line))]
    collected = {
        (behaviour, test, str(combination))
        for behaviour, test, parameters in found
        for combination in suite.combinations(*REGISTERED)
        if parameters == str(combination) or parameters.startswith(f"{combination}-")
    }
    expected = {
        (behaviour.__name__, test, f"{backend.name}-{mode}")
        for behaviour in behaviours()
        for test in vars(behaviour)
        if test.startswith("test_")
        for backend in REGISTERED
        for mode in ("sync", "async")
    }
    assert expected - collected == set()
    assert len(expected) > 300
