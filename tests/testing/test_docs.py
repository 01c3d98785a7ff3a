"""The samples of docs/testing.md are tests: a pytest of their own runs them as a user's file."""

import re
from pathlib import Path

import pytest

from tests.testing.alone import WITH_ANYIO

PAGE = Path(__file__).parent.parent.parent / "docs" / "testing.md"
SAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
TEST = re.compile(r"^ *(?:async )?def test_", re.MULTILINE)


def test_the_samples_pass(pytester: pytest.Pytester) -> None:
    """Every test that the page shows is collected, and passes."""
    program = "\n".join(SAMPLE.findall(PAGE.read_text("utf-8")))
    pytester.makepyfile(program)
    shown = len(TEST.findall(program))
    assert shown > 10
    pytester.runpytest_inprocess("-W", "error", *WITH_ANYIO).assert_outcomes(passed=shown)
