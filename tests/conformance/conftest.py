"""The suite's assertions explain themselves, as those of a test file do."""

import pytest

pytest.register_assert_rewrite("holdfast.testing.suite")
