"""Try the mutants: ``python -m tests.mutants.run``; exits with 1 unless all are caught.

``--only NAME`` tries this one, ``--by LABEL`` those of one catcher, ``--room NAME`` those in a room
of the product (each can be repeated); ``--list`` tells what there is. Every catcher is first let
loose on a copy without a mutant: what it complains of there would prove nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from tests.mutants.every import MUTANTS
from tests.mutants.mutant import Mutant
from tests.mutants.trial import Verdict, tried, unharmed


def main(arguments: Sequence[str] | None = None) -> int:
    """Try those that were asked for; give the exit code."""
    parser = argparse.ArgumentParser("python -m tests.mutants.run", description=__doc__)
    labels = sorted({mutant.caught_by.label for mutant in MUTANTS})
    parser.add_argument("--only", action="append", choices=[one.name for one in MUTANTS])
    parser.add_argument("--by", action="append", choices=labels, help="caught by this")
    parser.add_argument("--room", action="append", choices=sorted({one.room for one in MUTANTS}))
    parser.add_argument("--at-once", type=int, default=2, help="how many at a time")
    parser.add_argument("--list", action="store_true", help="tell what there is")
    asked = parser.parse_args(arguments)
    chosen = [
        mutant
        for mutant in MUTANTS
        if (not asked.only or mutant.name in asked.only)
        and (not asked.by or mutant.caught_by.label in asked.by)
        and (not asked.room or mutant.room in asked.room)
    ]
    if asked.list:
        for mutant in chosen:
            _say(f"{mutant.name:36} {mutant.caught_by.label:28} {mutant.breaks}")
        return 0
    with ThreadPoolExecutor(asked.at_once) as crew:
        return 0 if _are_good_catchers(crew, chosen) and _all_caught(crew, chosen) else 1


def _are_good_catchers(crew: ThreadPoolExecutor, mutants: Sequence[Mutant]) -> bool:
    """Say whether nobody complains of the product as it is."""
    catchers = {mutant.caught_by for mutant in mutants}
    pending = {crew.submit(unharmed, catcher): catcher for catcher in catchers}
    good = True
    for done in as_completed(pending):
        verdict, catcher = done.result(), pending[done]
        if verdict.fate != "survived":
            good = False
            _say(f"{catcher.label} cannot be used, without any mutant it says: {verdict.proof}")
    return good


def _all_caught(crew: ThreadPoolExecutor, mutants: Sequence[Mutant]) -> bool:
    pending = {crew.submit(tried, mutant): mutant for mutant in mutants}
    caught = 0
    for done in as_completed(pending):
        verdict = done.result()
        caught += verdict.fate == "caught"
        _say(described(pending[done], verdict))
    _say(f"{caught} of {len(mutants)} mutants caught")
    return caught == len(mutants)


def described(mutant: Mutant, verdict: Verdict) -> str:
    """Tell what became of a mutant, in one line unless it went wrong."""
    line = (
        f"{verdict.fate:8} {verdict.seconds:6.1f} s  {mutant.name} ({mutant.caught_by.label}):"
        f" {verdict.proof}"
    )
    if verdict.fate == "caught":
        return line if len(line) <= 200 else f"{line[:199]}…"
    return f"{line}\n  {mutant.file}: {mutant.breaks}"


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
