"""What the suite has to know of a backend: how to get a fresh one, and how to hurt it.

Registering a backend is one such value; everything else the suite asks of the backend itself,
through ``Client.capabilities``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

Mode: TypeAlias = Literal["sync", "async"]

MODES: tuple[Mode, ...] = ("sync", "async")


def _no_litter(_url: str) -> list[str]:
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendUnderTest:
    """One backend, as the suite meets it.

    ``fresh`` makes a URL that no other test uses; it is given a folder of the test's own.
    ``unreachable``, where there is a way, keeps every client from the backend while it is entered.
    ``litter`` names what is left behind at a URL although all of its clients were closed.
    """

    name: str
    schemes: frozenset[str]
    fresh: Callable[[Path], str]
    unreachable: Callable[[str], AbstractContextManager[object]] | None = None
    litter: Callable[[str], list[str]] = _no_litter


@dataclass(frozen=True, slots=True)
class Combination:
    """One backend in one runtime: what the whole suite is run on."""

    backend: BackendUnderTest
    mode: Mode

    def __str__(self) -> str:
        return f"{self.backend.name}-{self.mode}"


def combinations(*backends: BackendUnderTest) -> list[Combination]:
    """Multiply the backends by the two runtimes."""
    return [Combination(backend, mode) for backend in backends for mode in MODES]
