"""What the server saw: requests from clients, chunks that it read, connections, memory.

``INFO commandstats`` also counts what scripts call inside, so only commands are counted that no
script of ours or of a peer calls. The peers' own are named by them.
"""

from dataclasses import dataclass
from typing import Self

from tests.servers.redis import RedisServer

FROM_CLIENTS = {
    *("auth", "client", "config", "hello", "info", "ping", "quit", "script", "select", "wait"),
    *("eval", "evalsha", "evalsha_ro", "fcall", "blpop", "psubscribe", "ssubscribe", "subscribe"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the server had seen at one moment."""

    requests: int
    chunks: int

    @classmethod
    def by(cls, server: RedisServer, *more: str) -> Self:
        """Ask the server; ``more`` are further commands that a peer's clients send."""
        counted = FROM_CLIENTS | set(more)
        requests = 0
        for key, value in server.info("commandstats").items():
            command = key.removeprefix("cmdstat_").partition("|")[0]
            if command in counted:
                requests += int(value.removeprefix("calls=").partition(",")[0])
        return cls(requests=requests, chunks=int(server.info("stats")["total_reads_processed"]))

    def since(self, before: Self) -> Self:
        """Give the difference, without the two questions of ``before`` and the first of this."""
        return type(self)(
            requests=self.requests - before.requests - 2,
            chunks=self.chunks - before.chunks - 2,
        )


def connections(server: RedisServer) -> int:
    """Count the connections to the server, without the one that asks."""
    return len(server.ask("CLIENT", "LIST").splitlines()) - 1


def memory(server: RedisServer) -> int:
    """Give how many bytes the server uses for everything."""
    return int(server.info("memory")["used_memory"])
