"""The module-level shortcuts: the same calls on a client of the process, made when needed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from holdfast.api.client import Client

P = ParamSpec("P")
T = TypeVar("T")

_made: dict[str, Client] = {}


def default_client() -> Client:
    """Give the process's own client: on ``$HOLDFAST_URL``, else on the embedded default."""
    return _made.get("client") or _made.setdefault("client", Client())


def _shortcut(method: Callable[Concatenate[Client, P], T]) -> Callable[P, T]:
    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return method(default_client(), *args, **kwargs)

    signature = inspect.signature(method)
    without_self = list(signature.parameters.values())[1:]
    call.__signature__ = signature.replace(parameters=without_self)  # type: ignore[attr-defined]
    call.__module__, call.__qualname__ = "holdfast", method.__name__
    del call.__wrapped__
    return call


lock = _shortcut(Client.lock)
with_lock = _shortcut(Client.with_lock)
try_with_lock = _shortcut(Client.try_with_lock)
release_all = _shortcut(Client.release_all)
locks = _shortcut(Client.locks)
show = _shortcut(Client.show)
break_lock = _shortcut(Client.break_lock)
