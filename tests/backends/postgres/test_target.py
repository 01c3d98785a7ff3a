"""What a URL says: libpq's own options, holdfast's, and nothing that does not exist."""

import pytest

from holdfast import Client, Misuse
from holdfast.backends.postgres.target import target_of
from holdfast.settings import address


def _told(url: str) -> str:
    return target_of(address(url)).conninfo("me").decode()


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_both_schemes_and_everything_of_libpq(scheme: str) -> None:
    """User, password, host, port, database and libpq's options go to libpq as they are."""
    told = _told(f"{scheme}://me:p%40ss@db.example:5433/app?sslmode=require&schema=locks")
    for part in ("user=me", "password=p@ss", "host=db.example", "port=5433", "dbname=app"):
        assert part in told
    assert "sslmode=require" in told
    assert "schema" not in told


def test_of_several_hosts_the_one_that_can_be_written_to() -> None:
    """Unless the URL says otherwise."""
    assert "target_session_attrs=read-write" in _told("postgresql://a,b/app")
    assert "target_session_attrs=any" in _told("postgresql://a,b/app?target_session_attrs=any")
    assert "target_session_attrs" not in _told("postgresql://a/app")


@pytest.mark.parametrize(
    "query, words",
    [
        ("sslmod=require", "did you mean 'sslmode'"),
        ("shema=x", "did you mean 'schema'"),
        ("wakeup=never", "auto, listen, tick"),
        ("install=maybe", "auto, never"),
    ],
)
def test_what_does_not_exist_is_refused(query: str, words: str) -> None:
    """With the nearest that does, before anything is connected."""
    with pytest.raises(Misuse, match=words):
        Client(f"postgresql://localhost/app?{query}")


def test_a_url_that_cannot_be_read_does_not_show_its_password() -> None:
    """Not even when libpq complains about it."""
    with pytest.raises(Misuse) as error:
        Client("postgresql://me:secret@[::1/app")
    assert "secret" not in str(error.value)
