"""The fixtures in test files such as users write, run by a pytest of their own."""

import pytest

from tests.testing.alone import ALONE, WITH_ANYIO


def passes(pytester: pytest.Pytester, program: str, *options: str, count: int = 1) -> None:
    """Run a test file; all of it passes."""
    pytester.makepyfile(program)
    result = pytester.runpytest_inprocess("-W", "error", *(options or ALONE))
    result.assert_outcomes(passed=count)


def test_a_client_in_a_fresh_backend(pytester: pytest.Pytester) -> None:
    """Two tests do not meet each other's locks."""
    passes(
        pytester,
        """
        import holdfast, pytest

        @pytest.mark.parametrize("turn", [1, 2])
        def test_fresh(holdfast_client, holdfast_sandbox, turn):
            assert isinstance(holdfast_client, holdfast.Client)
            assert holdfast_client.locks() == []
            with holdfast_client.lock("x") as lease:
                assert lease.held
                assert holdfast_sandbox.client().lock("x").try_acquire() is None
        """,
        count=2,
    )


def test_faults_and_clock(pytester: pytest.Pytester) -> None:
    """All fixtures of one test belong together, in whatever order they are named."""
    passes(
        pytester,
        """
        import holdfast, pytest

        def test_busy(holdfast_client, holdfast_faults, holdfast_clock):
            holdfast_faults.hold("x", "the other shop")
            with pytest.raises(holdfast.LockBusy, match="the other shop"):
                holdfast_client.lock("x", wait="10m").acquire()
            assert holdfast_clock.elapsed == 600

        def test_lost(holdfast_clock, holdfast_faults, holdfast_client):
            with pytest.raises(holdfast.LockLost):
                with holdfast_client.lock("x", ttl="10m") as lease:
                    holdfast_faults.unavailable()
                    holdfast_clock.advance("10m")
                    lease.check()

        @pytest.fixture
        def service(holdfast_client, holdfast_clock):
            return holdfast_client.lock("x", ttl="10m", renew=False, on_loss="flag")

        def test_clock_in_a_fixture(service, holdfast_sandbox):
            with service as lease:
                holdfast_sandbox.clock.advance("10m")
                assert lease.lost
        """,
        count=3,
    )


def test_async_with_anyio(pytester: pytest.Pytester) -> None:
    """The async client works in anyio's tests, and is closed after its loop."""
    passes(
        pytester,
        """
        import asyncio, holdfast, pytest

        pytestmark = pytest.mark.anyio

        @pytest.fixture
        def anyio_backend():
            return "asyncio"

        async def test_async(holdfast_async_client, holdfast_clock, holdfast_faults):
            assert isinstance(holdfast_async_client, holdfast.AsyncClient)
            async with holdfast_async_client.lock("x", ttl="10m") as lease:
                await holdfast_clock.advance_async("1h")
                lease.check()
            with pytest.raises(holdfast.LockLost):
                async with holdfast_async_client.lock("x"):
                    holdfast_faults.lose("x")
                    await asyncio.sleep(10)
        """,
        *WITH_ANYIO,
    )


def test_async_without_any_plugin(pytester: pytest.Pytester) -> None:
    """A test that calls ``asyncio.run`` itself needs nothing more."""
    passes(
        pytester,
        """
        import asyncio

        def test_async(holdfast_async_client):
            async def main():
                async with holdfast_async_client.lock("x") as lease:
                    return lease.held
            assert asyncio.run(main())
        """,
    )


def test_async_with_unittest(pytester: pytest.Pytester) -> None:
    """Without fixtures, the same things are plain objects."""
    passes(
        pytester,
        """
        import unittest
        from holdfast import LockBusy
        from holdfast.testing import Sandbox

        class TestShop(unittest.IsolatedAsyncioTestCase):
            def setUp(self):
                self.sandbox = self.enterContext(Sandbox(virtual_clock=True))
                self.client = self.sandbox.async_client()

            async def test_busy(self):
                self.sandbox.faults.hold("x")
                with self.assertRaises(LockBusy):
                    await self.sandbox.clock.run(self.client.lock("x", wait="10m").acquire())
        """,
    )


def test_a_leak_is_an_error(pytester: pytest.Pytester) -> None:
    """The test has passed; that it left a lease behind is told, with the line that took it."""
    pytester.makepyfile(
        """
        kept = []

        def test_leak(holdfast_client):
            kept.append(holdfast_client.lock("x").acquire())

        def test_meant(holdfast_client, holdfast_sandbox):
            kept.append(holdfast_client.lock("x").acquire())
            holdfast_sandbox.allow_leaks()
        """
    )
    result = pytester.runpytest_inprocess(*ALONE)
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(
        ["*LeakedLease: still held at the end of the test: 'x', taken at *:4*"]
    )


def test_a_clock_that_comes_too_late_is_refused(pytester: pytest.Pytester) -> None:
    """Asked for in the middle of the test, it cannot change the time any more."""
    passes(
        pytester,
        """
        import holdfast, pytest

        def test_late(holdfast_client, request):
            with pytest.raises(holdfast.Misuse, match="as an argument"):
                request.getfixturevalue("holdfast_clock")
        """,
    )


def test_the_fixtures_are_listed_with_their_docs(pytester: pytest.Pytester) -> None:
    """``pytest --fixtures`` explains each of them in a sentence."""
    result = pytester.runpytest_inprocess(*ALONE, "--fixtures")
    listed = [
        (line.split()[0], after.strip())
        for line, after in zip(result.outlines, result.outlines[1:], strict=False)
        if line.startswith("holdfast_")
    ]
    assert {name for name, _ in listed} == {
        "holdfast_async_client",
        "holdfast_client",
        "holdfast_clock",
        "holdfast_faults",
        "holdfast_once_per_run",
        "holdfast_sandbox",
    }
    assert all(text.startswith("Give ") for _, text in listed)


def test_a_run_that_uses_nothing_imports_nothing(pytester: pytest.Pytester) -> None:
    """A test suite that never asks for a fixture has no sandbox in its memory."""
    pytester.makepyfile(
        """
        import sys

        def test_light():
            assert "holdfast.testing.plugin" in sys.modules
            assert "holdfast.testing.sandbox" not in sys.modules
        """
    )
    pytester.runpytest_subprocess(*ALONE).assert_outcomes(passed=1)
