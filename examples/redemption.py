"""A coupon in PostgreSQL, and a process that sleeps through the end of its lease.

``python -m examples.redemption postgresql://user@host/database``

A worker takes the coupon's lock, sees that the coupon is good, and is stopped (SIGSTOP) before it
redeems it. Its lease ends, another worker redeems the coupon. Then the first one wakes up and goes
on where it was: a check that it made before the pause knows nothing of all that. ``guard`` does.
"""

import signal
import subprocess
import sys

import psycopg

import holdfast
from holdfast.postgres import guard

TTL = 1.0


def redeem(client: holdfast.Client, url: str, code: str, order: str) -> str:
    """Redeem a coupon for an order, once."""
    with client.lock(f"coupon:{code}", ttl=TTL, on_loss="flag") as lease:
        with psycopg.connect(url) as connection:
            question = "SELECT redeemed_by FROM coupons WHERE code = %s"
            if connection.execute(question, (code,)).fetchone() != (None,):
                return f"{order}: it is redeemed already"
            connection.commit()

            lease.check()  # all is well
            think(order)  # and here a process may sleep for as long as it likes

            change = "UPDATE coupons SET redeemed_by = %s, times = times + 1 WHERE code = %s"
            connection.execute(change, (order, code))
            try:
                guard(connection, lease)  # last, before the commit
            except holdfast.LockLost:
                return f"{order}: the lease was lost, nothing was committed"
        return f"{order}: redeemed"


def think(order: str) -> None:
    """Let the first worker be stopped here: it says where it is, and waits to be told to go on."""
    if order == "first":
        print("first: it is good, about to redeem it", flush=True)
        sys.stdin.readline()


def main(url: str) -> None:
    """Start the first worker, stop it, be the second one, and wake the first one up."""
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE coupons (code text, redeemed_by text, times int)")
        connection.execute("INSERT INTO coupons VALUES ('SPRING', NULL, 0)")
    command = [sys.executable, "-m", "examples.redemption", url, "first"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as first:
        assert first.stdout is not None
        print(first.stdout.readline(), end="")
        first.send_signal(signal.SIGSTOP)
        with holdfast.Client(url) as client:
            print(redeem(client, url, "SPRING", "second"))
        first.send_signal(signal.SIGCONT)
        print(first.communicate("go on\n")[0], end="")
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT redeemed_by, times FROM coupons").fetchone()
        connection.execute("DROP TABLE coupons")
    print(f"redeemed by and how often: {row}")


if __name__ == "__main__":
    if sys.argv[2:] == ["first"]:
        with holdfast.Client(sys.argv[1]) as first_client:
            print(redeem(first_client, sys.argv[1], "SPRING", "first"))
    else:
        main(sys.argv[1])
