"""The checker: reads a history once, in the order of time, and lets every rule look at it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from holdfast.testing.history.claims import Claims, Event
from holdfast.testing.history.form import GONE, KINDS, OPERATIONS
from holdfast.testing.history.moment import SECOND
from holdfast.testing.history.read import History
from holdfast.testing.history.rule import Rule
from holdfast.testing.history.rules import RULES
from holdfast.testing.history.terms import Terms
from holdfast.testing.history.verdict import Proof, Verdict
from holdfast.testing.history.weather import Weather

_WEATHER = frozenset({"fault", "healed", "mishap"})


def judge(
    where: Path | Iterable[Path], terms: Terms | None = None, rules: Sequence[type[Rule]] = RULES
) -> Verdict:
    """Check the histories of a folder, or the files given; ``HistoryError`` if they are none."""
    terms = terms or Terms()
    kinds = KINDS.union(*(rule.words for rule in rules))
    paths = where.glob("*.jsonl") if isinstance(where, Path) else where
    history = History(paths, kinds)
    weather, claims, verdict = Weather(terms.recovery), Claims(), Verdict()
    judges = [rule(terms, weather) for rule in rules]
    handlers = {do: _handlers(judges, do) for do in (*kinds, GONE)}
    first_at = last_at = 0
    for at, number, line, fields in history:
        source = history.sources[number]
        event = Event(fields, source.worker, source.pid, Proof(source.path, line))
        if not first_at:
            first_at = at
            for judge_ in judges:
                judge_.started_at = at
        last_at = at or last_at
        claims.take(event)
        if event.do in _WEATHER:
            weather.take(event)
        verdict.operations += event.do in OPERATIONS
        if event.do == "held":
            verdict.granted[event.about().name] += 1
        for handle in handlers[event.do]:
            handle(event)
    verdict.workers = len(history.sources)
    verdict.claims = claims.made
    verdict.seconds = (last_at - first_at) / SECOND
    verdict.faults = weather.counts
    for judge_ in judges:
        judge_.finish()
        _sum_up(judge_, verdict)
    return verdict


def _handlers(judges: list[Rule], do: str) -> list[Callable[[Event], None]]:
    found = (getattr(judge_, f"on_{do}", None) for judge_ in judges)
    return [handle for handle in found if handle is not None]


def _sum_up(judge_: Rule, verdict: Verdict) -> None:
    verdict.judged[judge_.name] = judge_.judged
    verdict.excused[judge_.name] = judge_.excused
    verdict.notes.update(judge_.notes)
    if judge_.found:
        verdict.found[judge_.name] = judge_.found
    verdict.violations += judge_.violations
