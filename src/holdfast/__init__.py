"""holdfast: make N copies of a program behave like one.

Locks with leases that renew themselves, fencing tokens and loss that is told; sync and async, on
memory, SQLite and servers. ``Client`` is the door; ``holdfast run`` does the same from any shell.
"""

from typing import TYPE_CHECKING

from holdfast.api.client import AsyncClient, Client
from holdfast.api.default import (
    break_lock,
    lead,
    leader,
    lock,
    lock_all,
    locks,
    release_all,
    rwlock,
    semaphore,
    show,
    try_with_lock,
    watch_leader,
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

if TYPE_CHECKING:
    from holdfast.api.leader_watch import AsyncLeaderWatch, LeaderWatch
    from holdfast.api.leadership import AsyncLeadership, Leadership
    from holdfast.api.lease_set import AsyncLeaseSet, LeaseSet
    from holdfast.api.lock_all import AsyncLockAll, LockAll
    from holdfast.api.naming import key
    from holdfast.api.rwlock import AsyncRWLock, RWLock
    from holdfast.api.semaphore import AsyncSemaphore, Semaphore

__version__ = "0.1.0"

__all__ = [
    "AsyncClient",
    "AsyncLeaderWatch",
    "AsyncLeadership",
    "AsyncLease",
    "AsyncLeaseSet",
    "AsyncLock",
    "AsyncLockAll",
    "AsyncRWLock",
    "AsyncSemaphore",
    "BackendUnavailable",
    "Capabilities",
    "Client",
    "Conflict",
    "Holder",
    "HoldfastError",
    "LeaderWatch",
    "Leadership",
    "Lease",
    "LeaseSet",
    "Lock",
    "LockAll",
    "LockBusy",
    "LockInfo",
    "LockLost",
    "Misuse",
    "Outcome",
    "Place",
    "RWLock",
    "RateLimited",
    "Semaphore",
    "Tenure",
    "Unsupported",
    "break_lock",
    "key",
    "lead",
    "leader",
    "lock",
    "lock_all",
    "locks",
    "release_all",
    "rwlock",
    "semaphore",
    "show",
    "try_with_lock",
    "watch_leader",
    "with_lock",
]

_LATER = {
    "AsyncLeaderWatch": "leader_watch",
    "AsyncLeadership": "leadership",
    "AsyncLeaseSet": "lease_set",
    "AsyncLockAll": "lock_all",
    "AsyncRWLock": "rwlock",
    "AsyncSemaphore": "semaphore",
    "LeaderWatch": "leader_watch",
    "Leadership": "leadership",
    "LeaseSet": "lease_set",
    "LockAll": "lock_all",
    "RWLock": "rwlock",
    "Semaphore": "semaphore",
    "key": "naming",
}


def __getattr__(name: str) -> object:
    """Import a name when it is asked for: a program that uses one primitive loads that one."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"holdfast.api.{_LATER[name]}"), name)
