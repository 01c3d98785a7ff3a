"""Check the histories in a folder: ``python -m holdfast.testing.history FOLDER``.

Prints the verdict with the lines that prove each violation, and ends with 1 if there is any, with 2
if this is no history at all.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from holdfast.testing.history.form import HistoryError
from holdfast.testing.history.judge import judge
from holdfast.testing.history.terms import Terms


def main() -> int:
    """Judge one folder; give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m holdfast.testing.history", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--waiting-limit", type=float, metavar="SECONDS")
    parser.add_argument("--idle-limit", type=float, metavar="SECONDS")
    parser.add_argument("--recovery", type=float, default=Terms().recovery, metavar="SECONDS")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    terms = Terms(
        waiting_limit=given.waiting_limit, idle_limit=given.idle_limit, recovery=given.recovery
    )
    try:
        verdict = judge(given.folder, terms)
    except (HistoryError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{json.dumps(verdict.as_json()) if given.json else verdict}\n")
    return 0 if verdict.ok else 1


if __name__ == "__main__":
    sys.exit(main())
