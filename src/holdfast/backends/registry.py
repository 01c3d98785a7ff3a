"""Finds the backend for a URL and imports it only then, so that nobody pays for the others."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from holdfast.errors import Misuse
from holdfast.ports import Backend
from holdfast.settings import Address

_MODULES = {
    "memory": "holdfast.backends.memory.backend",
    "sqlite": "holdfast.backends.sqlite.backend",
    "redis": "holdfast.backends.redis.backend",
    "rediss": "holdfast.backends.redis.backend",
    "redis+unix": "holdfast.backends.redis.backend",
    "valkey": "holdfast.backends.redis.backend",
    "redis+sentinel": "holdfast.backends.redis.backend",
    "redis+cluster": "holdfast.backends.redis.backend",
    "postgresql": "holdfast.backends.postgres.backend",
    "postgres": "holdfast.backends.postgres.backend",
}

_EXTRAS = {"hiredis": "redis", "psycopg": "postgres"}
"""Which extra brings a driver."""


def open_backend(address: Address, prefix: str) -> Backend:
    """Make the backend that ``address`` names."""
    module = _MODULES.get(address.scheme)
    if module is None:
        import difflib  # only to help with a mistake

        near = difflib.get_close_matches(address.scheme, _MODULES, 1)
        hint = f"did you mean {near[0]}://?" if near else f"known are: {', '.join(_MODULES)}"
        raise Misuse(f"no backend has the scheme {address.scheme!r} ({address.shown}); {hint}")
    try:
        connect = import_module(module).connect
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get(error.name or "")
        if extra is None:
            raise
        raise Misuse(
            f"{address.scheme}:// needs {error.name}: pip install 'holdfast[{extra}]'"
        ) from error
    return cast("Backend", connect(address, prefix))
