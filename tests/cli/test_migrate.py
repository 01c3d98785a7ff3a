"""``holdfast migrate``: what it says, and where."""

from tests.cli.shell import Shell
from tests.servers.shared_postgres import shared_postgres


def test_what_it_says(shell: Shell) -> None:
    """What was done is on stdout; what is logged meanwhile is said as everything else is."""
    server = shared_postgres()
    schema = "holdfast_cli_migrate"
    try:
        done = shell.run("migrate", "--url", server.url(schema=schema, quarantine=3600))
        assert done.returncode == 0, done.stderr
        assert schema in done.stdout
        assert [
            line for line in done.stderr.splitlines() if not line.startswith("holdfast: ")
        ] == []
    finally:
        server.ask(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


def test_nothing_to_do(shell: Shell) -> None:
    """A backend without tables of its own needs nothing, and that is no failure."""
    done = shell.run("migrate")
    assert (done.returncode, done.stderr) == (0, "")
    assert "nothing to do" in done.stdout
