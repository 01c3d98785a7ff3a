"""The module-level shortcuts: the same calls on a client of the process, made when needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, Generic, ParamSpec, TypeVar

from holdfast.api.client import Client

if TYPE_CHECKING:
    from inspect import Signature

P = ParamSpec("P")
T = TypeVar("T")

_made: dict[str, Client] = {}


def default_client() -> Client:
    """Give the process's own client: on ``$HOLDFAST_URL``, else on the embedded default."""
    return _made.get("client") or _made.setdefault("client", Client())


class Shortcut(Generic[P, T]):
    """A method of ``Client`` as a function: it finds the client by itself."""

    def __init__(self, method: Callable[Concatenate[Client, P], T]) -> None:
        self._method = method
        self.__name__ = self.__qualname__ = method.__name__
        self.__doc__ = method.__doc__
        self.__module__ = "holdfast"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the method on the default client."""
        return self._method(default_client(), *args, **kwargs)

    @property
    def __signature__(self) -> Signature:
        import inspect  # asked for by people and their tools, not by programs

        signature = inspect.signature(self._method)
        return signature.replace(parameters=list(signature.parameters.values())[1:])

    def __repr__(self) -> str:
        return f"<function holdfast.{self.__name__}>"


lock = Shortcut(Client.lock)
with_lock = Shortcut(Client.with_lock)
try_with_lock = Shortcut(Client.try_with_lock)
rwlock = Shortcut(Client.rwlock)
semaphore = Shortcut(Client.semaphore)
lock_all = Shortcut(Client.lock_all)
lead = Shortcut(Client.lead)
leader = Shortcut(Client.leader)
watch_leader = Shortcut(Client.watch_leader)
release_all = Shortcut(Client.release_all)
locks = Shortcut(Client.locks)
show = Shortcut(Client.show)
break_lock = Shortcut(Client.break_lock)
cell = Shortcut(Client.cell)
once = Shortcut(Client.once)
limiter = Shortcut(Client.limiter)
singleton = Shortcut(Client.singleton)
