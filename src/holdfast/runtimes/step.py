"""Runs a flow to its end on the calling thread: in sync, everything below it blocks.

So the coroutine never suspends, and one ``send`` carries it through. If it does suspend, something
under it awaited an event loop; that is a bug in holdfast, and it is said loudly.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(flow: Coroutine[Any, Any, T]) -> T:
    """Give what ``flow`` returns, or raise what it raises."""
    try:
        awaited = flow.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    flow.close()
    raise RuntimeError(
        f"a flow suspended on {awaited!r} in the sync runtime: this is a bug in holdfast"
    )
