"""A plugin for pytest: Hypothesis shows that a test fails, and does not look for the shortest way.

The same examples each time: who catches a mutant today catches it tomorrow.
"""

from hypothesis import Phase, settings


def pytest_sessionstart() -> None:
    """Come after ``tests/conftest.py``, which loads its own, and before the tests are imported."""
    settings.register_profile(
        "hasty",
        settings.get_profile("holdfast"),
        phases=(Phase.explicit, Phase.generate),
        derandomize=True,
        database=None,
    )
    settings.load_profile("hasty")
