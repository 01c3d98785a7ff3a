"""What the server's errors mean to a person, and whether asking again can help."""

from __future__ import annotations

from holdfast.errors import BackendUnavailable
from holdfast.values import printable

BACKEND = "redis"

MOVING = ("MOVED", "ASK", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "LOADING", "UNBLOCKED")
"""Signs that the truth lives elsewhere by now."""

DEMOTED = ("READONLY", "MASTERDOWN", "UNBLOCKED")
"""Signs that this connection leads to a replica: behind the same name a new one may not."""

_PASSING = {
    "LOADING": "it is still loading its data",
    "MASTERDOWN": "its master is down; a fail-over may be under way",
    "CLUSTERDOWN": "the cluster is down: a slot has no master",
    "TRYAGAIN": "a slot of the cluster is being moved",
    "READONLY": "it is a replica now; a fail-over may be under way",
    "NOREPLICAS": "too few of its replicas are in reach (min-replicas-to-write)",
    "MISCONF": "it cannot write its snapshot to disk, and refuses to write until it can",
    "OOM": "its memory is full (maxmemory): holdfast can give back and renew, but not take",
    "BUSY": "a script of somebody else keeps it busy (SCRIPT KILL ends it)",
    "UNBLOCKED": "it became a replica in the middle of the call",
}
_LASTING = {
    "NOAUTH": "it asks for a password: put it into the URL, redis://user:password@host",
    "WRONGPASS": "it refuses this user name or password",
    "NOPERM": "this user may not do that: the Redis page of the docs lists the commands, keys and"
    " channels that holdfast needs",
    "CROSSSLOT": "it is a node of a cluster: write redis+cluster:// instead of redis://",
    "MOVED": "it is a node of a cluster: write redis+cluster:// instead of redis://",
    "WRONGTYPE": "a key of this prefix holds something else: choose another prefix",
}


def refused(shown: str, text: str) -> BackendUnavailable:
    """Turn an error that the server answered with into ours: it refused, so nothing was changed."""
    sign = text.partition(" ")[0]
    why = _PASSING.get(sign) or _LASTING.get(sign)
    return BackendUnavailable(
        f"{shown}: {why} ({printable(text)})" if why else f"{shown}: {printable(text)}",
        backend=BACKEND,
        outcome="none" if why else "unknown",
        transient=sign in _PASSING,
    )


def unreachable(shown: str, error: Exception) -> BackendUnavailable:
    """Say that no connection could be made: nothing was sent."""
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return BackendUnavailable(
        f"{shown}: no connection ({reason}); is the server running, and is this its address?",
        backend=BACKEND,
        transient="CERTIFICATE" not in str(error),
    )


def broken(shown: str, reason: str) -> BackendUnavailable:
    """Say that the connection ended before the reply came."""
    return BackendUnavailable(
        f"{shown}: the connection ended before the reply came ({reason})",
        backend=BACKEND,
        outcome="unknown",
    )


def foreign(shown: str, error: Exception) -> BackendUnavailable:
    """Say that whoever answers does not speak the language."""
    return BackendUnavailable(
        f"{shown}: what answers there does not speak the language of Redis ({error}); is this the"
        " right port, and does it want TLS (rediss://)?",
        backend=BACKEND,
        outcome="unknown",
        transient=False,
    )


def silent(shown: str) -> BackendUnavailable:
    """Say that the reply did not come in time."""
    return BackendUnavailable(
        f"{shown}: no reply within the time that this call may take (call_limit)",
        backend=BACKEND,
        outcome="unknown",
    )


def closed(shown: str) -> BackendUnavailable:
    """Say that nobody works here any more."""
    return BackendUnavailable(f"{shown}: this client is closed", backend=BACKEND, transient=False)


def quarantined(name: str, seconds: float) -> BackendUnavailable:
    """Say that the server may have forgotten who held what."""
    return BackendUnavailable(
        f"{printable(name)!r} is not granted to anybody for another {seconds:.1f} s: the server has"
        " just started without holdfast's data, so it may have forgotten who holds what (wait, or"
        " turn this off with ?quarantine=0)",
        backend=BACKEND,
        transient=False,
    )


def withheld(name: str, seconds: float) -> BackendUnavailable:
    """Say that the server may have forgotten what was kept under a name."""
    return BackendUnavailable(
        f"what is kept as {printable(name)!r} is not told or changed for another {seconds:.1f} s:"
        " the server has just started without holdfast's data, so it may have forgotten it (wait,"
        " or turn this off with ?quarantine=0)",
        backend=BACKEND,
    )


def too_new(name: str) -> BackendUnavailable:
    """Say that a newer version of holdfast uses the name."""
    return BackendUnavailable(
        f"{printable(name)!r} was written by a newer holdfast in a form that this one cannot read:"
        " upgrade holdfast here",
        backend=BACKEND,
        transient=False,
    )


def unconfirmed(shown: str, wanted: int, got: int) -> BackendUnavailable:
    """Say that too few replicas have a grant that must survive a fail-over."""
    return BackendUnavailable(
        f"{shown}: {got} of the replicas have confirmed it and replicas={wanted} asks for more,"
        " so it does not count. Are they connected, and do they keep up?",
        backend=BACKEND,
        outcome="unknown",
        transient=False,
    )


def no_master(shown: str, reason: str) -> BackendUnavailable:
    """Say that nobody could tell where the master is."""
    return BackendUnavailable(f"{shown}: no master was found ({reason})", backend=BACKEND)


def too_old(shown: str, version: str) -> BackendUnavailable:
    """Say that the server lacks what the scripts need."""
    return BackendUnavailable(
        f"{shown} is Redis {version}: holdfast needs 6.2 or newer, or any Valkey",
        backend=BACKEND,
        transient=False,
    )


def late() -> BackendUnavailable:
    """Say that another thread was still looking for the server."""
    return BackendUnavailable(
        "no master was found in the time that this call may take", backend=BACKEND
    )
