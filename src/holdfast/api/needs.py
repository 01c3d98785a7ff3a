"""What a backend must offer for a primitive: refused when the object is built, not when used."""

from __future__ import annotations

from typing import Literal

from holdfast.errors import Unsupported
from holdfast.values import Capabilities

_ABLE = "memory, sqlite, redis and postgres"


def require(capabilities: Capabilities, what: str, family: Literal["records", "buckets"]) -> None:
    """Raise ``Unsupported`` unless the backend has the family that ``what`` is made of."""
    if not (capabilities.records if family == "records" else capabilities.buckets):
        raise Unsupported(
            f"{capabilities.backend} cannot keep what a {what} needs ({family}); {_ABLE} can"
        )
