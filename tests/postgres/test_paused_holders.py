"""Holders that are stopped past the end of their lease, in the middle of redeeming a coupon.

Somebody else redeems it meanwhile, under a lease of his own. With ``guard`` or with ``fence`` no
coupon is redeemed twice, however the holder wakes up; without them it is, so this can fail.
"""

import secrets
import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Self

import pytest

from holdfast import Client
from holdfast.testing.watching import eventually
from tests.faults.processes import Program
from tests.faults.programs.redeeming import How, Redeeming, Stage
from tests.servers.shared_postgres import shared_postgres

TTL = 0.5
SHORT, LONG = 8, 20
"""Coupons in one round: each has a thread and a connection on both sides."""

STAGES: tuple[Stage, ...] = ("before", "after")

pytestmark = pytest.mark.timeout(120)


@dataclass
class Count:
    """What came of the coupons of a round, or of many."""

    tries: int = 0
    twice: int = 0
    never: int = 0

    def __iadd__(self, other: "Count") -> Self:
        self.tries += other.tries
        self.twice += other.twice
        self.never += other.never
        return self


@pytest.fixture
def table() -> Iterator[str]:
    """Give a table for redemptions, which lets itself be written twice."""
    name = f"redemptions_{secrets.token_hex(6)}"
    shared_postgres().ask(f"CREATE TABLE {name} (coupon int)")
    yield name
    shared_postgres().ask(f"DROP TABLE {name}")


def _round(table: str, how: How, stage: Stage, coupons: int) -> Count:
    server, prefix = shared_postgres(), f"t{secrets.token_hex(6)}"
    server.ask(f"TRUNCATE {table}")
    server.ask("DELETE FROM holdfast.fences WHERE resource LIKE %s", f"{table}:%")
    redeeming = Redeeming(server.url(), table, how)
    url = server.url(quarantine=0)
    entered: list[int] = []
    program = {"client": url, "prefix": prefix, "coupons": coupons, "ttl": TTL, "stage": stage}
    with (
        Program("redeeming", url=server.url(), table=table, how=how, **program) as holder,
        Client(url, prefix=prefix) as rival,
        ThreadPoolExecutor(coupons) as pool,
    ):

        def redeem(coupon: int) -> bool:
            with rival.lock(f"coupon {coupon}", ttl=10, wait=60) as lease:
                entered.append(coupon)
                return redeeming.redeem(coupon, lease, lambda _stage: None)

        def is_over() -> bool:
            """Whether the holder's leases have ended, and rivals are as far as they can come."""
            if how == "guard" and stage == "after":  # pinned, so nobody gets in
                question = "SELECT count(*) FROM holdfast.seats WHERE claim_id = '' AND prefix = %s"
                return server.ask(question, prefix) == [(coupons,)] and not entered
            if how == "fence" and stage == "after":  # in, and waiting at the fence
                return len(entered) == coupons
            return all(one.done() for one in rivals)

        holder.hear(60)
        holder.send(signal.SIGSTOP)
        rivals = [pool.submit(redeem, coupon) for coupon in range(coupons)]
        eventually(is_over, 60, "the leases to end while their holder is stopped")
        holder.say()
        holder.send(signal.SIGCONT)
        fates = Counter(holder.hear(60)["fates"])
        mine = sum(one.result(60) for one in rivals)
    assert sum(fates.values()) == coupons, fates
    redeemed = Counter(coupon for (coupon,) in server.ask(f"SELECT coupon FROM {table}"))  # noqa: S608
    assert redeemed.total() == mine + fates["redeemed"]
    twice = sum(count > 1 for count in redeemed.values())
    return Count(coupons, twice, coupons - len(redeemed))


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("how", ["guard", "fence"])
def test_no_coupon_is_redeemed_twice(table: str, how: How, stage: Stage) -> None:
    """Stopped before what protects it the holder is refused; after it, the rival is."""
    assert _round(table, how, stage, SHORT) == Count(SHORT, 0, 0)


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("stage", STAGES)
def test_without_protection_they_are(table: str, stage: Stage) -> None:
    """The same run with the lock alone: a check before the pause cannot know of it."""
    assert _round(table, "nothing", stage, SHORT).twice > 0


@pytest.mark.soak
@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("how", ["guard", "fence", "nothing"])
def test_a_thousand_tries(table: str, how: How) -> None:
    """A thousand paused holders each way; the numbers are printed."""
    count = Count()
    while count.tries < 1000:
        for stage in STAGES:
            count += _round(table, how, stage, LONG)
    print(f"{how}: {count}")  # noqa: T201 - shown with -rP
    assert count.never == 0
    assert (count.twice > 0) == (how == "nothing")
