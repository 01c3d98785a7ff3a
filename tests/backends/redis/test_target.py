"""URLs: read once, refused in words, passwords never shown."""

import pytest

from holdfast import Client, Misuse
from holdfast.backends.redis.target import Login, target_of
from holdfast.settings import address


@pytest.mark.parametrize(
    "url, seeds, database",
    [
        ("redis://", (("localhost", 6379),), 0),
        ("redis://h", (("h", 6379),), 0),
        ("redis://h:7/3", (("h", 7),), 3),
        ("redis://h?db=4", (("h", 6379),), 4),
        ("valkey://[::1]:7/1", (("::1", 7),), 1),
        ("redis://[::1]", (("::1", 6379),), 0),
        ("redis+unix:///run/redis.sock?db=2", (("/run/redis.sock", 0),), 2),
        ("redis+cluster://a,b:7", (("a", 6379), ("b", 7)), 0),
        ("redis+sentinel://a,b:7/mymaster/5", (("a", 26379), ("b", 7)), 5),
    ],
)
def test_where(url: str, seeds: tuple[tuple[str, int], ...], database: int) -> None:
    """Hosts, ports, sockets and databases are where people write them."""
    target = target_of(address(url))
    assert (target.seeds, target.database) == (seeds, database)


def test_login() -> None:
    """User and password may hold anything once they are quoted."""
    target = target_of(address("rediss://us%40er:p%3Aa%2Fss@h/1?ssl_cert_reqs=none"))
    assert target.login() == Login("us@er", "p:a/ss")
    assert target.tls is not None
    assert "p%3A" not in repr(target)
    assert "p%3A" not in target.shown


@pytest.mark.parametrize(
    "url, words",
    [
        ("redis://a,b", "redis\\+cluster"),
        ("redis://h:x", "not a port"),
        ("redis://[::1/0", "bracket"),
        ("redis://h/x", "is a number"),
        ("redis://h?quarantin=0", "quarantine"),
        ("redis://h?quarantine=soon", "duration"),
        ("redis://h?protocol=4", "2, 3"),
        ("redis://h?ssl_ca_certs=ca.pem", "rediss"),
        ("redis+sentinel://h", "which master"),
        ("redis://h/5?db=3", "not twice"),
        ("redis+cluster://h/1", "only database 0"),
        ("redis+unix://run.sock", "absolute"),
        ("redis://h?sentinel_password=x", "unknown option"),
    ],
)
def test_refusals(url: str, words: str) -> None:
    """What cannot be right is refused when the client is made, with what to write instead."""
    with pytest.raises(Misuse, match=words):
        Client(url)
