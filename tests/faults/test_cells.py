"""Sixteen processes add to one cell without a lock: no addition is lost."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from holdfast import Client
from tests.faults.processes import Program
from tests.faults.test_slots import BACKENDS, EVERYWHERE

PROCESSES = 16


def counted(url: str, name: str, times: int) -> int:
    """Let all of them add so many times, at the same time; give what is in the cell then."""
    with ExitStack() as stack:
        adders = [
            stack.enter_context(Program("adding", url=url, name=name, times=times))
            for _ in range(PROCESSES)
        ]
        for adder in adders:
            adder.hear(60)
        for adder in adders:
            adder.say()
        for adder in adders:
            adder.hear(300)
    with Client(url) as client:
        value: int = client.cell(name).get().value
        assert client.cell(name).delete()
    return value


@pytest.mark.timeout(120)
@pytest.mark.parametrize("backend", BACKENDS)
def test_no_addition_is_lost(backend: Callable[[Path], str], tmp_path: Path) -> None:
    """Forty each."""
    assert counted(backend(tmp_path), f"sum:{tmp_path}", 40) == PROCESSES * 40


@pytest.mark.soak
@pytest.mark.parametrize("backend", EVERYWHERE)
def test_no_addition_is_lost_of_eight_thousand(
    backend: Callable[[Path], str], tmp_path: Path
) -> None:
    """Five hundred each: 8000."""
    assert counted(backend(tmp_path), f"sum:{tmp_path}", 500) == 8000
