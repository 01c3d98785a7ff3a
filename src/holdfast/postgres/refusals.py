"""What the database's errors mean to ``guard``, ``fence`` and ``xact_lock``.

The functions in the database refuse by an error with a state of their own (schema/steps): it ends
the transaction, so that nothing of it can be committed. What is none of ours stays the driver's.
"""

from __future__ import annotations

from holdfast.errors import BackendUnavailable

NOT_HELD = "HF001"
ANOTHER_MEMORY = "HF002"
SMALLER_TOKEN = "HF003"  # noqa: S105 - a state of the database's, no secret
TOO_LONG = "55P03"
"""``lock_timeout`` was over."""

MISSING = frozenset({"3F000", "42883", "42P01"})
"""Signs that there is no schema, or an older one."""


def state_of(error: Exception) -> str:
    """Give the SQLSTATE of a driver's error, also of one that SQLAlchemy has wrapped."""
    cause = getattr(error, "orig", None) or error
    state = getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)
    told = cause.args[0] if cause.args else None
    if state is None and isinstance(told, dict):  # pg8000
        state = told.get("C")
    return state if isinstance(state, str) else ""


def no_functions(schema: str) -> BackendUnavailable:
    """Say that this database has not what is asked for."""
    return BackendUnavailable(
        f"in this connection's database the schema {schema} is missing, or is older than this"
        " holdfast: run `holdfast migrate --url postgresql://…` for that database, as a user who"
        " may change it. Is it the right database?",
        backend="postgres",
        transient=False,
    )
