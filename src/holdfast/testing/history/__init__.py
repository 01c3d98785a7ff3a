"""Histories of real processes: how they are written down, read back and judged.

A worker that uses locks writes every call and its outcome into a file of its own (``Recorder``).
Afterwards ``judge`` merges the files of a folder in the order of time and says whether what they
tell can have happened if the promises of holdfast hold. ``python -m holdfast.testing.history
FOLDER`` does the same from a shell.
"""

from __future__ import annotations

from holdfast.testing.history.form import HistoryError
from holdfast.testing.history.judge import judge
from holdfast.testing.history.moment import now_ns
from holdfast.testing.history.record import Recorder
from holdfast.testing.history.terms import Terms
from holdfast.testing.history.verdict import Proof, Verdict, Violation

__all__ = [
    "HistoryError",
    "Proof",
    "Recorder",
    "Terms",
    "Verdict",
    "Violation",
    "judge",
    "now_ns",
]
