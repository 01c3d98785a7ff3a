"""Backend URLs: mistakes name the nearest right thing, passwords are never shown."""

from pathlib import Path
from typing import Any

import pytest

from holdfast import AsyncClient, BackendUnavailable, Client, HoldfastError, LockBusy, Misuse
from holdfast.settings import Address, address

SECRET = "hunter2"


@pytest.mark.parametrize("url", ["", "locks.db", "memory:", 5, b"memory://", "/var/locks.db"])
def test_what_is_no_url_says_how_to_write_one(url: Any) -> None:
    """Anything without a scheme is refused with two examples."""
    with pytest.raises(Misuse, match=r"write one like 'sqlite:///locks.db' or 'memory://'"):
        Client(url)


@pytest.mark.parametrize(
    "url, near", [("sqllite:///a.db", "sqlite"), ("memry://", "memory"), ("SQLIT:///a", "sqlite")]
)
def test_an_unknown_scheme_names_the_nearest(url: str, near: str) -> None:
    """A slip of the pen is met with the scheme that was meant."""
    with pytest.raises(Misuse, match=f"did you mean {near}://"):
        Client(url)


def test_a_strange_scheme_lists_what_there_is() -> None:
    """Where nothing is near, the known schemes are listed."""
    with pytest.raises(Misuse, match=r"known are: .*memory, sqlite"):
        Client("gopher://somewhere")


def test_an_unknown_option_names_the_nearest(tmp_path: Path) -> None:
    """A misspelt option is never ignored: it is refused with the one that was meant."""
    with pytest.raises(Misuse, match=r"unknown option 'wakup'.*did you mean 'wakeup'"):
        Client(f"sqlite:///{tmp_path}/locks.db?wakup=tick")


def test_a_strange_option_lists_the_known_ones(tmp_path: Path) -> None:
    """Where nothing is near, the known options are listed."""
    with pytest.raises(Misuse, match="known are: network_fs, wakeup"):
        Client(f"sqlite:///{tmp_path}/locks.db?zzz=1")


def test_an_option_with_a_bad_value_lists_the_good_ones(tmp_path: Path) -> None:
    """A value that an option does not have is refused with those it has."""
    with pytest.raises(Misuse, match=r"wakeup=often.*choose one of pipe, tick"):
        Client(f"sqlite:///{tmp_path}/locks.db?wakeup=often")


def test_memory_has_no_options() -> None:
    """An option on memory:// is refused too."""
    with pytest.raises(Misuse, match="unknown option 'wakeup'"):
        Client("memory://x?wakeup=tick")


def test_schemes_are_not_case_sensitive() -> None:
    """A scheme in capitals is the same scheme."""
    with Client("MEMORY://capitals") as client:
        assert client.capabilities.backend == "memory"


def test_a_missing_folder_says_what_to_do(tmp_path: Path) -> None:
    """A path into nowhere is unavailable, not a traceback of the database."""
    with pytest.raises(BackendUnavailable, match="make it first") as caught:
        Client(f"sqlite:///{tmp_path}/nowhere/locks.db")
    assert caught.value.transient is False


def test_two_slashes_are_one_too_few() -> None:
    """A path in the place of a host is refused with the spelling that was meant."""
    with pytest.raises(Misuse, match=r"three slashes: sqlite:///locks.db"):
        Client("sqlite://locks.db")


def test_a_path_is_unquoted(tmp_path: Path) -> None:
    """Percent signs in a URL are read as a browser would."""
    with Client(f"sqlite:///{tmp_path}/with%20space.db") as client:
        client.show("n")
    assert (tmp_path / "with space.db").exists()


@pytest.mark.parametrize(
    "url",
    [
        f"gopher://user:{SECRET}@host:6379/0",
        f"gopher://:{SECRET}@host/0",
        f"gopher://user:a@{SECRET}@host/0",
        f"gopher://user:{SECRET}/more@host/0",
        f"gopher://host/0?password={SECRET}",
        f"gopher://host/0#{SECRET}",
        f"gopher://user:{SECRET}@[::1]:6379/0",
    ],
)
def test_a_password_is_never_shown(url: str) -> None:
    """Neither the error of an unknown scheme nor the address shows a password, however placed."""
    with pytest.raises(HoldfastError) as caught:
        Client(url)
    shown = address(url)
    said = (str(caught.value), repr(caught.value), repr(vars(caught.value)))
    for text in (*said, str(shown), repr(shown), f"{shown}", shown.shown):
        assert SECRET not in text


