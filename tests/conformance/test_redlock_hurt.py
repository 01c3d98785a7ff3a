"""The whole suite on a quorum of five servers of which two are gone, sync and async."""

import pytest

from holdfast.testing.suite import *  # noqa: F403 - the tests are collected from this module
from holdfast.testing.suite import worlds
from tests.conformance.redlock_backends import REDLOCK_HURT

pytestmark = pytest.mark.soak

world = worlds(REDLOCK_HURT)
