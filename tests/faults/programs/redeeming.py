"""Redeem coupons, each under its lock, and stop where it hurts until told to go on.

The rival of the test (`tests/postgres/test_paused_holders.py`) redeems by the same function.
"""

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import psycopg

from holdfast import Client, Lease, LockLost, clock
from holdfast.postgres import fence, guard
from tests.faults.processes import plan, report

How = Literal["guard", "fence", "nothing"]
Stage = Literal["before", "after"]


@dataclass(frozen=True)
class Redeeming:
    """How coupons are redeemed: a table has a row for each time that one was."""

    url: str
    table: str
    how: How

    def redeem(self, coupon: int, lease: Lease, at: Callable[[Stage], None]) -> bool:
        """Redeem a coupon unless it was; ``at`` is called before and after what protects it."""
        with psycopg.connect(self.url) as own:
            redeemed = self._is_redeemed(own, coupon)
            own.commit()
            lease.check()
            at("before")
            if self.how == "fence":  # first: what is read after it is the truth
                fence(own, f"{self.table}:{coupon}", lease.token)
                redeemed = self._is_redeemed(own, coupon)
            if redeemed:
                return False
            own.execute(f"INSERT INTO {self.table} VALUES (%s)", (coupon,))  # noqa: S608
            if self.how == "guard":  # last: nobody waits for longer than the commit takes
                guard(own, lease)
            at("after")
        return True

    def _is_redeemed(self, own: psycopg.Connection[Any], coupon: int) -> bool:
        question = f"SELECT 1 FROM {self.table} WHERE coupon = %s"  # noqa: S608
        return own.execute(question, (coupon,)).fetchone() is not None


class Holder:
    """Redeems all coupons at once, and stops with all of them at one point of the way."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._redeeming = Redeeming(given["url"], given["table"], given["how"])
        self._stage: Stage = given["stage"]
        self._ttl: float = given["ttl"]
        self._coupons: int = given["coupons"]
        self._everybody = threading.Barrier(self._coupons + 1)
        self._go_on = threading.Event()
        self.fates: dict[int, str] = {}

    def run(self, client: Client) -> None:
        """Say when all have stopped, go on when told to."""
        workers = [
            threading.Thread(target=self._work, args=(client, coupon))
            for coupon in range(self._coupons)
        ]
        for worker in workers:
            worker.start()
        self._everybody.wait()
        report(ready=True)
        sys.stdin.readline()
        self._go_on.set()
        for worker in workers:
            worker.join()

    def _work(self, client: Client, coupon: int) -> None:
        while coupon not in self.fates:  # on a busy machine a lease may be lost on the way there
            self._try(client, coupon)

    def _try(self, client: Client, coupon: int) -> None:
        stopped = False

        def at(stage: Stage) -> None:
            nonlocal stopped
            if stage == self._stage:
                stopped = True
                self._everybody.wait()
                self._go_on.wait()
                if coupon % 2:  # as if its clock had stood still, too: now only the database knows
                    lease._state.loss, lease._state.deadline = "", clock.now() + 60

        with client.lock(f"coupon {coupon}", ttl=self._ttl, on_loss="flag") as lease:
            try:
                done = self._redeeming.redeem(coupon, lease, at)
            except LockLost:
                if stopped:
                    self.fates[coupon] = "lost"
            else:
                self.fates[coupon] = "redeemed" if done else "was redeemed"


if __name__ == "__main__":
    wanted = plan()
    holder = Holder(wanted)
    with Client(wanted["client"], prefix=wanted["prefix"]) as opened:
        holder.run(opened)
    report(fates=sorted(holder.fates.values()))
