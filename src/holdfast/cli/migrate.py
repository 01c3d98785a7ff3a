"""``holdfast migrate``: make the tables ahead of time, or print what makes them."""

from __future__ import annotations

import click

from holdfast.api.migration import migrate, migration_script
from holdfast.cli import codes, options
from holdfast.cli.connect import show_warnings
from holdfast.cli.report import put


@click.command("migrate")
@click.option("--sql", is_flag=True, help="Print the statements; connect to nothing.")
@click.option(
    "--since",
    type=int,
    default=0,
    metavar="VERSION",
    help="With --sql: only what tables of that version lack.",
)
@options.url
def command(*, sql: bool, since: int, url: str | None) -> int:
    """Make holdfast's tables in a PostgreSQL database, or bring them up to date.

    Programs that may do so make them on first use. Where they may not, run this once as a user who
    may, or hand what --sql prints to the administrator of the database.
    """
    if since and not sql:
        raise click.UsageError("--since goes with --sql; without it the database is asked")
    show_warnings()
    for line in (migration_script(url, since) if sql else migrate(url)).splitlines():
        put(line)
    return codes.DONE
