"""Who is inside of a shared object's ``with``: each thread or task has entries of its own."""

from __future__ import annotations

from typing import Generic, TypeVar

from holdfast.errors import Misuse

T = TypeVar("T")


class Entries(Generic[T]):
    """What was entered and not yet left, by owner, the innermost last."""

    __slots__ = ("_inside",)

    def __init__(self) -> None:
        self._inside: dict[object, list[T]] = {}

    def push(self, owner: object, entry: T) -> None:
        """Note that ``owner`` went in."""
        self._inside.setdefault(owner, []).append(entry)

    def pop(self, owner: object, what: str) -> T:
        """Give what ``owner`` entered last; it leaves that now."""
        inside = self._inside
        if owner not in inside and len(inside) == 1:
            (owner,) = inside  # entered here and left there, as some frameworks do
        entries = inside.get(owner)
        if not entries:
            raise Misuse(f"{what} is left by a thread or task that has not entered it")
        entry = entries.pop()
        if not entries:
            del inside[owner]
        return entry