@pytest.mark.parametrize("url", [f"gopher://user:{SECRET}@[::1/0", f"gopher://[{SECRET}@x/0"])
def test_a_password_in_a_broken_url_is_not_shown(url: str) -> None:
    """Even what cannot be parsed is not repeated."""
    with pytest.raises(Misuse) as caught:
        Client(url)
    assert SECRET not in f"{caught.value} {caught.value!r}"
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("sign", "?#%/")
@pytest.mark.parametrize(
    "scheme", ["redis", "redis+sentinel", "redlock", "postgresql", "postgresql+advisory", "gopher"]
)
@pytest.mark.parametrize("login", ["user:{}@", "user:1{}@", ":{}@", "user:right@other,user:{}@"])
def test_a_password_that_was_not_encoded_is_not_shown(scheme: str, login: str, sign: str) -> None:
    """Its parts may look like a port, a path and options: none of them is repeated."""
    word = login.format(f"open{sign}sesame")
    with pytest.raises(HoldfastError) as caught:
        Client(f"{scheme}://{word}127.0.0.1:1/0", call_limit=0.5).lock("x").try_acquire()
    said = f"{caught.value} {caught.value!r} {vars(caught.value)}"
    assert "sesame" not in said
    assert "open" not in said


def test_an_at_sign_may_be_part_of_an_option() -> None:
    """Where nobody can take it for the end of a password."""
    assert address("postgresql://host/db?user=me@corp").options == {"user": "me@corp"}
    assert address("postgresql://me:x@host/db?user=me@corp").options == {"user": "me@corp"}
    for place in ("host:5432/db", "[::1]:5432/db", "[::1]/db", "/db", "a:1,b:2/db"):
        assert address(f"postgresql://{place}?user=me@corp").options == {"user": "me@corp"}
    assert address("memory://a#b@c").place == "a"
    with pytest.raises(Misuse, match="in an option write @ as %40"):
        address("redis://host:6379?user=me@corp")


def test_a_forgotten_scheme_does_not_show_the_password() -> None:
    """Text that is no URL may hold a password all the same: it is not repeated."""
    with pytest.raises(Misuse) as caught:
        Client(f"user:{SECRET}@host:6379")
    assert SECRET not in str(caught.value)


def test_a_client_shows_its_address_without_the_password() -> None:
    """The repr of both twins has the shown form of the address."""
    for kind in (Client, AsyncClient):
        client = kind(f"memory://user:{SECRET}@place")
        assert SECRET not in f"{client!r} {client} {client.lock('n')!r}"
        assert "memory://user:***@place" in repr(client)


def test_the_command_of_an_error_names_the_url_that_was_given() -> None:
    """A person can paste it: with the URL if one was given, without if the default was used."""
    given = Address("sqlite", "/a b.db", "sqlite:///a b.db", "sqlite:///a b.db", {}, given=True)
    assert given.command("x y") == "holdfast show 'x y' --url 'sqlite:///a b.db'"
    assert given._replace(given=False).command("n") == "holdfast show n"


def test_the_command_of_an_error_finds_what_the_client_sees() -> None:
    """It says what else decides where a name is: the user, the schema, the prefix."""
    where = address("postgresql://ann@host/db?schema=locks&connect_timeout=3")
    named = "holdfast show n --url 'postgresql://ann@host/db?schema=locks'"
    assert where.command("n") == named
    assert where.command("n", "billing") == named.replace("show n", "show n --prefix billing")


def test_a_busy_name_is_shown_under_the_prefix_of_its_client(tmp_path: Path) -> None:
    """Under another one the command would say that the name is free."""
    url = f"sqlite:///{tmp_path}/locks.db"
    with Client(url, prefix="a b") as client, client.lock("n"):
        other = Client(url, prefix="a b")
        with pytest.raises(LockBusy, match="`holdfast show n --prefix 'a b' --url"):
            other.lock("n", wait=0).acquire()


def test_sqlite_in_memory_is_memory() -> None:
    """Whoever knows SQLite's own spelling is told ours."""
    with pytest.raises(Misuse, match="are at memory://"):
        Client("sqlite:///:memory:")


def test_a_link_leads_to_the_file_itself(tmp_path: Path) -> None:
    """So that all its users find each other's inboxes: beside it, not beside the link."""
    (tmp_path / "link.db").symlink_to(tmp_path / "real.db")
    with Client(f"sqlite:///{tmp_path}/link.db") as client, client.lock("x"):
        pass
    assert {path.name for path in tmp_path.glob("*-inboxes")} == {"real.db-inboxes"}


@pytest.mark.parametrize("path", ["~nobody-has-this-name/x.db", "/var/%00.db", "/" + "x" * 300])
def test_a_path_that_cannot_be_looked_at(path: str) -> None:
    """It is unavailable, in words, and not an error of the operating system."""
    with pytest.raises(BackendUnavailable) as error:
        Client(f"sqlite:///{path}").lock("x").try_acquire()
    assert not error.value.transient


def test_a_certificate_that_is_not_there() -> None:
    """Its option is named."""
    with pytest.raises(Misuse, match="ssl_certfile=/nowhere"):
        Client("rediss://host?ssl_certfile=/nowhere")
