"""``sqlite:///path.db``: processes of one host share a file; without a path, the embedded default.

Three slashes begin a relative path, four an absolute one. Options: ``wakeup=tick`` does without
pipes, ``network_fs=allow`` accepts a network disk that only one host uses.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from holdfast.backends.sqlite.host import network_type
from holdfast.backends.sqlite.inbox import Pipe, Tick
from holdfast.backends.sqlite.store import Store
from holdfast.backends.sqlite.sync import SyncWire
from holdfast.errors import BackendUnavailable, Misuse, Unsupported
from holdfast.ports import Ear, Wire
from holdfast.rules.messages import Notice
from holdfast.settings import Address, default_file
from holdfast.values import KINDS, Capabilities, Holder

_NO_PIPES = (
    "no named pipes here: waiters are woken by a look once a second, and a crashed process frees"
    " its leases when they end"
)


class SqliteBackend:
    """One file and the folder of inboxes beside it."""

    def __init__(self, path: Path, shown: str, prefix: str, *, pipes: bool) -> None:
        self._path = path
        self._inboxes = inboxes_of(path)
        self._shown = shown
        self._prefix = prefix
        self._pipes = pipes
        self.capabilities = Capabilities(
            backend="sqlite",
            scope="host",
            wakeup="push" if pipes else "tick",
            notices_crash=pipes,
            min_ttl=0.1,
            kinds=KINDS,
            all_at_once=True,
            notes=() if pipes else (_NO_PIPES,),
            records=True,
            buckets=True,
        )

    def sync_wire(self, holder: Holder) -> Wire:
        """Open the way in for threads."""
        return SyncWire(self._store(holder))

    def aio_wire(self, holder: Holder) -> Wire:
        """Open the way in for tasks."""
        from holdfast.backends.sqlite.aio import AioWire  # asyncio only when it is used

        return AioWire(self._store(holder))

    keeper_wire = sync_wire

    def ear(self, holder: Holder, deliver: Callable[[Notice], None]) -> Ear:
        """Open the client's pipe; notices of this very process do not go through it."""
        if not self._pipes:
            return Tick()
        try:
            folder, access = _folder(self._inboxes, self._path), _access(self._path)
            return Pipe(folder, holder.client, access, deliver)
        except OSError as error:
            # Sound, only slower: the rule needs no notices. Said once per client.
            from holdfast.observe.logs import logger

            logger.warning("%s: %s (%s)", self._shown, _NO_PIPES, error.strerror)
            return Tick()

    def _store(self, holder: Holder) -> Store:
        return Store(self._path, self._inboxes, self._shown, self._prefix, holder.client)


def connect(address: Address, prefix: str) -> SqliteBackend:
    """Look at the path before anything relies on it."""
    address.refuse_unknown({"wakeup", "network_fs"})
    wakeup = address.option("wakeup", ("pipe", "tick"), "pipe")
    network = address.option("network_fs", ("refuse", "allow"), "refuse")
    path = path_of(address)
    if path == default_file():
        _make_state_folder(path.parent)
    if not path.parent.is_dir():
        raise BackendUnavailable(
            f"{address.shown}: the folder {path.parent} does not exist; make it first. An absolute"
            " path has four slashes: sqlite:////var/lib/app/locks.db",
            backend="sqlite",
            transient=False,
        )
    kind = network_type(path.parent.resolve())
    if kind and network == "refuse":
        raise Unsupported(
            f"{address.shown} is on a network file system ({kind}), where SQLite cannot keep hosts"
            " apart: use a path on a local disk, or a server's URL; if one host alone uses it, add"
            " ?network_fs=allow"
        )
    pipes = wakeup == "pipe" and hasattr(os, "mkfifo")
    return SqliteBackend(path, address.shown, prefix, pipes=pipes)


def _make_state_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BackendUnavailable(
            f"the folder {folder} of the embedded default cannot be made ({error.strerror});"
            " set XDG_STATE_HOME, or choose a file with a URL like sqlite:///locks.db",
            backend="sqlite",
            transient=False,
        ) from error


def path_of(address: Address) -> Path:
    """Give the file that an address names."""
    place = address.place
    if place in ("", "/"):
        return default_file()
    if not place.startswith("/"):
        raise Misuse(f"{address.shown}: a path begins with three slashes: sqlite:///{place}")
    if place[1:] == ":memory:":
        raise Misuse(f"{address.shown}: locks in the memory of this process are at memory://")
    try:
        # By its real name, so that all who use the file find each other's inboxes beside it.
        path = Path(place[1:]).expanduser().resolve()
        is_folder = path.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        raise BackendUnavailable(
            f"{address.shown} cannot be used: {getattr(error, 'strerror', None) or error}",
            backend="sqlite",
            transient=False,
        ) from error
    if is_folder:
        raise Misuse(f"{address.shown} is a folder; name a file in it: {address.shown}/locks.db")
    return path


def inboxes_of(path: Path) -> Path:
    """Give the folder of the clients' pipes, beside their file."""
    return path.with_name(path.name + "-inboxes")


def _access(path: Path) -> int | None:
    """Whoever may write the file may write to the inboxes; before it exists the umask decides."""
    try:
        return path.stat().st_mode & 0o666
    except OSError:
        return None


def _folder(inboxes: Path, path: Path) -> Path:
    access = _access(path)
    if not inboxes.is_dir():
        inboxes.mkdir(exist_ok=True)
        if access is not None:
            enter = (access & 0o444) >> 2 | (access & 0o222) >> 1
            special = inboxes.stat().st_mode & 0o7000  # a group's folder stays one
            inboxes.chmod(special | access | enter)
    return inboxes
