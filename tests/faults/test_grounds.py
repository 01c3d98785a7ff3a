"""The short fault run of every ground: one round of every fault there, and no promise is broken.

The long ones are ``python -m tests.faults.run --ground redis --for 10m``, and part of `make soak`.
"""

from pathlib import Path

import pytest

from tests.faults.campaign import Campaign
from tests.faults.grounds.every import GROUNDS

SEED = 20261116

LONG = {"postgres"}
"""Grounds whose runs take longer than CI allows."""


def marked(name: str) -> object:
    """Leave the long ones to `make soak`."""
    return pytest.param(name, marks=pytest.mark.soak) if name in LONG else name


@pytest.mark.timeout(300)  # of which a busy machine may need most to start everybody
@pytest.mark.parametrize("name", [marked(name) for name in GROUNDS])
def test_no_promise_is_broken(tmp_path: Path, name: str) -> None:
    """Workers of all kinds work on while everything happens, and everybody goes on afterwards."""
    with GROUNDS[name]() as ground:
        outcome = Campaign(ground=ground, folder=tmp_path, seconds=0.0, seed=SEED).run()
    print(outcome.summary())  # noqa: T201 - the numbers, shown with -rP
    assert outcome.problems() == []
