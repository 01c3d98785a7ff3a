"""Looking at names, and taking one away from its holder."""

from __future__ import annotations

from holdfast.errors import Conflict
from holdfast.flows.explain import nonsense, tenure
from holdfast.flows.session import Session, ask_until
from holdfast.observe import events
from holdfast.rules.messages import Break, Broke, ListNames, Look, NotHeld, Seen
from holdfast.values import LockInfo, NameSpace, Tenure, apart, called, origin

OTHER_SPACES: tuple[NameSpace, ...] = ("once", "singleton")
"""The spaces beside that of locks in which names can be held."""

PAGE = 1000
"""How many names one question asks for, so that a long listing holds nobody up."""


async def show(session: Session, name: str) -> LockInfo:
    """Show one name."""
    session.refuse_if_closed()
    reply, _ = await ask_until(session, Look(name), _by(session))
    if not isinstance(reply, Seen):
        raise nonsense(session, reply)
    return _placed(reply.locks[0])


async def locks(session: Session, prefix: str) -> list[LockInfo]:
    """Show every name in use that starts with ``prefix``, in the order of their bytes.

    Those behind once keys and singletons are among them: each says in which space it is.
    """
    session.refuse_if_closed()
    found = await _listed(session, prefix)
    if prefix:  # without one, everything was listed
        for space in OTHER_SPACES:
            found += await _listed(session, apart(space, prefix))
    placed = map(_placed, found)
    return sorted(placed, key=lambda one: (one.name.encode(), one.space))


async def _listed(session: Session, prefix: str) -> list[LockInfo]:
    found: list[LockInfo] = []
    after = ""
    while True:
        reply, _ = await ask_until(session, ListNames(prefix, after, PAGE), _by(session))
        if not isinstance(reply, Seen):
            raise nonsense(session, reply)
        found.extend(one for one in reply.locks if one.holders or one.queue)
        if len(reply.locks) < PAGE:
            return found
        after = reply.locks[-1].name


async def break_lock(
    session: Session, name: str, token: int, reason: str, *, force: bool
) -> Tenure:
    """Mark the grant with this token, or take it away at once; give what was broken."""
    session.refuse_if_closed()
    request = Break(name, token, reason, force)
    reply, _ = await ask_until(session, request, _by(session))
    match reply:
        case Broke():
            session.hub.tell(events.Broken(name, token, reason, force))
            return reply.tenure
        case NotHeld():
            now = "; ".join(tenure(held) for held in reply.holders) or "nobody"
            raise Conflict(
                f"{called(name)} is not held with token {token}: it is held by {now}. "
                "Look again and decide anew.",
                name=origin(name)[1],
            )
        case _:
            raise nonsense(session, reply)


def _placed(info: LockInfo) -> LockInfo:
    """Give a name as its user knows it, and the space it is in."""
    space, name = origin(info.name)
    return info if space == "lock" else info._replace(name=name, space=space)


def _by(session: Session) -> float:
    return session.runtime.now() + session.call_limit
