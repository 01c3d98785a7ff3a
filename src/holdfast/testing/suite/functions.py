"""Functions under a lock: as decorators with ``{argument}`` names, and run just once."""
# ruff: noqa: S101, PLR2004 - these are tests

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from holdfast import LockBusy, Misuse, Outcome
from holdfast.testing.suite.party import Party
from holdfast.testing.suite.world import World


def decorate(
    party: Party, function: Callable[..., Any], name: str, **terms: Any
) -> Callable[..., Any]:
    """Put ``function`` under a lock of ``party``."""
    lock: Any = party.lock(name, **terms)
    decorated: Callable[..., Any] = lock(function)
    return decorated


class TestDecorators:
    """A lock as a decorator."""

    pytestmark = pytest.mark.anyio

    async def test_a_decorated_function_runs_under_the_lock(self, world: World) -> None:
        """The function runs while the name is held, and gives back what it returns."""
        alice, bob = world.party(), world.party()

        def job(number: int) -> int:
            """Do the job."""
            return number * 2

        function = decorate(alice, world.native(job), "x", wait=0)
        assert await alice.do(lambda: function(21)) == 42
        await bob.acquire("x")
        with pytest.raises(LockBusy):
            await alice.do(lambda: function(21))

    async def test_it_looks_like_the_function(self, world: World) -> None:
        """Name, docstring and signature are those of the function."""

        def job(number: int) -> int:
            """Do the job."""
            return number

        native = world.native(job)
        function = decorate(world.party(), native, "x")
        assert (function.__name__, function.__doc__) == ("job", "Do the job.")
        assert inspect.signature(function) == inspect.signature(job)
        assert inspect.iscoroutinefunction(function) == (world.mode == "async")

    async def test_placeholders_take_the_arguments(self, world: World) -> None:
        """``{argument}`` in the name stands for the argument of that call, defaults included."""
        alice, bob = world.party(), world.party()

        def job(order: int, region: str = "eu", *, kind: str = "new") -> str:
            return f"{order}-{region}-{kind}"

        function = decorate(alice, world.native(job), "job:{order}:{region}:{kind}", wait=0)
        await bob.acquire("job:1:eu:new")
        with pytest.raises(LockBusy) as busy:
            await alice.do(lambda: function(1))
        assert busy.value.name == "job:1:eu:new"
        assert await alice.do(lambda: function(2)) == "2-eu-new"
        assert await alice.do(lambda: function(1, "us")) == "1-us-new"
        assert await alice.do(lambda: function(order=1, kind="old")) == "1-eu-old"

    async def test_placeholders_reach_into_arguments(self, world: World) -> None:
        """Attributes and items can be named, and doubled braces are braces."""
        alice = world.party()
        names: list[str] = []

        def job(range_: range, rows: list[str]) -> None:  # noqa: ARG001 - the name takes them
            names.extend(one.name for one in inspector.locks())

        inspector: Any = world.client("sync")
        function = decorate(alice, world.native(job), "{range_.stop}/{rows[1]}/{{x}}")
        await alice.do(lambda: function(range(7), ["a", "b"]))
        assert names == ["7/b/{x}"]

    async def test_each_call_has_a_lease_of_its_own(self, world: World) -> None:
        """Calls of one decorated function exclude each other, also in one client."""
        alice = world.party()
        twin = world.party(client=alice.client)
        other = world.native(lambda: "got in")
        inner = decorate(alice, other, "x", wait=0)
        stay = await twin.enter("x")
        with pytest.raises(LockBusy):
            await alice.do(inner)
        await stay.leave()
        assert await alice.do(inner) == "got in"

    async def test_an_unknown_placeholder_is_refused(self, world: World) -> None:
        """A name that asks for an argument there is not is a mistake, found at once."""
        alice = world.party()

        def job(order: int) -> int:
            return order

        for name in ("{ordre}", "{}", "{0}", "{order", "x}"):
            with pytest.raises(Misuse):
                decorate(alice, world.native(job), name)

    async def test_the_wrong_kind_of_function_is_refused(self, world: World) -> None:
        """A sync lock on an ``async def``, the reverse, and generators are mistakes."""
        alice = world.party()

        async def task() -> None: ...

        def call() -> None: ...

        def generator() -> Any:
            yield 1

        async def stream() -> Any:
            yield 1

        wrong: Callable[..., Any] = task if world.mode == "sync" else call
        with pytest.raises(Misuse, match="async def"):
            decorate(alice, wrong, "x")
        for function in (generator, stream):
            with pytest.raises(Misuse, match="generator"):
                decorate(alice, function, "x")

    async def test_a_filled_name_is_checked_too(self, world: World) -> None:
        """Arguments cannot smuggle in what is not a name."""
        alice = world.party()
        function = decorate(alice, world.native(lambda text: text), "{text}")
        for text in ("", "a\nb", "n" * 513):
            with pytest.raises(Misuse):
                await alice.do(partial(function, text))


class TestWithLock:
    """Functions that are run under a lock once."""

    pytestmark = pytest.mark.anyio

    async def test_with_lock_gives_the_result(self, world: World) -> None:
        """``with_lock`` runs the function under the lock and gives what it returns."""
        alice = world.party()
        client: Any = alice.client
        held = world.native(lambda: [one.name for one in inspector.locks()])
        inspector: Any = world.client("sync")
        assert await alice.do(lambda: client.with_lock("x", held)) == ["x"]
        assert await alice.locks() == []

    async def test_with_lock_passes_errors_on(self, world: World) -> None:
        """What the function raises comes out, and the lock is released."""
        alice = world.party()
        client: Any = alice.client
        with pytest.raises(ZeroDivisionError):
            await alice.do(lambda: client.with_lock("x", world.native(lambda: 1 // 0)))
        assert await alice.locks() == []

    async def test_try_with_lock_runs_or_skips(self, world: World) -> None:
        """``try_with_lock`` says whether it ran; a busy lock is not an error."""
        alice, bob = world.party(), world.party()
        client: Any = alice.client
        runs: list[int] = []

        def run() -> str:
            runs.append(1)
            return "done"

        job = world.native(run)
        ran = await alice.do(lambda: client.try_with_lock("x", job))
        assert ran == Outcome(executed=True, result="done")
        await bob.acquire("x")
        skipped = await alice.do(lambda: client.try_with_lock("x", job))
        assert skipped == Outcome(executed=False)
        assert runs == [1]

    async def test_a_busy_lock_inside_is_not_a_skip(self, world: World) -> None:
        """``LockBusy`` that the function itself raises is its own, and comes out."""
        alice = world.party()
        client: Any = alice.client

        def job() -> None:
            raise LockBusy("another lock, inside")

        with pytest.raises(LockBusy, match="inside"):
            await alice.do(lambda: client.try_with_lock("x", world.native(job)))
