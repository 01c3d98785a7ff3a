"""The conformance suite: what every backend must do, written once, for sync and async."""

from holdfast.testing.suite.backend import BackendUnderTest
from holdfast.testing.suite.exclusion import TestExclusion
from holdfast.testing.suite.waiting import TestWaiting
from holdfast.testing.suite.world import World, worlds

__all__ = ["BackendUnderTest", "TestExclusion", "TestWaiting", "World", "worlds"]
