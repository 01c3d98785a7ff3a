"""The examples run as they stand, and show what they say."""

import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import Client
from tests.postgres.conftest import BORN_LONG_AGO
from tests.servers.shared_postgres import shared_postgres

ROOT = Path(__file__).parents[2]


def run(name: str, *args: str, logs: str = "") -> list[str]:
    """Run an example to its end; give what it printed. What it logs is nothing, or has ``logs``."""
    command = [sys.executable, "-W", "error", "-m", f"examples.{name}", *args]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    quiet = logs in done.stderr and "Traceback" not in done.stderr if logs else not done.stderr
    assert (done.returncode, quiet) == (0, True), done.stderr
    return done.stdout.splitlines()


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Give a backend of its own, one of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'locks.db'}"
    return f"memory://{tmp_path}"


def test_coupon(url: str) -> None:
    """A hundred coupons are redeemed by two hundred customers, each of whom clicks twice."""
    assert run("coupon", url) == [
        "400 clicks for 200 orders, 200 different answers",
        "100 of 100 coupons redeemed, 0 left",
    ]


@pytest.mark.timeout(60)  # real processes, on a machine that is busy
def test_redemption() -> None:
    """A holder that sleeps through the end of its lease redeems nothing when it wakes up."""
    url = shared_postgres().url()
    with Client(f"{url}?quarantine=0") as first:
        first.locks()
    shared_postgres().ask(BORN_LONG_AGO)
    assert run("redemption", url, logs="lost coupon:SPRING") == [
        "first: it is good, about to redeem it",
        "second: redeemed",
        "first: the lease was lost, nothing was committed",
        "redeemed by and how often: ('second', 1)",
    ]


def test_webhook(url: str) -> None:
    """However often it is delivered it ships once; another content is refused."""
    assert run("webhook", url) == [
        "6 deliveries, 1 shipment",
        "answers: (200, {'shipment': 'S-42', 'parcels': 2})",
        "tampered with: 422 this id was used for another event",
    ]


def test_daily_report() -> None:
    """One host fails, the next one that comes makes the report, and all others skip."""
    *said, last = run("daily_report")
    assert last == "tried 2 times, completed once"
    words = sorted(line.partition(": ")[2].partition(" ")[0] for line in said)
    assert words == ["failed", "sent", *["skipped"] * 4]


def test_api_quota(url: str) -> None:
    """Forty calls keep to the rate, and an impatient request is told to come again."""
    assert run("api_quota", url) == [
        "an impatient request: 429",
        "40 calls, never above 50/s: True",
    ]
