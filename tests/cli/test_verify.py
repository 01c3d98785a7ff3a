"""``holdfast verify``: a verdict in words and as JSON, nothing touched elsewhere, nothing left."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.cli import codes
from holdfast.testing.verify.trial import Trial
from holdfast.testing.watching import eventually
from tests.cli.shell import Shell
from tests.cli.strangers import InRedis, InSqlite, settle
from tests.conformance.redis_backends import _cluster, _sentinels
from tests.servers.redis import RedisServer

pytestmark = pytest.mark.timeout(90)

PRIMITIVES = {"lock", "rwlock", "semaphore", "lead", "cell", "once", "singleton", "limiter"}
RIGHTS = "~holdfast-verify-* &holdfast-verify-* +@all"


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    """Give a server with a user who may touch nothing but a prefix of verify's."""
    with RedisServer(user=[f"verifier on >sesame {RIGHTS}"]) as server:
        yield server


def keys(server: RedisServer) -> list[str]:
    """List every key there is."""
    found: list[str] = server.ask("KEYS", "*")
    return sorted(found)


def test_on_redis_with_every_fault(shell: Shell, server: RedisServer) -> None:
    """No promise is broken, no key outside the prefix is touched, and none stays."""
    server.ask("FLUSHALL")
    server.ask("ACL", "LOG", "RESET")
    settle(server.url(quarantine=0))
    before, theirs = keys(server), InRedis(server).theirs()
    url = server.url(user="verifier", password="sesame", quarantine=0)
    done = shell.run("verify", url, "--for", "14s", "--seed", "3", "--json", "report.json")
    assert (done.returncode, done.stderr) == (codes.DONE, ""), done.stdout
    assert done.stdout.startswith("0 violations in ")
    assert "sesame" not in done.stdout
    assert keys(server) == before
    assert InRedis(server).theirs() == theirs
    assert server.ask("ACL", "LOG") == []
    report = json.loads((shell.folder / "report.json").read_text())
    assert "sesame" not in json.dumps(report)
    assert report["ok"] is True
    assert (report["seed"], report["histories"], report["left_behind"]) == (3, None, None)
    assert report["workers"] == {"sync": 2, "threads": 2, "async": 2}
    assert any("restart" in note for note in report["notes"])
    verdict = report["verdict"]
    assert verdict["operations"] > 500
    assert min(verdict["judged"][rule] for rule in ("exclusion", "tokens", "fencing")) > 100
    assert set(report["primitives"]) == PRIMITIVES
    assert min(report["primitives"].values()) > 0
    assert report["primitives"]["cell"] == verdict["judged"]["updates"]
    assert "nothing is proved of" not in done.stdout
    network = {"cut", "outage", "silence", "stall", "lag", "lost replies"}
    processes = {"kill", "pause"}
    assert len(network & verdict["faults"].keys()) > 1
    assert processes & verdict["faults"].keys()
    assert verdict["faults"]["cancellation"] > 5


def test_on_sqlite(shell: Shell) -> None:
    """The file of the default is used, its rows are gone afterwards, what is left out is said."""
    settle(shell.url)
    place = InSqlite(shell.folder / "locks.db")
    theirs = place.theirs()
    with holdfast.Client(shell.url, prefix="mine") as client, client.lock("mine"):
        eventually(lambda: len(place.pipes()) == 1, 10, "the pipe of a stranger")
        pipes = place.pipes()
        done = shell.run("verify", "--for", "5s", "--workers", "4")
        assert (done.returncode, done.stderr) == (codes.DONE, ""), done.stdout
        assert [info.name for info in client.locks()] == ["mine"]
        assert (place.ours(), place.theirs(), place.pipes()) == ([], theirs, pipes)
    assert "0 violations in " in done.stdout
    assert "not covered: cut, late and lost messages: there is no network" in done.stdout
    assert "of each primitive: " in done.stdout
    assert "left behind" not in done.stdout


