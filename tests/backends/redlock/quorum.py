"""Servers of a test's own that make a quorum: killed, stopped, cut off and restarted one by one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import hiredis

from holdfast.backends.redlock.requests import Post
from holdfast.rules.quorum_messages import VoterRequest
from tests.servers.proxy import Proxy
from tests.servers.redis import Option, RedisServer, query, start_all


class Servers:
    """Some independent servers; with ``proxied`` each is reached through a proxy."""

    def __init__(self, servers: list[RedisServer], proxies: list[Proxy]) -> None:
        self.all = servers
        self.proxies = proxies

    def url(self, **options: Option) -> str:
        """Give the URL of the quorum."""
        ports = [one.port for one in (self.proxies or self.all)]
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        return f"redlock://{hosts}{query({'quarantine': 0, 'node_limit': '300ms', **options})}"

    @property
    def minority(self) -> list[RedisServer]:
        """As many of them as may fail."""
        return self.all[: len(self.all) // 2]

    def votes(self, prefix: str = "holdfast") -> list[str]:
        """Name the keys of votes that are there."""
        found: list[str] = []
        for server in self.all:
            if server.running:
                found += server.ask("KEYS", f"{prefix}:quorum:{{*")
        return found


def foreign(server: RedisServer, request: VoterRequest) -> None:
    """Ask one server alone for something, as if somebody else had got no further."""
    run = server.info("server")["run_id"].encode()
    call, keys, words = Post("holdfast").parcel(request, run)
    reader = hiredis.Reader()
    reader.feed(call.one(keys, words))
    answer = server.ask(*reader.gets())
    assert answer[0] in ("granted", "ended"), answer


@contextmanager
def quorum(count: int, *, proxied: bool = False, **settings: Any) -> Iterator[Servers]:
    """Start servers; they are gone afterwards."""
    with ExitStack() as stack:
        servers = [RedisServer(**settings) for _ in range(count)]
        for server in servers:
            stack.callback(server.close)
        start_all(servers)
        proxies = [stack.enter_context(Proxy(one.address)) for one in servers] if proxied else []
        yield Servers(servers, proxies)
