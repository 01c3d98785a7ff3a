"""What a behaviour needs of a backend; one that says it has not got it must refuse in words.

A class of tests names its need as ``needs = "records"``. Where ``capabilities`` lacks it the
tests do not apply, and each first sees that the object they are about is refused when it is built.
"""
# ruff: noqa: S101 - for tests

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from holdfast import Unsupported
from holdfast.values import KINDS, Capabilities

BUILT_ON: dict[str, Callable[[Any], object]] = {
    "rwlock": lambda client: client.rwlock("x").read(),
    "semaphore": lambda client: client.semaphore("x", permits=2),
    "lead": lambda client: client.lead("x"),
    "records": lambda client: client.cell("x"),
    "buckets": lambda client: client.limiter("x", rate="1/s"),
}
"""What is built on each kind of claim, and on each of the other families."""


def has(capabilities: Capabilities, need: str) -> bool:
    """Whether a backend says that it has what is needed."""
    return need in capabilities.kinds if need in KINDS else bool(getattr(capabilities, need))


def skip_if_refused(client: Any, need: str) -> None:
    """Skip the test if the client's backend lacks something, once it has refused that in words."""
    if not has(client.capabilities, need):
        with pytest.raises(Unsupported, match=r"can$") as refused:
            BUILT_ON[need](client)
        assert client.capabilities.backend in str(refused.value)
        pytest.skip(f"refused when built: {refused.value}")
