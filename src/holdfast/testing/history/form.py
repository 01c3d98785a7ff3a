"""The form of a history: JSON lines, one file per thread or task, each in the order of its time.

The first line says which version of this form it is, who writes, in which process, on which boot of
which host. Every other line has ``at`` (nanoseconds on the boot clock) and ``do``, what happened:

| do | ``at`` is taken | further fields |
|---|---|---|
| ask | before the call | n, name, ttl, wait, weight, capacity, renew, max_hold |
| queued | when the backend has said "you are in line" | n |
| displaced | when the place in line is lost or in doubt | n, why |
| held | after the call has returned a lease | n, token |
| busy, failed, cancelled | after the call has ended without one | n, why |
| checked | *before* a ``check()`` that raised nothing | n |
| extended | after ``extend`` has returned | n, ttl |
| refused | after a fenced resource has refused a write | n, resource, seen |
| lost | after the holder has learned that the lease is over | n, told, why |
| left | after the release; ``since`` is before it | n, since, how |
| inherited | in a forked child | n, held |
| breaking | *before* the call that breaks a lock | name, token, force |
| broke | after it | name, token, force, how |
| landed | inside the resource, in its own order | resource, fenced, token, value, by, n |
| fault | *before* something is done to processes | id, kind, pids (none: all), and see below |
| isolated | when they can certainly not talk to the backend | id |
| rejoined | *before* that is undone | id |
| healed | after it has been undone | id |
| adding | before a cell is updated | cell |
| added, unadded | after that has ended | cell, and value, version or known |
| working | *before* the check with which work on a once key begins | key, since |
| given | after a once key gave its result; ``since`` is before the call | key, result, since |
| completed | after a singleton's run was; ``since`` is before the call | job, slot, since |
| took | after permits were taken; ``since`` is before the call | limit, rate, burst, since |
| mishap | when a worker does something rash itself | kind |
| end | when the worker has nothing more to do | |

A fault that ``forgets`` (``"some"`` or ``"all"``) breaks an assumption of the design: the backend
loses grants that it has made, or ends them early. One that ``loses`` the ``"records"`` loses what
is in cells and behind once keys (and what was taken of a rate), but no grant; or it loses what was
taken of ``"rates"`` alone. One with a ``stretch`` lets what was granted live
that many seconds longer (a clock that was set back), and is healed only when that time is over.

``n`` numbers the claims of one file. What is asked for is written down before it is asked, and a
state before it is acted upon; so whoever is killed leaves a history that is true as far as it goes.
Of a line that was being written only the end of the file can be torn, and that is forgiven there.
"""

from __future__ import annotations

from typing import Any

MARK = "holdfast-history"
VERSION = 1
SUFFIX = ".jsonl"

OPERATIONS = frozenset(
    {"held", "busy", "failed", "cancelled", "checked", "extended", "refused", "left", "landed"}
    | {"lost", "broke", "added", "unadded", "given", "took", "completed"}
)
"""What counts as an operation: a call whose outcome is known."""

KINDS = OPERATIONS | {
    *("ask", "queued", "displaced", "inherited", "breaking", "mishap", "end"),
    *("fault", "isolated", "rejoined", "healed", "adding", "working"),
}
"""Every word that ``do`` may have; a rule may add words of its own."""

GONE = "gone"
"""Never written: the reader makes it up where a file ends."""

Fields = dict[str, Any]


class HistoryError(Exception):
    """This is no history that can be judged; the message names file and line."""
