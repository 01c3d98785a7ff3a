"""A coupon for a hundred customers, and two hundred who want it: ``python -m examples.coupon``.

What is left of the coupon is a cell, so no redemption is lost and none is one too many. Each order
is a once key, so a customer who clicks twice redeems once, and sees the same answer twice.
"""

import random
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import holdfast

COUPONS, CUSTOMERS, CLICKS = 100, 200, 2


class SoldOut(Exception):
    """None are left."""


def take_one(left: int) -> int:
    """Give how many are left after this one."""
    if left == 0:
        raise SoldOut
    return left - 1


def redeem(client: holdfast.Client, order: int) -> Any:
    """Redeem a coupon for an order; asked again, give the same answer."""

    def work() -> dict[str, object]:
        try:
            left = client.cell("coupon:SPRING:left").update(take_one).value
        except SoldOut:
            return {"order": order, "redeemed": False}
        return {"order": order, "redeemed": True, "left": left}

    return client.once(f"redeem:SPRING:order-{order}", keep="1h").run(work)


def main(url: str) -> None:
    """Let everybody click twice at the same time."""
    clicks = [order for order in range(CUSTOMERS) for _ in range(CLICKS)]
    random.shuffle(clicks)
    with holdfast.Client(url) as client, ThreadPoolExecutor(16) as browsers:
        client.cell("coupon:SPRING:left", expire="1h").swap(COUPONS, if_version=0)
        answers = list(browsers.map(lambda order: redeem(client, order), clicks))
        left = client.cell("coupon:SPRING:left").get().value
    orders = {answer["order"] for answer in answers if answer["redeemed"]}
    same = len({str(sorted(answer.items())) for answer in answers})
    print(f"{len(clicks)} clicks for {CUSTOMERS} orders, {same} different answers")
    print(f"{len(orders)} of {COUPONS} coupons redeemed, {left} left")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "memory://coupon")