def test_in_memory(shell: Shell) -> None:
    """One process with threads and tasks; what memory cannot show is said."""
    done = shell.run("verify", "memory://", "--for", "5s", "--json", "-")
    assert (done.returncode, done.stderr) == (codes.DONE, "")
    report = json.loads(done.stdout)
    assert report["ok"] is True
    assert report["workers"] == {"mixed": 1}
    assert any("several processes, kill -9 and fork" in what for what in report["not_covered"])
    assert {"kill", "fork"}.isdisjoint(report["verdict"]["faults"])
    assert report["verdict"]["judged"]["exclusion"] > 50
    assert set(report["primitives"]) == PRIMITIVES


def group_of(kind: str) -> tuple[str, list[RedisServer]]:
    """Give the URL of a group of servers, and those of them that have data."""
    if kind == "sentinel":
        sentinels = _sentinels(os.getpid())
        return sentinels.url(quarantine=0), [sentinels.master()]
    cluster = _cluster(os.getpid())
    return cluster.url(quarantine=0), cluster.masters()


@pytest.mark.parametrize("kind", ["sentinel", "cluster"])
def test_on_groups_of_servers(shell: Shell, kind: str) -> None:
    """Where no proxy can stand in between that is said; nothing of the prefix stays anywhere."""
    url, servers = group_of(kind)
    settle(url)
    place = InRedis(*servers)
    theirs = place.theirs()
    done = shell.run("verify", url, "--for", "4s", "--workers", "3")
    assert (done.returncode, done.stderr) == (codes.DONE, ""), done.stdout
    assert "so no proxy can stand in" in done.stdout
    assert (place.ours(), place.theirs()) == ([], theirs)


def test_interrupted(shell: Shell, server: RedisServer) -> None:
    """Ctrl-C ends it with 130, without a verdict; no key and no worker is left."""
    server.ask("FLUSHALL")
    verifying = shell.start("verify", server.url(quarantine=0), "--for", "1m")
    eventually(lambda: any(":once:" in key for key in keys(server)), 60, "work on the server")
    verifying.send_signal(signal.SIGINT)
    out, errors = verifying.communicate(timeout=30)
    assert (verifying.returncode, out) == (130, "")
    assert "nothing is judged; what the workers left was removed" in errors
    assert keys(server) == []
    eventually(lambda: server.ask("CLIENT", "LIST").count("\n") == 1, 10, "no worker's connection")


def test_interrupted_on_a_file(shell: Shell) -> None:
    """No row and no pipe is left, also of those who were killed in the middle of everything."""
    settle(shell.url)
    place = InSqlite(shell.folder / "locks.db")
    theirs = place.theirs()
    verifying = shell.start("verify", "--for", "1m", "--workers", "3")
    eventually(lambda: any(row[1] == "once" for row in place.ours()), 60, "work on the file")
    verifying.send_signal(signal.SIGTERM)
    out, errors = verifying.communicate(timeout=30)
    assert (verifying.returncode, out) == (128 + signal.SIGTERM, ""), errors
    assert "what the workers left was removed" in errors
    assert (place.ours(), place.theirs(), place.pipes()) == ([], theirs, set())


def test_what_cannot_be_removed_is_said(shell: Shell, server: RedisServer) -> None:
    """Here the right to delete is gone by the time of the Ctrl-C; then all of it expires."""
    server.ask("FLUSHALL")
    server.ask("ACL", "SETUSER", "hindered", "reset", "on", ">sesame", *RIGHTS.split())
    url = server.url(user="hindered", password="sesame", quarantine=0)
    verifying = shell.start("verify", url, "--for", "1m", "--workers", "1")
    eventually(lambda: any(":cell:" in key for key in keys(server)), 60, "work on the server")
    server.ask("ACL", "SETUSER", "hindered", "-del")
    verifying.send_signal(signal.SIGINT)
    _, errors = verifying.communicate(timeout=30)
    assert verifying.returncode == 130
    assert "nothing is judged; cleaning up failed (" in errors
    assert "expires by itself within two days" in errors
    assert keys(server)
    assert [key for key in keys(server) if server.ask("PTTL", key) == -1] == []


