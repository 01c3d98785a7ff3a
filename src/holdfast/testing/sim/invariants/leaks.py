"""Nothing is left over at the end: no claim, waiter, ticket, chore or record in use.

Looked at when every caller is done, and every lease has had the time to end. Checked in every
world.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.rules.claim import view
from holdfast.testing.sim.quorum import QuorumServer

if TYPE_CHECKING:
    from holdfast.testing.sim.client import Client
    from holdfast.testing.sim.world import World

NAME = "nothing leaks"


def check(world: World) -> None:
    """Look at every book and every record."""
    for client in world.clients:
        if not client.dead:
            for what, left in _left_in(client):
                world.watch.fail(NAME, f"{client.name} still has {what}: {left}")
    if isinstance(world.server, QuorumServer) and world.server.left():
        world.watch.fail(NAME, f"still held or waited for: {', '.join(world.server.left())}")
    for name, record in sorted(world.server.records.items()):
        seen = view(record, world.server.now())
        if seen.holders or seen.queue:
            text = f"{name!r} is still held by {seen.holders} and waited for by {seen.queue}"
            world.watch.fail(NAME, text)


def _left_in(client: Client) -> list[tuple[str, object]]:
    book = client.book
    everything: list[tuple[str, object]] = [
        ("tickets", sorted(book.tickets)),
        ("tasks", [task.label for task in client.tasks if task.label != "keeper"]),
    ]
    if client.keeper.alive:  # who kills its thread kills its work; only who waits starts another
        everything += [
            ("leases", sorted(book.leases)),
            ("owned names", sorted(name for name, _ in book.owned)),
            ("chores", list(book.chores)),
        ]
    return [(what, left) for what, left in everything if left]
