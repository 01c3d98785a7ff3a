"""For tests: a sandbox for code that uses holdfast, and the conformance suite for its backends.

``Sandbox`` gives clients whose backend can be made to fail, and a virtual clock; ``OncePerRun``
makes what is expensive once for all processes of a test run. The pytest plugin offers both as
fixtures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.testing.once_per_run import OncePerRun, SetUpFailed
    from holdfast.testing.sandbox.faults import Fault, Faults
    from holdfast.testing.sandbox.leaks import LeakedLease
    from holdfast.testing.sandbox.rival import Rival
    from holdfast.testing.sandbox.sandbox import Sandbox
    from holdfast.testing.sandbox.virtual_clock import VirtualClock

_HOMES = {
    "Fault": "holdfast.testing.sandbox.faults",
    "Faults": "holdfast.testing.sandbox.faults",
    "LeakedLease": "holdfast.testing.sandbox.leaks",
    "OncePerRun": "holdfast.testing.once_per_run",
    "Rival": "holdfast.testing.sandbox.rival",
    "Sandbox": "holdfast.testing.sandbox.sandbox",
    "SetUpFailed": "holdfast.testing.once_per_run",
    "VirtualClock": "holdfast.testing.sandbox.virtual_clock",
}

__all__ = [
    "Fault",
    "Faults",
    "LeakedLease",
    "OncePerRun",
    "Rival",
    "Sandbox",
    "SetUpFailed",
    "VirtualClock",
]


if not TYPE_CHECKING:  # a type checker would take every name for one of ours

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used: every run of pytest loads the plugin."""
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(home), name)
