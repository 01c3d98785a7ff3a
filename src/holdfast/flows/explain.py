"""The errors that an acquire can end in, in words: who holds it, since when, what to do."""

from __future__ import annotations

from holdfast.durations import readable
from holdfast.errors import BackendUnavailable, LockBusy, Misuse
from holdfast.flows.book import LeaseState
from holdfast.flows.order import Order
from holdfast.flows.session import Session
from holdfast.observe import events
from holdfast.rules.messages import Refused, Reply
from holdfast.values import Tenure, called, origin


def busy(
    session: Session,
    order: Order,
    started_at: float,
    holders: tuple[Tenure, ...],
    told: tuple[str, ...] = (),
) -> LockBusy:
    """Say that others hold it, or are ahead in its queue, and ``wait`` is over."""
    waited_for = session.runtime.now() - started_at
    if session.hub.curious:
        session.hub.tell(events.Busy(order.name, waited_for, holders))
    nobody = "nobody right now, but others are in line"
    if told:
        nobody = f"nobody, because the votes are split ({'; '.join(told)})"
    who = "; ".join(tenure(held) for held in holders) or nobody
    waited = f" after waiting {readable(waited_for)}" if order.wait else ""
    return LockBusy(
        f"{called(order.name)} is busy{waited}: held by {who}."
        f" {session.look(order.name)} shows more.",
        name=origin(order.name)[1],
        holders=holders,
        waited_for=waited_for,
    )


def tenure(held: Tenure) -> str:
    """Say who holds, since when and until when."""
    from datetime import UTC, datetime  # only to tell a person

    since = datetime.fromtimestamp(held.since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    if not held.token:  # another program's own
        return f"{held.holder}, until its session ends"
    left = f"for {readable(held.expires_in)} more unless renewed"
    return f"{held.holder} since {since} with token {held.token}, {left}"


def unresolved(session: Session, order: Order, started_at: float) -> BackendUnavailable:
    """Say that ``wait`` is over and the backend does not tell what became of the claim."""
    waited = readable(session.runtime.now() - started_at)
    return BackendUnavailable(
        f"waited {waited} for {called(order.name)} and {session.backend} does not answer; "
        f"the claim ends by itself within {readable(max(order.want.ttl, 3.0))}. "
        "`holdfast doctor` or the backend's own log may tell why.",
        backend=session.backend,
        outcome="unknown",
    )


def unready(session: Session, order: Order, told: tuple[str, ...]) -> BackendUnavailable:
    """Say that ``wait`` is over and too many servers of a quorum have just restarted."""
    return BackendUnavailable(
        f"{called(order.name)} is not granted to anybody yet, because too few servers vote:"
        f" {'; '.join(told)}. Wait for longer, or turn their quarantine off with ?quarantine=0.",
        backend=session.backend,
        transient=False,
    )


def too_late(session: Session, order: Order, *, unsure: bool) -> BackendUnavailable:
    """Say that the grant was over before the caller could use it.

    ``unsure``: nobody has confirmed that it was given back.
    """
    return BackendUnavailable(
        f"{called(order.name)} was granted, but the answer took longer than the lease lives "
        f"(ttl {readable(order.want.ttl)}); use a longer ttl or find out what is slow.",
        backend=session.backend,
        outcome="unknown" if unsure else "none",
    )


def self_deadlock(order: Order, mine: LeaseState) -> Misuse:
    """Say that the same thread or task would wait for itself."""
    file, line = mine.place
    name, here = called(order.name), f"by this very thread or task since {file}:{line}"
    if order.want.weight == order.want.capacity == mine.want.weight:
        return Misuse(
            f"{name} is held {here}: waiting for it would never end. Pass the lease on, use"
            " reentrant=True, or wait=0."
        )
    if order.want.weight > mine.want.weight:
        return Misuse(
            f"{name} is read {here}, and cannot be written before that read ends: two readers"
            " that both want to write would wait for each other for ever. Leave read() first and"
            " look again under write(), or take write() from the start."
        )
    return Misuse(
        f"{name} is held {here}: to read it once more could wait for ever, behind a writer that"
        " waits for the first to end. Pass the lease on, or use reentrant=True."
    )


def refused(session: Session, order: Order, reply: Refused) -> Misuse:
    """Say that the rule refused the claim for good."""
    return Misuse(
        f"{called(order.name)} cannot be claimed like this: {reply.detail}. "
        f"Use another name, or the same terms everywhere; {session.look(order.name)} shows who uses"
        " it."
    )


def nonsense(session: Session, reply: Reply) -> BackendUnavailable:
    """Say that the backend answered something that does not fit the question."""
    return BackendUnavailable(
        f"{session.backend} gave an unexpected answer ({type(reply).__name__}); "
        "is another version of holdfast in use on it?",
        backend=session.backend,
        outcome="unknown",
        transient=False,
    )
