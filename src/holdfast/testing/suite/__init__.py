"""The conformance suite: what every backend must do, written once, for sync and async.

A backend inherits all of it with a test module of a few lines (pytest and anyio are needed)::

    from holdfast.testing.suite import *
    from holdfast.testing.suite import BackendUnderTest, worlds

    world = worlds(BackendUnderTest(name="mine", schemes=frozenset({"mine"}), fresh=fresh_url))

Each test gets a ``World``: a fresh backend in one runtime, and *parties* that meet there. A party
is one client with a thread or a task of its own. ``BEHAVIOURS`` are the classes of tests; one file
each, by what they are about.
"""

from holdfast.testing.suite.arguments import TestArguments
from holdfast.testing.suite.backend import BackendUnderTest, Combination, combinations
from holdfast.testing.suite.breaking import TestBreaking
from holdfast.testing.suite.buckets import TestBuckets
from holdfast.testing.suite.cells import TestCells
from holdfast.testing.suite.collection import TestCollection
from holdfast.testing.suite.election import TestElection
from holdfast.testing.suite.exclusion import TestExclusion
from holdfast.testing.suite.following import TestFollowing
from holdfast.testing.suite.forking import TestForking
from holdfast.testing.suite.functions import TestDecorators, TestWithLock
from holdfast.testing.suite.inspection import TestInspection
from holdfast.testing.suite.interruption import TestInterruption
from holdfast.testing.suite.limits import TestLimits
from holdfast.testing.suite.loss import TestLoss
from holdfast.testing.suite.many import TestManyNames
from holdfast.testing.suite.on_loss import TestOnLoss
from holdfast.testing.suite.once_keys import TestOnce
from holdfast.testing.suite.outage import TestOutage
from holdfast.testing.suite.records import TestRecords
from holdfast.testing.suite.reentrancy import TestReentrancy
from holdfast.testing.suite.release import TestClosing, TestRelease
from holdfast.testing.suite.renewal import TestRenewal
from holdfast.testing.suite.runtimes import TestRuntimes
from holdfast.testing.suite.semaphores import TestSemaphores
from holdfast.testing.suite.sharing import TestReadersAndWriter
from holdfast.testing.suite.singletons import TestSingletons, TestSlots
from holdfast.testing.suite.waiting import TestWaiting
from holdfast.testing.suite.world import World, anyio_backend, worlds

BEHAVIOURS: tuple[type, ...] = (
    TestArguments,
    TestBreaking,
    TestBuckets,
    TestCells,
    TestLimits,
    TestOnce,
    TestSingletons,
    TestSlots,
    TestClosing,
    TestCollection,
    TestDecorators,
    TestElection,
    TestExclusion,
    TestFollowing,
    TestForking,
    TestInspection,
    TestInterruption,
    TestLoss,
    TestManyNames,
    TestOnLoss,
    TestOutage,
    TestRecords,
    TestReentrancy,
    TestReadersAndWriter,
    TestRelease,
    TestRenewal,
    TestRuntimes,
    TestSemaphores,
    TestWaiting,
    TestWithLock,
)

__all__ = [
    "BEHAVIOURS",
    "BackendUnderTest",
    "Combination",
    "TestArguments",
    "TestBreaking",
    "TestBuckets",
    "TestCells",
    "TestClosing",
    "TestCollection",
    "TestDecorators",
    "TestElection",
    "TestExclusion",
    "TestFollowing",
    "TestForking",
    "TestInspection",
    "TestInterruption",
    "TestLimits",
    "TestLoss",
    "TestManyNames",
    "TestOnLoss",
    "TestOnce",
    "TestOutage",
    "TestReadersAndWriter",
    "TestRecords",
    "TestReentrancy",
    "TestRelease",
    "TestRenewal",
    "TestRuntimes",
    "TestSemaphores",
    "TestSingletons",
    "TestSlots",
    "TestWaiting",
    "TestWithLock",
    "World",
    "anyio_backend",
    "combinations",
    "worlds",
]
