"""The shared server as a fixture, and the end of all servers with the session.

`tests/conftest.py` imports these names; whoever cannot take a fixture calls `shared_server()`.
"""

import pytest

from tests.servers.processes import close_all
from tests.servers.shared import SharedServer, shared_server


@pytest.fixture(scope="session")
def redis_server() -> SharedServer:
    """Give the Redis that the tests of this process share."""
    return shared_server()


def pytest_unconfigure() -> None:
    """Close every server, in the workers of xdist too: they do not all end in good order."""
    close_all()
