"""Everything holdfast raises, by what the caller can do about it.

    HoldfastError
    ├── LockBusy            not acquired: try later        (also TimeoutError)
    ├── LockLost            the lease is over: stop working
    ├── BackendUnavailable  the backend did not answer     (also ConnectionError)
    ├── Unsupported         this backend cannot do it: choose one that can
    ├── Conflict            somebody else moved on: read again and decide
    ├── FailedBefore        this once key stands for a failure: forget it, or use another key
    ├── RateLimited         over the limit: wait retry_after seconds
    └── Misuse              a bug or a bad argument: fix the call

Every error carries its facts as fields, names the remedy in its message and survives pickling.
Passwords and claim ids are never put into one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.values import Tenure


class HoldfastError(Exception):
    """The root: catching it catches everything that holdfast raises by design."""

    def __init__(self, message: str = "", **fields: object) -> None:
        super().__init__(message)
        for field, value in fields.items():
            setattr(self, field, value)

    @property
    def message(self) -> str:
        """The one-line message."""
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuilt, (type(self), self.message, dict(self.__dict__))


class LockBusy(HoldfastError, TimeoutError):
    """Somebody else holds the name, or is ahead in its queue, and ``wait`` is over."""

    name: str = ""
    holders: tuple[Tenure, ...] = ()
    waited_for: float = 0.0


class LockLost(HoldfastError):
    """The lease ended before it was released: whatever it protected may now be in other hands."""

    name: str = ""
    token: int = 0
    reason: str = ""


class BackendUnavailable(HoldfastError, ConnectionError):
    """The backend did not answer in time or refused.

    ``outcome`` is ``"none"`` when the request certainly changed nothing and ``"unknown"`` when it
    may have been carried out. ``transient`` says whether asking again could help by itself.
    """

    backend: str = ""
    outcome: str = "none"
    transient: bool = True


class Unsupported(HoldfastError):
    """The backend cannot do this soundly; the message names those that can."""


class Conflict(HoldfastError):
    """What the call relied on has changed meanwhile: look again and decide anew.

    ``version`` is the one that a cell has now; 0 where it has none, or where it is not about one.
    """

    name: str = ""
    version: int = 0


class FailedBefore(HoldfastError):
    """The work behind this once key failed, and ``store_errors`` had the failure kept.

    The first error itself is not brought back to life: ``kind`` and ``text`` say what it was.
    """

    name: str = ""
    kind: str = ""
    text: str = ""


class RateLimited(HoldfastError):
    """The shared limit is used up for now."""

    name: str = ""
    retry_after: float = 0.0


class Misuse(HoldfastError):
    """A call that can never be right: the message says what to write instead.

    ``result`` is what a function returned whose work was done under a once key, if that is what
    cannot be stored: it is not lost.
    """

    result: object = None

    def __reduce__(self) -> tuple[object, ...]:
        fields = {name: value for name, value in vars(self).items() if name != "result"}
        return _rebuilt, (type(self), self.message, fields)  # the result may be anything at all


def _rebuilt(kind: type[HoldfastError], message: str, fields: dict[str, object]) -> HoldfastError:
    return kind(message, **fields)