def test_a_young_server_is_waited_for() -> None:
    """It grants nothing at first; nobody is accused of that, for nobody works before it does."""
    heard: dict[str, float] = {}

    def hear(_passed: float, what: str) -> None:
        heard.setdefault(what, time.monotonic())

    started_at = time.monotonic()
    with RedisServer() as server:
        url = server.url(quarantine="5s")
        outcome = Trial(url=url, seconds=0.5, workers=1, seed=1, progress=hear).run()
        assert keys(server) == []
    assert outcome.verdict.ok, str(outcome.verdict)
    assert heard["peace"] - started_at > 4.0  # it counts its own age in whole seconds
    assert next(iter(heard)) == "the backend is waited for"


APART = """
import sys
from dataclasses import replace
from holdfast.cli import main
from holdfast.testing.verify import trial

class Apart(trial.Crew):
    def start(self, mode, plan=None):
        plan = plan or self.plan
        return super().start(mode, replace(plan, prefix=f"{plan.prefix}-{len(self.workers)}"))

trial.Crew = Apart
sys.exit(main())
"""
"""The command line with a crew whose workers do not know each other: no lock excludes anybody."""


def test_broken_promises_are_found(shell: Shell) -> None:
    """Locks that do not lock: code 3, the lines that prove it, and the histories are kept."""
    command = [sys.executable, "-c", APART, "verify", "--for", "4s", "--workers", "3"]
    done = subprocess.run(
        [*command, "--json", "report.json"],
        cwd=shell.folder,
        env={**shell.env, "TMPDIR": str(shell.folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (codes.VIOLATED, "")
    assert " at once from " in done.stdout
    report = json.loads((shell.folder / "report.json").read_text())
    assert report["ok"] is False
    found: list[dict[str, Any]] = report["verdict"]["found"]
    assert {"exclusion", "succession"} <= {violation["rule"] for violation in found}
    line = found[0]["lines"][0]
    kept = Path(report["histories"], line["file"]).read_text().splitlines()
    assert kept[line["line"] - 1].strip() == line["text"]
    assert f"all histories are in {report['histories']}" in done.stdout


def test_the_bar_on_a_terminal(shell: Shell) -> None:
    """On a terminal a bar shows how far it is and what is going on; stdout has only the verdict."""
    master, terminal = os.openpty()
    verifying = shell.start("verify", "--for", "2s", "--workers", "1", stderr=terminal)
    os.close(terminal)
    screen = b""

    def shows(text: bytes) -> bool:
        nonlocal screen
        screen += os.read(master, 4096)
        return text in screen

    eventually(lambda: shows(b"peace"), 60, "the bar")
    assert verifying.stdout is not None
    assert verifying.stdout.read().startswith("0 violations in ")
    assert verifying.wait() == 0
    os.close(master)


@pytest.mark.parametrize(
    "args, code",
    [
        (("memory://", "--url", "memory://"), codes.USAGE),
        (("memory://", "--workers", "0"), codes.USAGE),
        (("memory://", "--for", "0s"), codes.USAGE),
        (("memory://", "--seed", "x"), codes.USAGE),
        (("memory://", "--json", "no/such/folder/report.json"), codes.USAGE),
        (("gopher://host",), codes.USAGE),
        (("redis://127.0.0.1:1/0",), codes.UNAVAILABLE),
    ],
)
def test_it_refuses_before_it_begins(shell: Shell, args: tuple[str, ...], code: int) -> None:
    """What cannot be done is said in one line, and nothing is started."""
    done = shell.run("verify", *args)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("holdfast: ")
    assert len(done.stderr.splitlines()) == 1


def test_killed(shell: Shell, server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """When verify itself is killed -9 its workers end too; what they left expires by itself."""
    monkeypatch.setenv("TMPDIR", str(shell.folder))  # its histories stay, too
    server.ask("FLUSHALL")
    verifying = shell.start("verify", server.url(quarantine=0), "--for", "1m", "--workers", "2")
    eventually(lambda: any(":cell:" in key for key in keys(server)), 60, "work on the server")
    verifying.kill()
    verifying.wait()
    eventually(lambda: server.ask("CLIENT", "LIST").count("\n") == 1, 10, "no worker's connection")
    assert [key for key in keys(server) if server.ask("PTTL", key) == -1] == []
