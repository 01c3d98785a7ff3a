"""Two GPUs, five jobs, one of which needs both: a semaphore with slots and weights, in asyncio.

python -m examples.gpu_slots
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

import holdfast

GPUS = 2


class Machine:
    """Notes which GPU is used by whom, and whether two ever shared one."""

    def __init__(self) -> None:
        self.users: dict[int, str] = {}
        self.clashes = 0
        self.done: list[str] = []

    async def compute(self, job: str, gpus: tuple[int, ...]) -> None:
        """Use these GPUs for a while."""
        self.clashes += sum(gpu in self.users for gpu in gpus)
        self.users.update(dict.fromkeys(gpus, job))
        print(f"{job} on GPU {' and '.join(map(str, gpus))}")
        await asyncio.sleep(0.1)
        for gpu in gpus:
            del self.users[gpu]
        self.done.append(job)


async def main() -> int:
    """Let five jobs share two GPUs."""
    machine = Machine()
    with tempfile.TemporaryDirectory() as folder:
        async with holdfast.AsyncClient(f"sqlite:///{Path(folder) / 'locks.db'}") as hf:
            gpus = hf.semaphore("gpu", permits=GPUS)

            async def job(name: str, weight: int) -> None:
                async with await gpus.acquire(weight, wait="30s") as lease:
                    await machine.compute(name, lease.slots)

            jobs = {"train": 2, "infer-1": 1, "infer-2": 1, "infer-3": 1, "infer-4": 1}
            await asyncio.gather(*(job(name, weight) for name, weight in jobs.items()))
    print(f"{len(machine.done)} jobs done, {machine.clashes} clashes")
    return 0 if len(machine.done) == len(jobs) and not machine.clashes else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
