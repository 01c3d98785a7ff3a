"""The mutants still apply, and a few are caught here as ``make mutants`` catches all of them."""

import ast
from pathlib import Path

import pytest

from tests.mutants.catchers import FAMILY, SIMULATOR, by_pytest
from tests.mutants.every import MUTANTS
from tests.mutants.mutant import PRODUCT, Mutant, Outdated
from tests.mutants.run import described
from tests.mutants.trial import ROOT, judged, tried

every = pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
BY_NAME = {mutant.name: mutant for mutant in MUTANTS}


def product(mutant: Mutant, root: Path) -> Path:
    """Copy to ``root`` the one file that the mutant is in."""
    path = root / PRODUCT / mutant.file
    path.parent.mkdir(parents=True)
    path.write_text((ROOT / PRODUCT / mutant.file).read_text("utf-8"), "utf-8")
    return path


@every
def test_a_mutant_still_applies(mutant: Mutant, tmp_path: Path) -> None:
    """The text that it replaces is there exactly once, and what comes out can be read."""
    path = product(mutant, tmp_path)
    before = path.read_text("utf-8")
    mutant.infect(tmp_path)
    assert path.read_text("utf-8") != before
    if path.suffix == ".py":
        ast.parse(path.read_text("utf-8"))


@every
def test_who_is_to_catch_it_is_there(mutant: Mutant) -> None:
    """The files of tests that it names have not moved."""
    paths = [word for word in mutant.caught_by.arguments if word.startswith("tests/")]
    assert paths or mutant.caught_by in (SIMULATOR, FAMILY)
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_there_are_enough_of_them() -> None:
    """In every room that decides or acts, many of them the simulator's; each has its own name."""
    assert len(MUTANTS) >= 30
    assert sum(mutant.caught_by is SIMULATOR for mutant in MUTANTS) >= 15
    rooms = {"rules", "flows", "runtimes", "backends", "postgres"}
    assert {mutant.room for mutant in MUTANTS} == rooms
    assert len(BY_NAME) == len(MUTANTS)


def test_a_mutant_whose_code_has_changed_is_refused(tmp_path: Path) -> None:
    """It says so instead of proving nothing."""
    mutant = BY_NAME["margin_dropped"]._replace(was="what nobody has ever written")
    product(mutant, tmp_path)
    with pytest.raises(Outdated, match="margin_dropped: the text it replaces is 0 times"):
        mutant.infect(tmp_path)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["held_is_a_flag", "updates_are_lost"])
def test_a_mutant_is_caught(name: str) -> None:
    """One by the simulator and one by pytest, in copies of the project."""
    verdict = tried(BY_NAME[name])
    assert verdict.fate == "caught", described(BY_NAME[name], verdict)


@pytest.mark.timeout(300)
def test_a_mutant_that_nobody_looks_for_survives() -> None:
    """Who catches everything would prove nothing: the tests of backoff know no fences."""
    idle = by_pytest("backoff", "tests/rules/test_backoff.py")
    mutant = BY_NAME["records_know_no_fence"]._replace(caught_by=idle)
    assert tried(mutant).fate == "survived"


@pytest.mark.parametrize(
    "arguments, limit, fate",
    [
        (("-c", "raise SystemExit(0)"), 60.0, "survived"),
        (("-c", "raise SyntaxError"), 60.0, "broken"),
        (("-c", "print('FAILED x'); raise SystemExit(2)"), 60.0, "broken"),
        (("-c", "print('FAILED it is wrong'); raise SystemExit(1)"), 60.0, "caught"),
        (("-c", "import time; time.sleep(60)"), 0.2, "late"),
    ],
)
def test_only_a_complaint_is_a_catch(
    arguments: tuple[str, ...], limit: float, fate: str, tmp_path: Path
) -> None:
    """A crash, another exit code or the end of patience is not."""
    idle = by_pytest("nobody")._replace(arguments=arguments)
    assert judged(tmp_path, idle, limit).fate == fate
