"""redis-py's ``Lock``, sync and async, with a fair line instead of polling.

Give it as ``lock_class`` to ``redis.Redis.lock`` or ``redis.asyncio.Redis.lock``. The truth stays
in redis-py's own key, so processes with either class exclude each other; the key alone decides.
"""

from holdfast.compat.redis_py.lock import AsyncLock, Lock

__all__ = ["AsyncLock", "Lock"]
