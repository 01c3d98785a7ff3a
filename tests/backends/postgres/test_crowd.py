"""What many tasks ask at the same moment: few statements, and no idle server between them."""

import asyncio

import pytest

from holdfast import AsyncClient
from holdfast.backends.postgres.job import Job
from holdfast.backends.postgres.link import Link
from holdfast.backends.postgres.requests import Statement
from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import Claim, Reply
from tests.servers.shared_postgres import shared_postgres

pytestmark = pytest.mark.anyio

TASKS = 200


async def test_a_crowd_goes_in_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next statement is sent before the answers to the last are given out."""
    story: list[str | int] = []
    send, settle = Link.send, Job.settle

    def noted_send(link: Link, statement: Statement) -> None:
        if isinstance(statement.requests[0], Claim):
            story.append(len(statement.requests))
        send(link, statement)

    def noted_settle(job: Job, answer: Reply | BackendUnavailable) -> None:
        if story[-1] != "served":
            story.append("served")
        settle(job, answer)

    url = shared_postgres().url(quarantine=0)
    async with AsyncClient(url, prefix="crowd") as client:
        async with client.lock("first"):  # connected, and whoever comes next was alone so far
            pass
        monkeypatch.setattr(Link, "send", noted_send)
        monkeypatch.setattr(Job, "settle", noted_settle)
        locks = [client.lock(f"n{number}") for number in range(TASKS)]
        leases = await asyncio.gather(*(lock.acquire(wait=0) for lock in locks))
        monkeypatch.undo()
        assert len({lease.name for lease in leases if lease.held}) == TASKS
    # One goes at once; half of the 199 that came meanwhile; of the rest at least 64.
    assert story == [1, 99, "served", 64, "served", 36, "served"]
