"""``holdfast verify postgresql://…``: every fault that needs no privilege, and rows of its own."""

import json
import signal
from pathlib import Path

import pytest

from holdfast import Client
from holdfast.cli import codes
from holdfast.settings import address
from holdfast.testing.verify.cleaning import clean
from holdfast.testing.verify.road import Road
from holdfast.testing.watching import eventually
from holdfast.testing.workload.traces import Traces
from tests.cli.shell import Shell
from tests.cli.strangers import InPostgres, InRedis, settle
from tests.conformance.redlock_backends import _running, shared_quorum_url
from tests.servers.shared_postgres import shared_postgres

pytestmark = pytest.mark.timeout(120)  # real processes, on a machine that is busy


def _place() -> InPostgres:
    tables = ("seats", "waiters", "records", "buckets")
    return InPostgres(shared_postgres(), "holdfast", *tables)


def _prefixes() -> list[str]:
    found = shared_postgres().ask("SELECT DISTINCT prefix FROM holdfast.seats")
    return sorted(prefix for (prefix,) in found)


def test_on_postgres_with_faults(shell: Shell) -> None:
    """No promise is broken, other people's rows stay, and its own are gone afterwards."""
    url = shared_postgres().url(quarantine=0)
    settle(url)
    theirs = _place().theirs()
    with Client(url, prefix="mine") as client, client.lock("untouched") as lease:
        words = ("--for", "8s", "--seed", "3", "--workers", "3", "--json", "report.json")
        done = shell.run("verify", url, *words)
        assert (done.returncode, done.stderr) == (codes.DONE, ""), done.stdout
        lease.check()
        assert [info.name for info in client.locks()] == ["untouched"]
    assert done.stdout.startswith("0 violations in ")
    assert (_place().ours(), _place().theirs()) == ([], theirs)
    report = json.loads((shell.folder / "report.json").read_text())
    assert (report["backend"], report["left_behind"]) == ("postgres", None)
    assert report["verdict"]["judged"]["exclusion"] > 50
    assert min(report["primitives"].values()) > 0
    network = {"cut", "outage", "silence", "stall", "lag", "lost replies"}
    assert network & report["verdict"]["faults"].keys()
    assert not [what for what in report["not_covered"] if "proxy" in what]


def test_interrupted_on_postgres(shell: Shell) -> None:
    """Ctrl-C ends it without a verdict; no row is left, and nobody else's is touched."""
    url = shared_postgres().url(quarantine=0)
    settle(url)
    theirs = _place().theirs()
    verifying = shell.start("verify", url, "--for", "1m", "--workers", "3")
    eventually(lambda: any("once" in row for row in _place().ours()), 60, "work on the server")
    verifying.send_signal(signal.SIGINT)
    out, errors = verifying.communicate(timeout=30)
    assert (verifying.returncode, out) == (130, ""), errors
    assert "what the workers left was removed" in errors
    assert (_place().ours(), _place().theirs()) == ([], theirs)


def test_on_backends_that_have_only_locks(shell: Shell) -> None:
    """What advisory locks and a quorum do not have is said, and what they leave is gone, too."""
    advisory = shared_postgres().url().replace("postgresql://", "postgresql+advisory://")
    rows = InPostgres(shared_postgres(), "holdfast_advisory", "claims")
    quorum = InRedis(*_running(3)())
    for url, lacking, place in (
        (advisory, "semaphore, cell, once, singleton, limiter: advisory", rows),
        (shared_quorum_url(), "rwlock, semaphore, cell, once, singleton, limiter: redlock", quorum),
    ):
        words = ("--for", "2s", "--workers", "1", "--json", "report.json")
        done = shell.run("verify", url, *words)
        assert (done.returncode, done.stderr) == (codes.DONE, ""), done.stdout
        report = json.loads((shell.folder / "report.json").read_text())
        assert f"{lacking} does not have them" in report["not_covered"]
        assert {"lock", "lead"} <= report["primitives"].keys()
        assert {"cell", "limiter"}.isdisjoint(report["primitives"])
        assert (report["left_behind"], place.ours()) == (None, [])


def test_only_rows_of_its_own_are_cleaned(tmp_path: Path) -> None:
    """By the prefix, letter for letter, whatever is in it."""
    url = shared_postgres().url(quarantine=0)
    prefixes = [f"{tmp_path.name}'; --", f"{tmp_path.name}"]
    for prefix in prefixes:
        with Client(url, prefix=prefix) as client:
            with client.lock("x"):
                pass
            client.cell("x").swap(1, if_version=0)
    assert clean(address(url), prefixes[0], Traces()) == ""
    assert [prefix for prefix in _prefixes() if prefix.startswith(tmp_path.name)] == prefixes[1:]


@pytest.mark.parametrize(
    "url, reason",
    [
        ("postgresql://one,two/db", "does not name one host"),
        ("postgresql:///db?host=/run/postgresql", "does not name one host"),
        ("postgresql:///db?service=main", "does not name one host"),
        ("postgresql://one/db?sslmode=verify-full", "a certificate names the server"),
        ("postgres://one/db?sslmode=require", ""),
        ("postgresql://user:password@one:5433/db", ""),
    ],
)
def test_where_a_proxy_can_stand(url: str, reason: str) -> None:
    """In front of one server that is named in the URL."""
    with Road(address(url)) as road:
        assert reason in road.why_not
        assert bool(reason) == bool(road.why_not)
        assert (road.proxy is None) == bool(reason)
