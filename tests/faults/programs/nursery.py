"""Fork workers that take and give back locks as fast as they can, and kill them at random."""

import asyncio
import os
import random
import signal
import time
from contextlib import suppress

from holdfast import AsyncClient, Client
from tests.faults.processes import die_with_parent, plan, report

given = plan()


def work(seed: int) -> None:
    """Take and give back until the end comes."""
    dice = random.Random(seed)
    client = Client(given["url"], ttl=0.5)
    while True:
        with client.lock(f"x{dice.randrange(3)}"):
            pass


async def work_async(seed: int) -> None:
    """Do the same with a few tasks at once."""
    dice = random.Random(seed)
    client = AsyncClient(given["url"], ttl=0.5)

    async def one() -> None:
        while True:
            async with client.lock(f"x{dice.randrange(3)}"):
                await asyncio.sleep(0)

    await asyncio.gather(one(), one(), one())


def start(seed: int) -> int:
    """Fork one."""
    pid = os.fork()
    if pid:
        return pid
    try:
        die_with_parent()
        if seed % 2:
            work(seed)
        else:
            asyncio.run(work_async(seed))
    finally:
        os._exit(1)


def main() -> None:
    """Keep four alive, and kill one after the other."""
    dice = random.Random(given["seed"])
    until = time.monotonic() + given["seconds"]
    alive = [start(seed) for seed in range(4)]
    kills = 0
    while time.monotonic() < until:
        time.sleep(dice.uniform(0.001, 0.05))
        victim = alive.pop(dice.randrange(len(alive)))
        os.kill(victim, signal.SIGKILL)
        _, status = os.waitpid(victim, 0)
        if not os.WIFSIGNALED(status):
            report(failed=status)
        kills += 1
        alive.append(start(4 + kills))
    for victim in alive:
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        os.waitpid(victim, 0)
    report(kills=kills)


if __name__ == "__main__":
    main()
