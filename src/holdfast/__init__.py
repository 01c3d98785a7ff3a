"""holdfast: make N copies of a program behave like one.

Locks with leases that renew themselves, fencing tokens and loss that is told; sync and async, on
memory, SQLite and servers. ``Client`` is the door; ``holdfast run`` does the same from any shell.
"""

from holdfast.api.client import AsyncClient, Client
from holdfast.api.default import (
    break_lock,
    lock,
    locks,
    release_all,
    show,
    try_with_lock,
    with_lock,
)
from holdfast.api.lease import AsyncLease, Lease
from holdfast.api.lock import AsyncLock, Lock
from holdfast.errors import (
    BackendUnavailable,
    Conflict,
    HoldfastError,
    LockBusy,
    LockLost,
    Misuse,
    RateLimited,
    Unsupported,
)
from holdfast.values import Capabilities, Holder, LockInfo, Outcome, Place, Tenure

__version__ = "0.1.0"

__all__ = [
    "AsyncClient",
    "AsyncLease",
    "AsyncLock",
    "BackendUnavailable",
    "Capabilities",
    "Client",
    "Conflict",
    "Holder",
    "HoldfastError",
    "Lease",
    "Lock",
    "LockBusy",
    "LockInfo",
    "LockLost",
    "Misuse",
    "Outcome",
    "Place",
    "RateLimited",
    "Tenure",
    "Unsupported",
    "break_lock",
    "lock",
    "locks",
    "release_all",
    "show",
    "try_with_lock",
    "with_lock",
]
