"""Whether anybody listens is asked in the middle of an acquire: it must never fail."""

import sys
from types import ModuleType

import pytest

from holdfast.observe.hub import Hub


def test_logging_may_be_half_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread is importing logging at this very moment: nobody is curious yet."""
    monkeypatch.setitem(sys.modules, "logging", ModuleType("logging"))
    assert Hub().curious is False
