"""The way from the workers to the server: through a proxy of our own where that is possible.

A proxy can stand in front of one server that is spoken to over plain TCP. It cannot where the
address comes from somebody else (sentinels, a cluster), where a certificate names the server, or
where there is no TCP at all; then ``why_not`` says so.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from holdfast.settings import Address
from holdfast.testing.proxy.proxy import Proxy

PLAIN_TCP = {"redis": 6379, "valkey": 6379, "postgresql": 5432, "postgres": 5432}
"""Schemes of one server over plain TCP, and the port that is meant where none is named."""

PLAIN_TCP |= {"postgresql+advisory": 5432, "postgres+advisory": 5432}

_REASONS = {
    "memory": "there is no network in memory",
    "sqlite": "there is no network between a process and its file",
    "rediss": "a certificate names the server, so no proxy can stand in its place",
    "redis+unix": "a Unix socket has no TCP connection to disturb",
    "redis+sentinel": "the sentinels name the server, so no proxy can stand in its place",
    "redis+cluster": "the cluster names its nodes, so no proxy can stand in their place",
}


_BY_OPTION = {"host", "hostaddr", "port", "service", "servicefile"}
"""Options of libpq's that name the server beside the URL."""


class Road:
    """The URL that workers use. ``proxy`` is there while the road is open, if there can be one."""

    def __init__(self, address: Address) -> None:
        self.url = address.url
        self.proxy: Proxy | None = None
        self.why_not = _why_not(address)
        if not self.why_not:
            parts = urlsplit(address.url)
            port = parts.port or PLAIN_TCP[address.scheme]
            self.proxy = Proxy((parts.hostname or "localhost", port))
            login, at, _ = parts.netloc.rpartition("@")
            host, port = self.proxy.address
            self.url = parts._replace(netloc=f"{login}{at}{host}:{port}").geturl()

    def __enter__(self) -> Self:
        if self.proxy is not None:
            self.proxy.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.proxy is not None:
            self.proxy.close()


def _why_not(address: Address) -> str:
    if address.scheme not in PLAIN_TCP:
        return _REASONS.get(address.scheme, f"verify knows no proxy for {address.scheme}://")
    options = address.options
    if options.get("tls") == "on" or options.get("sslmode") == "verify-full":
        return _REASONS["rediss"]
    parts = urlsplit(address.url)
    if PLAIN_TCP[address.scheme] == PLAIN_TCP["postgresql"] and (
        not parts.hostname or "," in parts.netloc or not _BY_OPTION.isdisjoint(options)
    ):
        return "the URL does not name one host, so no proxy can stand in its place"
    return ""
