"""What a worker tells the demo: one line of JSON per thing that happened to it.

Stamps are on the monotonic clock, which all processes of a host share, so that the demo can
subtract its own stamps from a worker's.
"""

import json
import time
from dataclasses import asdict, dataclass, field
from typing import Self

WAITS = "waits"
HOLDS = "holds"
LEFT = "left"
LOST = "lost"
LOGGED = "logged"
DONE = "done"
GONE = "gone"
"""Never told by a worker itself: its process has ended, and nothing more will come."""


@dataclass(frozen=True, slots=True)
class Report:
    """One thing that happened to one worker."""

    who: str
    what: str
    token: int = 0
    note: str = ""
    at: float = field(default_factory=time.monotonic)

    def to_line(self) -> str:
        """Write the report down."""
        return json.dumps(asdict(self))

    @classmethod
    def from_line(cls, line: str) -> Self:
        """Read what ``to_line`` wrote."""
        return cls(**json.loads(line))
