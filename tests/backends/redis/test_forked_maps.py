"""A fork while another thread of the parent looks for the master, or for the map of a cluster."""

import os
from typing import Any

import pytest

from holdfast import Client


@pytest.mark.parametrize("url", ["redis+cluster://localhost:1", "redis+sentinel://localhost:1/it"])
def test_a_child_waits_for_no_thread_of_its_parent(url: str) -> None:
    """Whoever was looking is not there in the child: it looks for itself."""
    client = Client(url)
    backend: Any = client._engine.backend
    with backend._office.topology._lock:
        child = os.fork()
        if child == 0:
            free = backend._office.topology._lock.acquire(blocking=False)
            os._exit(0 if free else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
