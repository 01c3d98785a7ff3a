"""The recipes of docs/migrations.md as they stand there: ten replicas migrate once."""

import secrets
import types
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.core.management.commands import migrate  # type: ignore[import-untyped]

from holdfast import Client
from tests.faults.processes import Program
from tests.postgres.conftest import BORN_LONG_AGO
from tests.postgres.test_django import be_a_project
from tests.servers.shared_postgres import shared_postgres

pytestmark = [pytest.mark.timeout(90), pytest.mark.usefixtures("aged")]

PAGE = Path(__file__).parents[2] / "docs" / "migrations.md"
REPLICAS = 10

REVISION = """
import os, time
from pathlib import Path
from alembic import op

revision, down_revision = "{revision}", {before}

def upgrade():
    here = Path(__file__).parents[1]
    (here / f"{{os.getpid()}}.inside").touch()
    until = time.monotonic() + {company}
    while time.monotonic() < until and len(list(here.glob("*.inside"))) < 2:
        time.sleep(0.01)
    op.execute("CREATE TABLE {table} (done int)")
"""
"""It stays for a moment, or for as long as it takes until a second one is inside."""


def _recipe(containing: str) -> str:
    blocks = PAGE.read_text("utf-8").split("```python\n")[1:]
    (found,) = [block.split("```")[0] for block in blocks if containing in block]
    return found


@pytest.fixture
def database() -> Iterator[str]:
    """Give an empty database, apart from holdfast's tables; they are old enough."""
    server, name = shared_postgres(), f"migrated_{secrets.token_hex(4)}"
    server.ask(f"CREATE DATABASE {name}")
    url = server.url().replace("/postgres", f"/{name}")
    with Client(f"{url}?quarantine=0") as first:
        first.locks()
    with psycopg.connect(url) as own:
        own.execute(BORN_LONG_AGO)
    yield url
    server.ask(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Give an Alembic project with two migrations, each of which can be done only once."""
    (tmp_path / "versions").mkdir()
    _write_migrations(tmp_path, company=0.2)
    (tmp_path / "env.py").write_text(_recipe("run_migrations_online"))
    return tmp_path


def _write_migrations(project: Path, *, company: float) -> None:
    for revision, before in (("1", None), ("2", "1")):
        facts = {"revision": revision, "before": repr(before), "table": f"step_{revision}"}
        script = REVISION.format(**facts, company=company)
        (project / "versions" / f"{revision}.py").write_text(script)


def _upgraded(project: Path, database: str) -> list[int]:
    url = database.replace("postgresql://", "postgresql+psycopg://")
    with Program("migrating", folder=str(project), url=url, replicas=REPLICAS) as replicas:
        codes: list[int] = replicas.hear(80)["codes"]
        return codes


def test_alembic(project: Path, database: str) -> None:
    """All ten end well, and one of them has done all there was to do."""
    assert _upgraded(project, database) == [0] * REPLICAS
    assert len(list(project.glob("*.inside"))) == 1


def test_alembic_without_the_lock(project: Path, database: str) -> None:
    """The same without the recipe: some of them fail, so the test above can."""
    env = (project / "env.py").read_text()
    locked = '        client.lock("alembic upgrade", wait="15m") as lease,\n'
    assert locked in env
    bare = env.replace(locked, "").replace("guard(connection, lease)", "pass")
    (project / "env.py").write_text(bare)
    _write_migrations(project, company=30)
    with psycopg.connect(database) as own:  # to make this one would keep the others out by itself
        own.execute("CREATE TABLE alembic_version (version_num varchar(32) PRIMARY KEY)")
    assert any(_upgraded(project, database))


def test_django(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command is Django's own, under a lock that a rival sees."""
    be_a_project()
    page = types.ModuleType("page")
    exec(_recipe("class Command"), vars(page))  # noqa: S102 - what the page says
    seen: list[bool] = []
    with Client(shared_postgres().url(quarantine=0)) as rival:

        def handle(*_args: object, **_options: object) -> None:
            seen.append(rival.show("django migrate").held)

        monkeypatch.setattr(migrate.Command, "handle", handle)
        page.Command().handle(database="default")
        seen.append(rival.show("django migrate").held)
    assert seen == [True, False]
