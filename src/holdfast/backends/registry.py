"""Finds the backend for a URL and imports it only then, so that nobody pays for the others."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import cast

from holdfast.errors import Misuse, Unsupported
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
    "redlock": "holdfast.backends.redlock.backend",
    "redlock+tls": "holdfast.backends.redlock.backend",
    "postgresql": "holdfast.backends.postgres.backend",
    "postgres": "holdfast.backends.postgres.backend",
    "postgresql+advisory": "holdfast.backends.advisory.backend",
    "postgres+advisory": "holdfast.backends.advisory.backend",
    "sandbox": "holdfast.testing.sandbox.backend",
}

_EXTRAS = {"hiredis": "redis", "psycopg": "postgres"}
"""Which extra brings a driver."""


def open_backend(address: Address, prefix: str) -> Backend:
    """Make the backend that ``address`` names."""
    return cast("Backend", _module(address).connect(address, prefix))


def migrate(address: Address) -> str:
    """Make the tables of a backend that has some, ahead of time; say what was done."""
    module = _module(address)
    if not hasattr(module, "migrate"):
        return f"{address.shown}: nothing to do, {address.scheme} needs no tables of its own"
    return cast("str", module.migrate(address))


def migration_script(address: Address, since: int) -> str:
    """Give the statements that make the tables of a backend, for whoever carries them out."""
    module = _module(address)
    if not hasattr(module, "script"):
        raise Unsupported(
            f"{address.shown}: only postgresql:// has tables that can be made by hand"
        )
    return cast("str", module.script(address, since))


def _module(address: Address) -> ModuleType:
    module = _MODULES.get(address.scheme)
    if module is None:
        import difflib  # only to help with a mistake

        known = [scheme for scheme in _MODULES if scheme != "sandbox"]  # a Sandbox makes its own
        near = difflib.get_close_matches(address.scheme, known, 1)
        hint = f"did you mean {near[0]}://?" if near else f"known are: {', '.join(known)}"
        raise Misuse(f"no backend has the scheme {address.scheme!r} ({address.shown}); {hint}")
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get(error.name or "")
        if extra is None:
            raise
        raise Misuse(
            f"{address.scheme}:// needs {error.name}: pip install 'holdfast[{extra}]'"
        ) from error
