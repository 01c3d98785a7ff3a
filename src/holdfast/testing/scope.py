"""The ``with`` of everything here that is started and closed."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self


class Scoped(Protocol):
    """Started on the way in and closed on the way out, also when the start fails."""

    def start(self) -> Self:
        """Begin, and give oneself once ready."""
        ...

    def close(self) -> None:
        """End, and leave nothing behind; to close twice is no mistake."""
        ...

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
