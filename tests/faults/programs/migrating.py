"""Be so many replicas that upgrade one database with Alembic at the same moment."""

import os
import sys
from contextlib import redirect_stderr
from pathlib import Path

import psycopg
import sqlalchemy.dialects.postgresql.psycopg
from alembic import command
from alembic.config import Config

import holdfast.postgres.psycopg_talk
from tests.faults.processes import die_with_parent, plan, report

READY = (psycopg, sqlalchemy.dialects.postgresql.psycopg, holdfast.postgres.psycopg_talk)
"""What a replica would import: once here is enough for all of them."""


def upgrade(folder: Path, url: str) -> int:
    """Do what ``alembic upgrade head`` does; give the exit code."""
    config = Config(attributes={})
    config.set_main_option("script_location", str(folder))
    config.set_main_option("sqlalchemy.url", url)
    try:
        with (folder / f"{os.getpid()}.log").open("w") as log, redirect_stderr(log):
            command.upgrade(config, "head")
    except Exception as error:  # noqa: BLE001 - a replica that fails says how, and ends
        sys.stderr.write(f"{type(error).__name__}\n")
        return 1
    return 0


def main() -> None:
    """Fork the replicas once everything is imported, so that they begin together."""
    given = plan()
    replicas: list[int] = []
    for _ in range(given["replicas"]):
        child = os.fork()
        if not child:
            die_with_parent()
            os._exit(upgrade(Path(given["folder"]), given["url"]))
        replicas.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in replicas]
    report(codes=codes)


if __name__ == "__main__":
    main()
