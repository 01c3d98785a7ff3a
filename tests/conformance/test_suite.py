"""The whole conformance suite on every registered backend, sync and async."""

from holdfast.testing.suite import *  # noqa: F403 - the tests are collected from this module
from holdfast.testing.suite import worlds
from tests.conformance.backends import REGISTERED

world = worlds(*REGISTERED)
