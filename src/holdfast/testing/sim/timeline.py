"""A trace told for people: who did what when, and who believed what at each moment."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import (
    Break,
    Busy,
    Claim,
    Ended,
    Granted,
    Notice,
    Release,
    Renew,
    Renewed,
    Waiting,
    Withdraw,
)
from holdfast.testing.sim.plan import Fault
from holdfast.testing.sim.world import Note

WIDTH = 9


def tell(trace: Sequence[Note], last: int = 0) -> list[str]:
    """Write a trace as lines; ``last`` keeps only so many of them."""
    inside: dict[str, str] = {}
    lines: list[str] = []
    for note in trace:
        if note.what == "is in":
            inside[f"{note.who}/{note.label}"] = f"{note.who} in {note.label!r}"
        elif note.what == "is out":
            inside.pop(f"{note.who}/{note.label}", None)
        elif isinstance(note.detail, Fault) and note.detail.kind == "crash":
            gone = f"c{note.detail.who}/"
            inside = {key: text for key, text in inside.items() if not key.startswith(gone)}
        said = " ".join(filter(None, (note.what, note.label, _detail(note.detail))))
        lines.append(f"{note.at:11.6f}  {note.who:<{WIDTH}} {said}{_now(note, inside)}")
    return lines[-last:] if last else lines


def _now(note: Note, inside: dict[str, str]) -> str:
    if note.what not in ("is in", "is out"):
        return ""
    return f"   [{', '.join(inside.values()) or 'nobody is inside'}]"


def _detail(detail: object) -> str:
    if detail is None:
        return ""
    if isinstance(detail, Fault):
        span = f" for {detail.span:.3f} s" if detail.span else ""
        return f"(of {detail.who}){span}" + (f" by {detail.amount:.3f}" if detail.amount else "")
    if isinstance(detail, (list, tuple)) and not hasattr(detail, "_fields"):
        return "; ".join(map(_message, detail))
    return _message(detail)


def _message(said: object) -> str:
    return _request(said) or _answer(said) or str(said)


def _request(said: object) -> str:
    match said:
        case Claim():
            wants = f"{said.want.weight}/{said.want.capacity} for {said.want.ttl:g} s"
            return f"Claim({said.claim_id}: {said.name} {wants}, patience {said.patience:g})"
        case Renew():
            return f"Renew({said.name}: {', '.join(item.claim_id for item in said.items)})"
        case Break():
            return f"Break({said.name}, {said.token}{', force' if said.force else ''})"
        case Release() | Withdraw():
            return f"{type(said).__name__}({said.name}: {said.claim_id})"
        case _:
            return ""


def _answer(said: object) -> str:  # noqa: PLR0911 - one line a kind
    match said:
        case Renewed():
            return f"Renewed({', '.join(map(_message, said.answers))})"
        case Granted():
            return f"Granted({said.claim_id}, {said.token}, {said.remaining:.3f} s)"
        case Waiting():
            return "Waiting" + (f"({said.retry_in:.3f} s)" if said.retry_in is not None else "")
        case Busy():
            return "Busy"
        case Ended():
            return f"Ended({said.claim_id}, {said.how})"
        case Notice():
            return f"{said.what}({said.claim_id}, {said.token}, {said.life:.3f} s)"
        case BackendUnavailable():
            return f"no answer ({said.outcome})"
        case _:
            return ""
