"""Locks as decorators: placeholders in the name, and what cannot be decorated."""

import inspect
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from holdfast import AsyncClient, Client, LockBusy, Misuse


@pytest.fixture
def client() -> Iterator[Client]:
    """Give a client in a space of its own."""
    with Client(f"memory://{uuid4()}") as made:
        yield made


def held(client: Client) -> list[str]:
    """List the names that are held now."""
    return [lock.name for lock in client.locks()]


def test_the_body_runs_under_the_lock(client: Client) -> None:
    """The name is held while the function runs, and free after it, also when it raises."""

    @client.lock("n")
    def work(error: Exception | None = None) -> list[str]:
        if error:
            raise error
        return held(client)

    assert work() == ["n"]
    with pytest.raises(ValueError, match="its own"):
        work(ValueError("its own"))
    assert held(client) == []


@pytest.mark.parametrize(
    "template, name",
    [
        ("order:{number}", "order:7"),
        ("{kind}/{number:04d}", "new/0007"),
        ("{who.name}", "ada"),
        ("{parts[0]}", "x"),
        ("{kind!r}", "'new'"),
        ("{{{number}}}", "{7}"),
        ("{{plain}}", "{plain}"),
        ("{rest}", "()"),
        ("{kind:{number}}|", "new    |"),
    ],
)
def test_placeholders_are_filled_from_the_arguments(
    client: Client, template: str, name: str
) -> None:
    """By position, by name or by default; attributes, items and formats work as in a format."""

    @client.lock(template)
    def work(number: int, who: Any, parts: list[str], *rest: str, kind: str = "new") -> list[str]:
        assert (number, who.name, parts, rest, kind) == (7, "ada", ["x"], (), "new")
        return held(client)

    who = SimpleNamespace(name="ada")
    assert work(7, who, ["x"]) == work(parts=["x"], number=7, who=who) == [name]


def test_methods_can_be_decorated(client: Client) -> None:
    """``self`` is an argument like any other."""

    class Account:
        number = 5

        @client.lock("account:{self.number}")
        def touch(self) -> list[str]:
            return held(client)

    assert Account().touch() == ["account:5"]


def test_a_decorated_function_keeps_its_face(client: Client) -> None:
    """Name, docstring and signature are those of the function."""

    def work(number: int, *, loud: bool = False) -> str:
        """Work."""
        return str(number) * (1 + loud)

    under_lock = client.lock("n")(work)
    assert (under_lock.__name__, under_lock.__doc__) == ("work", "Work.")
    assert inspect.signature(under_lock) == inspect.signature(work)
    assert under_lock(3, loud=True) == "33"


def test_an_unknown_placeholder_is_misuse_when_decorating(client: Client) -> None:
    """The mistake is told before the first call, with the arguments there are."""

    def work(number: int, kind: str) -> None: ...

    with pytest.raises(Misuse, match=r"asks for \{id\}, but the arguments of .*work are: number"):
        client.lock("order:{id}")(work)


@pytest.mark.parametrize(
    "template", ["order:{", "order:}", "{number", "{}", "{0}", "{number:{width}}", "{number!z}"]
)
def test_a_template_that_cannot_be_filled_is_misuse(client: Client, template: str) -> None:
    """Braces that do not pair, and placeholders without a name, are told when decorating."""

    def work(number: int) -> None: ...

    with pytest.raises(Misuse):
        client.lock(template)(work)


def test_a_filled_name_is_checked(client: Client) -> None:
    """Arguments can make a name too long or unprintable: that is ``Misuse``, and nothing runs."""

    @client.lock("{text}")
    def work(text: str) -> str:
        return text

    for text in ("", "x" * 513, "a\n"):
        with pytest.raises(Misuse, match="name"):
            work(text)


def test_wrong_arguments_are_the_callers_own_error(client: Client) -> None:
    """A call that does not fit the signature is a ``TypeError``, as without the lock."""

    @client.lock("n:{number}")
    def work(number: int) -> int:
        return number

    with pytest.raises(TypeError, match="number"):
        work()  # type: ignore[call-arg]
    assert held(client) == []


def test_a_busy_name_does_not_run_the_body(client: Client) -> None:
    """The terms of the lock are those of every call."""

    @client.lock("n", wait=0)
    def work() -> None:
        pytest.fail("the body ran without the lock")

    with client.lock("n"), pytest.raises(LockBusy):
        work()


def test_one_decorated_function_has_many_names_at_once(client: Client) -> None:
    """Calls with other arguments hold other names, also inside each other."""

    @client.lock("n:{depth}")
    def work(depth: int) -> list[str]:
        return work(depth - 1) if depth else held(client)

    assert work(2) == ["n:0", "n:1", "n:2"]


def test_an_async_def_on_a_sync_lock_is_misuse(client: Client) -> None:
    """The lock would be gone before the coroutine runs; the error names the way out."""

    async def work() -> None: ...

    with pytest.raises(Misuse, match=r"work is an async def; use an AsyncClient"):
        client.lock("n")(work)


def test_a_def_on_an_async_lock_is_misuse() -> None:
    """The other way round it is told too."""

    def work() -> None: ...

    with pytest.raises(Misuse, match="not an async def; use a sync Client"):
        AsyncClient("memory://").lock("n")(work)  # type: ignore[arg-type]


def test_generators_are_refused(client: Client) -> None:
    """A generator's body runs after the call: the lock would protect nothing."""

    def numbers() -> Iterator[int]:
        yield 1

    async def later() -> AsyncIterator[int]:
        yield 1

    with pytest.raises(Misuse, match="numbers is a generator"):
        client.lock("n")(numbers)
    with pytest.raises(Misuse, match="later is a generator"):
        AsyncClient("memory://").lock("n")(later)  # type: ignore[arg-type]


async def test_an_async_body_runs_under_the_lock() -> None:
    """The async twin fills its name and holds it while the coroutine runs."""
    async with AsyncClient(f"memory://{uuid4()}") as client:

        @client.lock("n:{number}")
        async def work(number: int) -> list[str]:
            return [lock.name for lock in await client.locks()] * number

        assert await work(1) == ["n:1"]
        assert await client.locks() == []
