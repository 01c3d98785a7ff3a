"""The pytest plugin: fixtures only, each a line or two around what works without pytest too.

Every run of pytest imports this file, so it imports nothing of holdfast before a test asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from holdfast import AsyncClient, Client
    from holdfast.testing import Faults, OncePerRun, Sandbox, VirtualClock


@pytest.fixture
def holdfast_sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """Give a fresh backend of the test's own, on virtual time if the test has the clock too.

    Afterwards its clients are closed, and the test fails if they still hold something.
    """
    from holdfast.testing import Sandbox

    sandbox = Sandbox(virtual_clock="holdfast_clock" in request.fixturenames)
    yield sandbox
    sandbox.close()


@pytest.fixture
def holdfast_client(holdfast_sandbox: Sandbox) -> Client:
    """Give a ``holdfast.Client`` on the sandbox; it is closed after the test."""
    return holdfast_sandbox.client()


@pytest.fixture
def holdfast_async_client(holdfast_sandbox: Sandbox) -> AsyncClient:
    """Give a ``holdfast.AsyncClient`` on the sandbox, for any asyncio plugin; closed afterwards."""
    return holdfast_sandbox.async_client()


@pytest.fixture
def holdfast_faults(holdfast_sandbox: Sandbox) -> Faults:
    """Give what can go wrong with the clients of the sandbox; all is well after the test."""
    return holdfast_sandbox.faults


@pytest.fixture
def holdfast_clock(holdfast_sandbox: Sandbox) -> VirtualClock:
    """Give the clock of the sandbox: time passes only when the test says so."""
    return holdfast_sandbox.clock


@pytest.fixture(scope="session")
def holdfast_once_per_run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OncePerRun]:
    """Give what makes expensive things once for all pytest-xdist workers of a run."""
    from holdfast.testing import OncePerRun

    folder = tmp_path_factory.getbasetemp()
    xdist: dict[str, str] | None = getattr(request.config, "workerinput", None)
    if xdist is None:
        once = OncePerRun(folder / "holdfast", worker="the only process")
    else:  # each worker has a folder of its own; they share the one above
        shared = folder.parent / f"holdfast-{xdist['testrunuid']}"
        once = OncePerRun(shared, worker=xdist["workerid"])
    with once:
        yield once
