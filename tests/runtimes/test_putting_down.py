"""Who leads is put down by the keeper's thread while its body works, in both runtimes."""

import asyncio

from holdfast import AsyncClient, Client
from holdfast.flows.journal import lines_of
from holdfast.runtimes.step import run
from holdfast.testing.watching import eventually


def is_put_down(reader: Client, token: int) -> bool:
    """Whether the journal of ``x`` has this leader."""
    lines = run(lines_of(reader._engine.session, "x"))
    return token in [line.tenure.token for line in lines]


def test_a_leader_is_put_down_while_its_body_works() -> None:
    """It need not resign for that, nor do anything."""
    with Client("memory://putting-down") as client, client.lead("x", ttl=60) as lease:
        assert eventually(lambda: is_put_down(client, lease.token))


def test_a_blocked_loop_does_not_keep_a_leader_out_of_the_journal() -> None:
    """The keeper is a thread of its own for tasks, too."""

    async def lead() -> bool:
        async with AsyncClient("memory://blocked") as client, client.lead("x", ttl=60) as lease:
            return eventually(lambda: is_put_down(reader, lease.token))  # blocks the loop

    with Client("memory://blocked") as reader:
        assert asyncio.run(lead())


def test_who_never_resigned_is_told_all_the_same() -> None:
    """Broken by force between two looks, a leader that was put down is not missed."""
    with Client("memory://unresigned") as first, Client("memory://unresigned") as second:
        watch = second.watch_leader("x", wait=30)
        assert next(watch) is None
        lease = first.lead("x", ttl=60, on_loss="flag").acquire()
        eventually(lambda: is_put_down(second, lease.token))
        second.break_lock("x", token=lease.token, reason="a test", force=True)
        later = second.lead("x", ttl=60).acquire()
        eventually(lambda: is_put_down(first, later.token))
        told = [tenure.token for tenure in (next(watch), next(watch), next(watch)) if tenure]
        assert told == [lease.token, later.token]
        later.release()
