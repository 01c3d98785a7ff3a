"""holdfast: make N copies of a program behave like one.

Locks with leases that renew themselves, fencing tokens and loss that is told; sync and async, on
memory, SQLite and servers. ``Client`` is the door; ``holdfast run`` does the same from any shell.
"""

from typing import TYPE_CHECKING

from holdfast.api.client import AsyncClient, Client
from holdfast.api.default import (
    break_lock,
    cell,
    lead,
    leader,
    limiter,
    lock,
    lock_all,
    locks,
    once,
    release_all,
    rwlock,
    semaphore,
    show,
    singleton,
    try_with_lock,
    watch_leader,
    with_lock,
)
from holdfast.api.lease import AsyncLease, Lease
from holdfast.api.lock import AsyncLock, Lock
from holdfast.errors import (
    BackendUnavailable,
    Conflict,
    FailedBefore,
    HoldfastError,
    LockBusy,
    LockLost,
    Misuse,
    RateLimited,
    Unsupported,
)
from holdfast.values import Capabilities, Holder, LockInfo, Outcome, Place, Tenure

if TYPE_CHECKING:
    from holdfast.api.cell import AsyncCell, Cell
    from holdfast.api.leader_watch import AsyncLeaderWatch, LeaderWatch
    from holdfast.api.leadership import AsyncLeadership, Leadership
    from holdfast.api.lease_set import AsyncLeaseSet, LeaseSet
    from holdfast.api.limiter import AsyncLimiter, Limiter
    from holdfast.api.lock_all import AsyncLockAll, LockAll
    from holdfast.api.naming import key
    from holdfast.api.once import AsyncOnce, Once
    from holdfast.api.once_run import AsyncOnceRun, OnceRun
    from holdfast.api.rwlock import AsyncRWLock, RWLock
    from holdfast.api.semaphore import AsyncSemaphore, Semaphore
    from holdfast.api.singleton import AsyncSingleton, AsyncTurn, Singleton, Turn
    from holdfast.flows.limit import Permit
    from holdfast.flows.swap import Versioned

__version__ = "0.1.0"

# Imported when first looked at: whoever only takes a lock does not pay for them.
_WHERE = {
    "AsyncCell": "holdfast.api.cell",
    "AsyncLeaderWatch": "holdfast.api.leader_watch",
    "AsyncLeadership": "holdfast.api.leadership",
    "AsyncLeaseSet": "holdfast.api.lease_set",
    "AsyncLimiter": "holdfast.api.limiter",
    "AsyncLockAll": "holdfast.api.lock_all",
    "AsyncOnce": "holdfast.api.once",
    "AsyncOnceRun": "holdfast.api.once_run",
    "AsyncRWLock": "holdfast.api.rwlock",
    "AsyncSemaphore": "holdfast.api.semaphore",
    "AsyncSingleton": "holdfast.api.singleton",
    "AsyncTurn": "holdfast.api.singleton",
    "Cell": "holdfast.api.cell",
    "LeaderWatch": "holdfast.api.leader_watch",
    "Leadership": "holdfast.api.leadership",
    "LeaseSet": "holdfast.api.lease_set",
    "Limiter": "holdfast.api.limiter",
    "LockAll": "holdfast.api.lock_all",
    "Once": "holdfast.api.once",
    "OnceRun": "holdfast.api.once_run",
    "Permit": "holdfast.flows.limit",
    "RWLock": "holdfast.api.rwlock",
    "Semaphore": "holdfast.api.semaphore",
    "Singleton": "holdfast.api.singleton",
    "Turn": "holdfast.api.singleton",
    "Versioned": "holdfast.flows.swap",
    "key": "holdfast.api.naming",
}

__all__ = [
    "AsyncCell",
    "AsyncClient",
    "AsyncLeaderWatch",
    "AsyncLeadership",
    "AsyncLease",
    "AsyncLeaseSet",
    "AsyncLimiter",
    "AsyncLock",
    "AsyncLockAll",
    "AsyncOnce",
    "AsyncOnceRun",
    "AsyncRWLock",
    "AsyncSemaphore",
    "AsyncSingleton",
    "AsyncTurn",
    "BackendUnavailable",
    "Capabilities",
    "Cell",
    "Client",
    "Conflict",
    "FailedBefore",
    "Holder",
    "HoldfastError",
    "LeaderWatch",
    "Leadership",
    "Lease",
    "LeaseSet",
    "Limiter",
    "Lock",
    "LockAll",
    "LockBusy",
    "LockInfo",
    "LockLost",
    "Misuse",
    "Once",
    "OnceRun",
    "Outcome",
    "Permit",
    "Place",
    "RWLock",
    "RateLimited",
    "Semaphore",
    "Singleton",
    "Tenure",
    "Turn",
    "Unsupported",
    "Versioned",
    "break_lock",
    "cell",
    "key",
    "lead",
    "leader",
    "limiter",
    "lock",
    "lock_all",
    "locks",
    "once",
    "release_all",
    "rwlock",
    "semaphore",
    "show",
    "singleton",
    "try_with_lock",
    "watch_leader",
    "with_lock",
]


def __getattr__(name: str) -> object:
    """Fetch a public name that nobody has asked for yet."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(_WHERE[name]), name)
    globals()[name] = found
    return found
