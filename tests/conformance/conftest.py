"""What the default run leaves to `make soak`: most of the suite on a quorum, which is slow to meet.

A quorum shares flows and keeper with every other backend; what is its own (votes, tokens, waiting
without a queue, loss) is in the behaviours that are always run.
"""

import pytest

ALWAYS = ("TestBreaking", "TestExclusion", "TestRelease", "TestWaiting")


@pytest.hookimpl(tryfirst=True)  # pytest's own `-m` looks at the marks in this same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the long part of the suite on a quorum."""
    for item in items:
        if "[redlock" in item.nodeid and not any(f"::{one}::" in item.nodeid for one in ALWAYS):
            item.add_marker(pytest.mark.soak)
