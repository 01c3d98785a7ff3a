"""Wrong histories of every kind: each is found by the rule that is about it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.history.tale import Tale

Wrong = Callable[[Tale], Tale]

EXCLUSION: dict[str, Wrong] = {
    "two hold at once": lambda tale: tale.hold("a", 1, (10, 50), checks=(20, 40)).hold(
        "b", 2, (30, 60), checks=(45,)
    ),
    "one holds inside the other": lambda tale: tale.hold("a", 1, (10, 90), checks=(80,)).hold(
        "b", 2, (30, 60), checks=(45,)
    ),
    "a paused holder wakes up and still believes": lambda tale: tale.hold(
        "a", 1, (10, 3000), checks=(20, 2900)
    ).hold("b", 2, (1500, 2000), checks=(1900,)),
    "the second comes after a thousand that were fine": lambda tale: (
        many(tale, 1000)
        .hold("c", 9001, (9000, 9100), checks=(9050,), n=1)
        .hold("d", 9002, (9020, 9200), checks=(9060,), n=1)
    ),
    "a writer beside a reader": lambda tale: tale.hold(
        "a", 1, (10, 50), checks=(40,), weight=1, capacity=100
    ).hold("b", 2, (30, 60), checks=(45,), weight=100, capacity=100),
    "three permits of two": lambda tale: (
        tale.hold("a", 1, (10, 100), checks=(90,), capacity=2)
        .hold("b", 2, (20, 100), checks=(80,), capacity=2)
        .hold("c", 3, (70, 100), checks=(75,), capacity=2)
    ),
    "weights that do not fit together": lambda tale: tale.hold(
        "a", 1, (10, 100), checks=(90,), weight=3, capacity=5
    ).hold("b", 2, (20, 100), checks=(80,), weight=3, capacity=5),
    "a killed holder had been overtaken": lambda tale: (
        tale.fault(1, "kill", (61, 62), ("a",))
        .ask("a", 9)
        .say("a", 10, "held", n=1, token=1)
        .say("a", 60, "checked", n=1)
        .hold("b", 2, (30, 70), checks=(45,))
    ),
    "before the lock was broken by force": lambda tale: (
        tale.hold("a", 1, (10, 100), checks=(40, 90))
        .hold("b", 2, (20, 60), checks=(50,))
        .say("c", 70, "breaking", name="x", token=1, force=True)
        .say("c", 71, "broke", name="x", token=1, force=True, how="done")
    ),
    "both after the backend has forgotten": lambda tale: (
        tale.fault(1, "flush", (5, 6), forgets="all")
        .hold("a", 1, (10, 50), checks=(20, 40))
        .hold("b", 2, (30, 60), checks=(45,))
    ),
    "both before the backend forgot": lambda tale: (
        tale.hold("a", 1, (10, 50), checks=(20, 40))
        .hold("b", 2, (30, 60), checks=(35, 45))
        .fault(1, "flush", (46, 47), forgets="all")
    ),
}

SUCCESSION: dict[str, Wrong] = {
    "the intruder was killed before its first check": lambda tale: (
        tale.hold("a", 1, (10, 50), checks=(20, 40))
        .ask("b", 20)
        .say("b", 30, "held", n=1, token=2)
        .fault(1, "kill", (31, 32), ("b",))
    ),
    "a smaller token is received later and believed": lambda tale: (
        tale.hold("a", 2, (10, 12), n=1)
        .ask("b", 5)
        .say("b", 20, "held", n=1, token=1)
        .say("b", 25, "checked", n=1)
    ),
    "a reader believes beside a newer writer": lambda tale: tale.hold(
        "a", 1, (10, 50), checks=(40,), capacity=100
    ).hold("b", 2, (30, 35), weight=100, capacity=100),
}

TOKENS: dict[str, Wrong] = {
    "a smaller one later": lambda tale: tale.hold("a", 5, (10, 20)).hold("b", 4, (30, 40)),
    "the same one later": lambda tale: tale.hold("a", 5, (10, 20)).hold("b", 5, (30, 40)),
    "the same one at the same time": lambda tale: (
        tale.ask("a", 1)
        .ask("b", 1)
        .say("a", 10, "held", n=1, token=7)
        .say("b", 11, "held", n=1, token=7)
    ),
    "of three the last goes back a little": lambda tale: (
        tale.hold("a", 5, (10, 20)).hold("b", 9, (30, 40)).hold("a", 8, (50, 60), n=2)
    ),
}

FENCING: dict[str, Wrong] = {
    "a fenced resource goes back": lambda tale: tale.land(1, 5, 1).land(2, 6, 2).land(3, 5, 3),
    "a step of a fenced counter is lost": lambda tale: (
        tale.land(1, 5, 1).land(2, 6, 1).land(3, 7, 4)
    ),
    "refused, and it goes on believing": lambda tale: (
        tale.ask("a", 9)
        .say("a", 10, "held", n=1, token=5)
        .say("a", 20, "refused", n=1, resource="r", seen=6)
        .say("a", 30, "checked", n=1)
    ),
}

ORDER: dict[str, Wrong] = {
    "let in before somebody who was in line": lambda tale: (
        in_line(tale).hold("b", 2, (30, 40)).say("a", 50, "held", n=1, token=3)
    ),
    "a try gets in though somebody waits": lambda tale: (
        in_line(tale).hold("b", 2, (30, 31), wait=0).say("a", 50, "held", n=1, token=3)
    ),
    "an old fault of another process excuses nothing": lambda tale: (
        in_line(tale.fault(1, "pause", (1, 4), ("b",)))
        .hold("b", 2, (30, 40))
        .say("a", 50, "held", n=1, token=3)
    ),
}

BELIEF: dict[str, Wrong] = {
    "past the life of a lease that nobody renews": lambda tale: tale.hold(
        "a", 1, (10, 1500), checks=(900, 1100), renew=False
    ),
    "past a life that was extended once": lambda tale: tale.hold(
        "a", 1, (10, 4000), checks=(900, 3500), renew=False
    ).say("a", 1000, "extended", n=1, ttl=2.0),
    "past max_hold": lambda tale: tale.hold("a", 1, (10, 700), checks=(600,), max_hold=0.5),
    "after a pause longer than its life": lambda tale: tale.hold(
        "a", 1, (10, 2000), checks=(20, 1900)
    ).fault(1, "pause", (30, 1800), ("a",)),
    "while nobody can reach the backend": lambda tale: tale.hold(
        "a", 1, (10, 2000), checks=(20, 1500)
    ).fault(1, "silence", (30, 1800)),
    "past all that a clock that was set back can give": lambda tale: tale.hold(
        "a", 1, (10, 4000), checks=(3900,), renew=False
    ).fault(1, "clock", (90, 5000), stretch=1.0),
    "long after it was broken": lambda tale: (
        tale.hold("a", 1, (10, 2000), checks=(20, 1500))
        .say("b", 30, "breaking", name="x", token=1, force=False)
        .say("b", 31, "broke", name="x", token=1, force=False, how="done")
    ),
}

TELLING: dict[str, Wrong] = {
    "the callback never came": lambda tale: tale.hold("a", 1, (10, 90), how="lost").say(
        "a", 50, "lost", n=1, told=False, why=""
    ),
    "given back as if nothing had happened": lambda tale: tale.hold("a", 1, (10, 90)).say(
        "a", 50, "lost", n=1, told=True, why=""
    ),
    "a forked child believes": lambda tale: tale.say("a", 1, "inherited", n=1, held=True),
}

WAITING: dict[str, Wrong] = {
    "one waits for long in good weather": lambda tale: tale.ask("a", 1).say(
        "a", 2500, "held", n=1, token=1
    ),
    "busy comes long after its own wait": lambda tale: tale.ask("a", 1, wait=0.5).say(
        "a", 3000, "busy", n=1, why=""
    ),
    "fault or not, the rest was too long": lambda tale: (
        tale.ask("a", 1).fault(1, "cut", (100, 200)).say("a", 2900, "held", n=1, token=1)
    ),
}

IDLENESS: dict[str, Wrong] = {
    "given back, and nobody gets in": lambda tale: (
        tale.hold("a", 1, (10, 100))
        .ask("b", 50)
        .say("b", 60, "queued", n=1)
        .say("b", 1600, "held", n=1, token=2)
    ),
    "a dead holder blocks beyond its life": lambda tale: (
        tale.ask("a", 1)
        .say("a", 10, "held", n=1, token=1)
        .fault(1, "kill", (11, 12), ("a",))
        .ask("b", 20)
        .say("b", 30, "queued", n=1)
        .say("b", 3600, "held", n=1, token=2)
    ),
}

ENDINGS: dict[str, Wrong] = {
    "it stops in the middle": lambda tale: tale.hold("a", 1, (10, 20)),
    "another was killed": lambda tale: tale.hold("a", 1, (10, 20)).fault(1, "kill", (5, 6), ("b",)),
}

AMNESIA: dict[str, Wrong] = {
    "long after the backend has forgotten it": lambda tale: tale.hold(
        "a", 1, (10, 950), checks=(20, 900)
    ).fault(1, "flush", (90, 91), forgets="all"),
    "a fault of long before excuses nothing": lambda tale: (
        tale.fault(1, "pause", (11, 19), ("a",))
        .hold("a", 1, (10, 950), checks=(20, 900))
        .fault(2, "flush", (90, 91), forgets="all")
    ),
}

TERMS: dict[str, dict[str, Any]] = {
    "amnesia": {"telling_slack": 0.4},
    "waiting": {"waiting_limit": 2.0, "recovery": 0.1},
    "idleness": {"idle_limit": 1.0, "recovery": 0.1},
    "endings": {"ends": False},
    "order": {"recovery": 0.001},
}


def many(tale: Tale, times: int) -> Tale:
    """Let two workers take turns, properly."""
    for turn in range(times):
        begin = 10 + turn * 8
        tale.hold("ab"[turn % 2], turn + 1, (begin, begin + 5), n=turn + 1, checks=(begin + 4,))
    return tale


def in_line(tale: Tale) -> Tale:
    """Let a be in line, confirmed, before anybody else asks."""
    return tale.ask("a", 10).say("a", 12, "queued", n=1)


CASES = [
    pytest.param(rule, wrong, id=f"{rule}: {title}")
    for rule, cases in (
        ("exclusion", EXCLUSION),
        ("succession", SUCCESSION),
        ("tokens", TOKENS),
        ("fencing", FENCING),
        ("order", ORDER),
        ("belief", BELIEF),
        ("telling", TELLING),
        ("waiting", WAITING),
        ("idleness", IDLENESS),
        ("endings", ENDINGS),
        ("amnesia", AMNESIA),
    )
    for title, wrong in cases.items()
]


@pytest.mark.parametrize("rule, wrong", CASES)
def test_it_is_found(tmp_path: Path, rule: str, wrong: Wrong) -> None:
    """The rule accuses once, quotes lines that exist, and nothing is accused without a reason."""
    verdict = wrong(Tale(tmp_path)).judged(**TERMS.get(rule, {}))
    assert not verdict.ok
    assert verdict.found[rule] == 1, str(verdict)
    [found] = [one for one in verdict.violations if one.rule == rule]
    assert found.proofs
    assert all(proof.text().startswith("{") for proof in found.proofs)
    assert str(found.proofs[0]) in str(verdict)
    assert found.as_json()["lines"][0]["file"].endswith(".jsonl")
