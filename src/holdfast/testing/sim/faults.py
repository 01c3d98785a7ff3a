"""What goes wrong in a simulated world, one function each; all is over when the world heals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.testing.sim.client import Client
from holdfast.testing.sim.plan import Fault, Hold
from holdfast.testing.sim.quorum import QuorumServer
from holdfast.testing.sim.scheduler import Task

if TYPE_CHECKING:
    from holdfast.testing.sim.world import World

RECONNECT = 0.05
"""How long it takes at most until an inbox is open again on a server that came back."""


def happen(world: World, fault: Fault) -> None:
    """Let a fault happen."""
    world.note(None, "fault", fault.kind, fault)
    ends_at = max(world.scheduler.time, min(fault.ends_at, world.plan.heals_at))
    if fault.kind in ("restart", "forget", "rollback"):
        _restart(world, fault, ends_at)
    elif fault.kind == "wall":
        world.server.wall.step(fault.amount)
    elif fault.kind == "leap":
        world.server.clock.step(fault.amount)
    else:
        for client in tuple(world.clients):
            if client.plan.number == fault.who and not client.dead:
                _befall(world, client, fault, ends_at)


def _befall(world: World, client: Client, fault: Fault, ends_at: float) -> None:
    match fault.kind:
        case "pause":
            pause(world, client, ends_at)
        case "crash":
            _crash(world, client, seen=fault.amount == 0)
        case "fork":
            _fork(world, client)
        case "keeper":
            client.keeper.die()
        case "cut":
            client.cut_until = max(client.cut_until, ends_at)
        case "deaf" | "unheard":
            inbox = client.keeper.ear
            if inbox is not None and not inbox.deaf:
                inbox.close(known=fault.kind == "deaf")
                world.scheduler.at(ends_at, inbox.reopen)
        case _:
            raise ValueError(fault.kind)


def pause(world: World, client: Client, ends_at: float) -> None:
    """Stop a process until ``ends_at``, or until the world heals."""
    ends_at = min(ends_at, world.plan.heals_at)
    if client.halted or ends_at <= world.scheduler.time:
        return
    client.halt()

    def go_on(_: object) -> None:
        if not client.dead:
            world.note(client, "goes on")
            client.resumed_at = world.scheduler.time
            client.go_on()

    world.scheduler.at(ends_at, go_on)


def _crash(world: World, client: Client, *, seen: bool) -> None:
    """Kill a process. Its host may go down with it, and then nobody sees its inbox close."""
    client.die()
    world.watch.crashed(client)
    world.lost_callers(client)
    inbox = client.keeper.ear
    if inbox is not None:
        inbox.close(known=seen)
    if seen and world.plan.host.knows_dead:
        world.server.gone.add(client.holder.client)


def _fork(world: World, parent: Client) -> None:
    """Let a child go on where its parent is: in the middle of a body, with a copy of its lease."""
    if parent.halted:
        return
    jobs = tuple(
        tuple(job for job in jobs[:2] if isinstance(job, Hold)) for jobs in parent.plan.jobs[:1]
    )
    plan = parent.plan._replace(jobs=jobs, strikes=(), asks=(), keeps=())
    number = sum(1 for client in world.clients if client.plan.number == parent.plan.number)
    child = Client(world, plan, f"{parent.name}'s child {number}")
    world.clients.append(child)
    inherited = parent.fork(child)
    for state in inherited.leases.values():
        if state.claim_id in world.watch.minded:
            world.watch.inherits(child, state)
    Task(child, child.leave_bodies(inherited), "inherited bodies", world.left_bodies)
    world.begin(child)


def _restart(world: World, fault: Fault, ends_at: float) -> None:
    server = world.server
    if isinstance(server, QuorumServer):
        voter = server.voters[fault.who % len(server.voters)]
        if not voter.down:
            voter.down = True
            world.scheduler.at(ends_at, lambda _: voter.restart(fault.kind))
        return
    if server.down:
        return
    server.down = True
    inboxes = [client.keeper.ear for client in world.clients if not client.dead]
    heard = [inbox for inbox in inboxes if inbox is not None and not inbox.deaf]
    for inbox in heard:
        inbox.close()

    def come_back(_: object) -> None:
        server.restart(fault.kind)
        if fault.kind != "restart":
            world.watch.records.forget()
            world.watch.family.forget()
        world.note(None, "server is back", fault.kind)
        for number, inbox in enumerate(heard):
            world.scheduler.at(
                world.scheduler.time + RECONNECT * (number + 1) / len(heard), inbox.reopen
            )

    world.scheduler.at(ends_at, come_back)
