"""Eight processes behind a transaction pooler with three sessions: nobody meets anybody."""

from pathlib import Path

import pytest

from holdfast.testing.history.terms import Terms
from holdfast.testing.watching import eventually
from holdfast.testing.workload.crew import Crew
from holdfast.testing.workload.plan import Mode, Plan
from tests.servers.pgbouncer import PROGRAM, PgBouncer
from tests.servers.postgres import PostgresServer
from tests.servers.shared_postgres import shared_postgres

PROCESSES: tuple[Mode, ...] = (*("sync", "threads", "async") * 2, "sync", "async")
TERMS = Terms(waiting_limit=60, idle_limit=10, recovery=4)


@pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed")
@pytest.mark.timeout(180)  # eight processes start, on a machine that is busy
def test_eight_processes_through_a_pooler(tmp_path: Path) -> None:
    """They wait, cancel, err, break and fork; the checker finds no overlap and no stale token."""
    server = shared_postgres()
    assert isinstance(server, PostgresServer)
    with PgBouncer(server.port, size=3) as pooler:
        plan = Plan(
            url=pooler.url(quarantine=0),
            folder=str(tmp_path),
            prefix=f"pooled-{tmp_path.name}",
            seed=7,
            actors=2,
            turns=10,
            ttl=2.0,
            call_limit=5.0,
        )
        with Crew(plan) as crew:
            for mode in PROCESSES:
                crew.start(mode)
            eventually(lambda: not any(one.alive for one in crew.workers), 150, "all turns")
            verdict = crew.judge(TERMS)
            assert crew.failed() == []
    assert verdict.ok, str(verdict)
    assert verdict.judged["exclusion"] > 40, verdict.judged
    assert verdict.judged["fencing"] > 20, verdict.judged
