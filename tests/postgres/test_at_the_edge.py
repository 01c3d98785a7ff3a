"""Commits at the very moment in which a lease ends: either they are in time, or they are refused.

Where `test_paused_holders.py` stops a holder for long, here a holder whose clock stands still comes
within a few milliseconds of the end, before or after it, while a rival waits for the name.
"""

import random
import secrets
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from holdfast import Client, Lease, LockLost, clock
from tests.faults.programs.redeeming import How, Redeeming, Stage
from tests.servers.shared_postgres import shared_postgres

TTL = 0.1
TRIES = 600
AT_ONCE = 6


@pytest.mark.soak
@pytest.mark.parametrize("how", ["guard", "fence"])
def test_at_the_edge(how: How, client: Client, rival: Client) -> None:
    """Of many that come around the end, some pass and some do not; no coupon is redeemed twice."""
    server, table = shared_postgres(), f"redemptions_{secrets.token_hex(6)}"
    server.ask(f"CREATE TABLE {table} (coupon int)")
    redeeming, dice = Redeeming(server.url(), table, how), random.Random(7)
    delays = [dice.uniform(0.5 * TTL, 1.2 * TTL) for _ in range(TRIES)]

    def late(coupon: int, lease: Lease, began: float) -> str:
        def at(stage: Stage) -> None:
            if stage == "before":
                lease._state.loss, lease._state.deadline = "", clock.now() + 60
                time.sleep(max(0.0, began + delays[coupon] - time.monotonic()))

        try:
            return "in time" if redeeming.redeem(coupon, lease, at) else "too late"
        except LockLost:
            return "refused"

    def one(coupon: int) -> str:
        began = time.monotonic()
        name = f"coupon {coupon}"
        with client.lock(name, ttl=TTL, renew=False, on_loss="flag", max_hold=None) as lease:
            with ThreadPoolExecutor(1) as waiting:

                def take_over() -> None:
                    with rival.lock(name, ttl=10, wait=30) as taken:
                        redeeming.redeem(coupon, taken, lambda _stage: None)

                next_one = waiting.submit(take_over)
                fate = late(coupon, lease, began)
                next_one.result()
            return fate

    with ThreadPoolExecutor(AT_ONCE) as pool:
        fates = Counter(pool.map(one, range(TRIES)))
    redeemed = Counter(coupon for (coupon,) in server.ask(f"SELECT coupon FROM {table}"))  # noqa: S608
    server.ask(f"DROP TABLE {table}")
    print(f"{how}: {dict(fates)}")  # noqa: T201 - shown with -rP
    assert (len(redeemed), redeemed.total()) == (TRIES, TRIES)
    assert fates["in time"]
    assert fates["refused"]
