"""SQLite without pipes (`?wakeup=tick`): sound, only slower to pass on and to tell.

The part of the suite in which parties wait for each other.
"""

from holdfast.testing.suite import TestBreaking, TestExclusion, TestRelease, TestWaiting, worlds
from tests.conformance.backends import SQLITE_TICK

__all__ = ["TestBreaking", "TestExclusion", "TestRelease", "TestWaiting"]

world = worlds(SQLITE_TICK)
