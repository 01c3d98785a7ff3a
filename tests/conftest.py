"""What every test shares: the event loop of async tests, and Hypothesis without a stop-watch."""

import hypothesis
import pytest

# Two workers share the machine, so one slow example says nothing; the limit per test still holds.
hypothesis.settings.register_profile("holdfast", deadline=None)
hypothesis.settings.load_profile("holdfast")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run async tests on asyncio, the one loop that holdfast supports."""
    return "asyncio"
