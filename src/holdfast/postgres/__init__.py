"""PostgreSQL, inside the caller's own transaction: a lock that ends with it, a lease it relies on.

Each function takes a connection of yours, of psycopg (3) or of SQLAlchemy, and speaks on it: it
belongs to your transaction and ends with that. An async connection gives a coroutine to await.
Neither library is imported here; whoever has a connection has brought the one it needs.
"""

from holdfast.postgres.fence import fence
from holdfast.postgres.guard import guard
from holdfast.postgres.xact_lock import xact_lock

__all__ = ["fence", "guard", "xact_lock"]
