"""One thing changed in a right history, and the rule that is about it speaks."""

import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.history.tale import Tale
from tests.history.world import World

Entry = dict[str, Any]
Grant = tuple[str, Entry]
Spoil = Callable[[Tale, random.Random], None]


def grants_of_x(tale: Tale) -> list[Grant]:
    """List the grants of the exclusive name ``x`` that were checked, in order of time."""
    found = []
    for worker, entries in tale.told.items():
        asked = {entry["n"] for entry in entries if entry.get("name") == "x"}
        checked = {entry["n"] for entry in entries if entry["do"] == "checked"}
        found += [
            (worker, entry)
            for entry in entries
            if entry["do"] == "held" and entry["n"] in asked & checked
        ]
    return sorted(found, key=lambda grant: int(grant[1]["at"]))


def two_grants(tale: Tale, dice: random.Random) -> tuple[Grant, Grant]:
    """Pick two grants so far apart that the later was asked for after the earlier was received."""
    grants = grants_of_x(tale)
    earlier = dice.randrange(len(grants) - 15)
    return grants[earlier], grants[earlier + dice.randint(10, 14)]


def turn_a_token_back(tale: Tale, dice: random.Random) -> None:
    """Give a grant a smaller token than an earlier one had."""
    earlier, later = two_grants(tale, dice)
    later[1]["token"] = earlier[1]["token"] - 1


def give_a_token_twice(tale: Tale, dice: random.Random) -> None:
    """Give a grant the token of an earlier one."""
    earlier, later = two_grants(tale, dice)
    later[1]["token"] = earlier[1]["token"]


def outstay(tale: Tale, dice: random.Random) -> None:
    """Let a holder go on believing until a later one has it and believes, too."""
    (worker, held), (other, later) = two_grants(tale, dice)
    checks = [e for e in tale.told[other] if e["do"] == "checked" and e["n"] == later["n"]]
    until = checks[0]["at"] + 1000
    kept = [e for e in tale.told[worker] if e["at"] <= held["at"]]
    tale.told[worker] = [*kept, {"at": until, "do": "checked", "n": held["n"]}]


def swap_writes(tale: Tale, dice: random.Random) -> None:
    """Let two writes land in the wrong order."""
    landed = tale.told["resource"]
    first, second = sorted(dice.sample(range(len(landed)), 2))
    while landed[first]["token"] == landed[second]["token"]:
        first, second = sorted(dice.sample(range(len(landed)), 2))
    for key in ("token", "value"):
        landed[first][key], landed[second][key] = landed[second][key], landed[first][key]


def lose_a_write(tale: Tale, dice: random.Random) -> None:
    """Let one write be forgotten."""
    landed = tale.told["resource"]
    del landed[dice.randrange(1, len(landed) - 1)]


def vanish(tale: Tale, dice: random.Random) -> None:
    """Let a worker end in the middle."""
    killed = {e["pids"][0] for e in tale.told["crew"] if e.get("kind") == "kill"}
    alive = [worker for worker in sorted(tale.told) if worker.startswith("w")]
    victim = dice.choice([worker for worker in alive if tale.pid(worker) not in killed])
    tale.told[victim].pop()


SPOILS: list[tuple[Spoil, str]] = [
    (turn_a_token_back, "tokens"),
    (give_a_token_twice, "tokens"),
    (outstay, "exclusion"),
    (outstay, "succession"),
    (swap_writes, "fencing"),
    (lose_a_write, "fencing"),
    (vanish, "endings"),
]


@pytest.mark.parametrize("spoil, rule", SPOILS)
@settings(max_examples=8)
@given(seed=st.integers(0, 2**32))
def test_it_is_found(spoil: Spoil, rule: str, seed: int) -> None:
    """Somewhere in a long right history something is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        tale = World(Tale(Path(folder)), seed, workers=6, length=1000, trouble=0.0).run()
        tale.fault(0, "cut", (0, 1))
        spoil(tale, random.Random(seed))
        verdict = tale.judged(ends=False)
        assert verdict.found[rule] > 0, str(verdict)
