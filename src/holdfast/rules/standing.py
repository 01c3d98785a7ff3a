"""Which voters of a quorum may vote: the restart rule. Pure; ``voter`` keeps what is decided here.

A voter whose process is another one than before may have forgotten votes and tokens. It votes again

* at once if it has kept everything (synchronous persistence),
* else when it has been up for the quarantine, so that every vote it forgot has ended, *and* has
  taken the highest token from f + 1 of the others that are settled (N = 2f + 1). A token stands on
  f + 1 voters, so at least f of the other 2f know it, or have taken it over in the same way; any
  f + 1 of them have one among them that does. Its own clock would not do: clocks differ.

While f + 1 or more are not settled there is no majority at all: the quorum is new, or has lost its
memory beyond what any rule could mend. Then it is *founded*: from the highest token that anybody
knows and the latest wall clock that anybody shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import NamedTuple

from holdfast.rules.ballot import Terms
from holdfast.rules.quorum_messages import Admit, Stood


class Applicant(NamedTuple):
    """A voter that is not settled. ``age`` is for how many seconds its process has been up."""

    stood: Stood
    age: float


class Admissions(NamedTuple):
    """Whom to let in, and after how long it is worth looking again (``inf``: not at all)."""

    let_in: dict[int, Admit]
    look_in: float


def admissions(
    settled: Mapping[int, Stood],
    applicants: Mapping[int, Applicant],
    terms: Terms,
    quarantine: float,
) -> Admissions:
    """Decide who may vote from now on, from what the voters that answered say of themselves."""
    let_in: dict[int, Admit] = {}
    waits = [inf]
    founded = len(applicants) >= terms.need
    floor = max((one.highest for one in settled.values()), default=0)
    if founded:
        everyone = (*settled.values(), *(one.stood for one in applicants.values()))
        floor = max(max(one.highest, one.wall) for one in everyone)
    for node, applicant in applicants.items():
        if applicant.stood.remembers:
            let_in[node] = Admit(0)
        elif (left := quarantine - _quiet_for(applicant, new=not settled)) > 0 < quarantine:
            waits.append(left)
        elif founded or len(settled) >= terms.need:
            let_in[node] = Admit(floor)
        else:
            waits.append(AGAIN)  # too few of the others can be asked
    return Admissions(let_in, min(waits))


def _quiet_for(applicant: Applicant, *, new: bool) -> float:
    """Say for how long it has certainly given no vote that it does not know of.

    A process that knows nothing though the quorum is not new may have been emptied without a
    restart: then only the time counts since it was first asked.
    """
    blank_for = applicant.stood.blank_for
    return applicant.age if new or blank_for is None else min(applicant.age, blank_for)


AGAIN = 0.5
"""After how long to look again when too few could be asked."""
