"""The table of what works where, in docs/which.md: made from ``capabilities``, never by hand.

``python -m tests.capability_table`` writes it anew; a test fails when it is stale.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

from holdfast.backends import registry
from holdfast.settings import address
from holdfast.values import Capabilities

PAGE = Path(__file__).parents[1] / "docs" / "which.md"
BEGIN, END = "<!-- the table: python -m tests.capability_table -->", "<!-- end of the table -->"

SAMPLES = {
    "memory": "memory://table",
    "sqlite": "sqlite:///{folder}/table.db",
    "redlock": "redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3",
    "postgresql+advisory": "postgresql+advisory://127.0.0.1:1/table",
}
"""Addresses at which nobody is asked anything; all others look like ``scheme://127.0.0.1:1``."""

NOT_SHOWN = {"sandbox"}

Row = Callable[[Capabilities], str]


def _has(kind: str) -> Row:
    return lambda can: "yes" if kind in can.kinds else "no"


def _blocks(can: Capabilities) -> str:
    if can.scope == "process":
        return "nobody: all die with it"
    return "for about a second" if can.notices_crash else "until its ttl is over"


ROWS: dict[str, Row] = {
    "`lock`": _has("lock"),
    "`rwlock`": _has("rwlock"),
    "`semaphore`": _has("semaphore"),
    "`lock_all`": lambda can: "in one step" if can.all_at_once else "one by one",
    "`lead`, `leader`, `watch_leader`": _has("lead"),
    "`watch_leader` tells of": lambda can: "every leader" if can.records else "those it sees",
    "`singleton`": _has("lock"),
    "`singleton(per=…)`, `once`, `cell`": lambda can: "yes" if can.records else "no",
    "`limiter`": lambda can: "yes" if can.buckets else "no",
    "who sees each other": lambda can: {
        "process": "one process",
        "host": "one host",
        "network": "all hosts",
    }[can.scope],
    "who waits is woken": lambda can: "at once" if can.wakeup == "push" else "within a second",
    "a killed holder blocks": _blocks,
    "the shortest renewed `ttl`": lambda can: f"{can.min_ttl:g} s",
}


def table() -> str:
    """Make the table."""
    found = [_capabilities(scheme) for scheme in _schemes()]
    lines = [
        f"| | {' | '.join(can.backend for can in found)} |",
        f"|---|{'---|' * len(found)}",
        *(f"| {name} | {' | '.join(row(can) for can in found)} |" for name, row in ROWS.items()),
    ]
    return "\n".join(lines)


def page_with(text: str, made: str) -> str:
    """Give the page with this table in the place of its own."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{made}\n{END}{after}"


def _schemes() -> list[str]:
    """Give one scheme for each backend that is registered."""
    first: dict[str, str] = {}
    for scheme, module in registry._MODULES.items():
        if scheme not in NOT_SHOWN:
            first.setdefault(module, scheme)
    return list(first.values())


def _capabilities(scheme: str) -> Capabilities:
    sample = SAMPLES.get(scheme, f"{scheme}://127.0.0.1:1")
    with tempfile.TemporaryDirectory() as folder:
        place = address(sample.format(folder=folder))
        return registry.open_backend(place, "table").capabilities


if __name__ == "__main__":
    PAGE.write_text(page_with(PAGE.read_text("utf-8"), table()), "utf-8")
