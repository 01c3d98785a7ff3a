"""The demo's checks: pure functions from what happened to a line of the summary, held or not.

Nothing here looks at a clock or a process, so that tests can show that each check can fail.
"""

from collections.abc import Sequence
from dataclasses import dataclass

SOON = 1.5
"""How soon after a holder's death the next in line must be in: about a second, and some slack."""


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the summary."""

    held: bool
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedOn:
    """What followed when the holder was killed; ``after`` is ``None`` if nobody got in."""

    victim: str
    heir: str
    ttl: float
    after: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """What followed when the holder was paused; a token of 0 stands for what never happened."""

    paused: str
    rival: str
    lost_token: int
    told_after: float
    rival_token: int
    rival_undisturbed: bool


def counted(workers: int, times: int, found: int) -> Check:
    """Check that every increment has counted."""
    expected = workers * times
    said = f"{workers} processes added {times} each to a shared counter: {found} of {expected}"
    if found < expected:
        said += f", {expected - found} were lost"
    return Check(found == expected, said)


def passed_on(what: PassedOn) -> Check:
    """Check that the next in line was in about a second after the holder was killed."""
    if what.after is None:
        return Check(False, f"{what.victim} was killed and {what.heir} never got in")
    late = what.after > SOON
    said = (
        f"{what.victim} was killed holding; {what.heir} got in {what.after:.2f} s later"
        f" (a lease lives {what.ttl:g} s)"
    )
    return Check(not late, f"{said}, too late: {SOON:g} s is the limit" if late else said)


def told(what: Pause) -> Check:
    """Check that the paused holder was told, and that the rival's token is the larger one."""
    if not what.rival_token:
        return Check(False, f"{what.paused} was paused and {what.rival} never got in")
    if not what.lost_token:
        return Check(False, f"{what.paused} was paused beyond its lease and was not told")
    smaller = what.lost_token < what.rival_token
    said = (
        f"{what.paused} was paused too long and told {what.told_after * 1000:.1f} ms after going"
        f" on; its token is {'smaller' if smaller else 'NOT smaller'} than {what.rival}'s"
    )
    if not what.rival_undisturbed:
        said += f"; {what.rival} did not keep the lock"
    return Check(smaller and what.rival_undisturbed, said)


def tidy(locks: Sequence[str], processes: Sequence[int]) -> Check:
    """Check that nothing is left of the demo."""
    said = f"left behind: {len(locks)} locks, {len(processes)} processes"
    details = [*locks, *(f"pid {pid}" for pid in processes)]
    return Check(not details, f"{said} ({', '.join(details)})" if details else said)
