"""What every test shares: the event loop of async tests, Hypothesis without a stop-watch, Redis."""

import gc

import hypothesis
import pytest

from tests.servers.fixtures import pytest_unconfigure, redis_server

# The suite's assertions explain themselves, as those of a test file do.
pytest.register_assert_rewrite("holdfast.testing.suite")

__all__ = ["anyio_backend", "pytest_unconfigure", "redis_server"]

# Two workers share the machine, so one slow example says nothing; the limit per test still holds.
hypothesis.settings.register_profile("holdfast", deadline=None)
hypothesis.settings.load_profile("holdfast")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run async tests on asyncio, the one loop that holdfast supports."""
    return "asyncio"


def pytest_collection_finish(session: pytest.Session) -> None:  # noqa: ARG001 - pytest's own form
    """Keep thousands of collected tests out of every later collection of garbage.

    Going through them takes a few hundred milliseconds, in which no keeper of the process renews.
    """
    gc.collect()
    gc.freeze()
