"""A master, its replica, and three sentinels that promote the replica when the master is gone.

The sentinels look ten times a second instead of once in one to ten seconds, and a busy machine
does not make them call their clock broken (TILT): a failover takes a second or two.
"""

from typing import Self
from urllib.parse import quote

from holdfast.testing.watching import eventually
from tests.servers.binaries import Binary
from tests.servers.configuration import Setting
from tests.servers.ports import HOST
from tests.servers.redis import Option, RedisServer, query, start_all
from tests.servers.scope import Scoped

MASTER_NAME = "mymaster"
QUICK = {
    "info-period": 100,
    "ask-period": 100,
    # A lost link is made again once in such a span, which must be well below `down_after`; and a
    # replica that was not heard of for five of them is not promoted, and is asked once a second.
    "ping-period": 500,
    # Four of these without news, and a sentinel turns a promoted server back into a replica.
    "publish-period": 1_000,
    "tilt-trigger": 60_000,
    "tilt-period": 1_000,
}


class RedisSentinels(Scoped):
    """Two servers and three sentinels; ``with`` starts and removes them."""

    def __init__(
        self,
        *,
        down_after: float = 1.0,
        password: str = "",
        binary: Binary | None = None,
        **settings: Setting,
    ) -> None:
        """``down_after`` is how long a master may be silent before it counts as gone."""
        self._password = password
        self._binary = binary
        first = RedisServer(password=password, binary=binary, **settings)  # type: ignore[arg-type]
        second = RedisServer(
            password=password,
            binary=binary,
            replicaof=f"{HOST} {first.port}",
            **settings,  # type: ignore[arg-type]
        )
        self.servers = [first, second]
        self.sentinels = [self._sentinel(first.port, down_after) for _ in range(3)]

    def _sentinel(self, port: int, down_after: float) -> RedisServer:
        orders = [
            f"monitor {MASTER_NAME} {HOST} {port} 2",
            f"down-after-milliseconds {MASTER_NAME} {round(down_after * 1000)}",
            f"failover-timeout {MASTER_NAME} 3000",
        ]
        if self._password:
            orders.append(f"auth-pass {MASTER_NAME} {self._password}")
        return RedisServer(binary=self._binary, sentinel=orders)

    def url(self, **options: Option) -> str:
        """Give the URL that names the sentinels."""
        hosts = ",".join(f"{HOST}:{sentinel.port}" for sentinel in self.sentinels)
        login = f":{quote(self._password, '')}@" if self._password else ""
        return f"redis+sentinel://{login}{hosts}/{MASTER_NAME}/0{query(options)}"

    def start(self) -> Self:
        """Start all five and wait until everybody knows everybody."""
        start_all([*self.servers, *self.sentinels])
        for sentinel in self.sentinels:
            for what, milliseconds in QUICK.items():
                sentinel.ask("SENTINEL", "DEBUG", what, milliseconds)
        self.wait_until_well()
        return self

    def master(self) -> RedisServer:
        """Give the server that most sentinels call the master, running or not."""
        ports = [self._master_port(sentinel) for sentinel in self._awake()]
        port = max(ports, key=ports.count)
        return next(server for server in self.servers if server.port == port)

    def replica(self) -> RedisServer:
        """Give the other one."""
        master = self.master()
        return next(server for server in self.servers if server is not master)

    def fail_over(self, *, by_killing: bool = True, within: float = 40.0) -> RedisServer:
        """Kill the master, or order a failover; give the new one once everybody knows it."""
        old, new = self.master(), self.replica()
        if by_killing:
            old.kill()
        else:
            self._awake()[0].ask("SENTINEL", "FAILOVER", MASTER_NAME)
        return self.wait_for_master(new, within)

    def wait_for_master(self, server: RedisServer, within: float = 40.0) -> RedisServer:
        """Wait until a server calls itself the master and every sentinel agrees."""
        eventually(lambda: _role(server)[:1] == ["master"], within, "the promotion")
        eventually(
            lambda: {self._master_port(one) for one in self._awake()} == {server.port},
            within,
            "the sentinels to agree",
        )
        return server

    def bring_back(self, within: float = 40.0) -> None:
        """Start a killed server again; the sentinels make it the replica of the other one."""
        for server in self.servers:
            if not server.running:
                server.start()
        self.wait_until_well(within)

    def wait_until_well(self, within: float = 40.0) -> None:
        """Wait until the replica is in step and every sentinel knows it and both its peers."""
        eventually(self._in_step, within, "the replica in step with the master")
        eventually(lambda: all(map(_knows_all, self._awake())), within, "sentinels that know all")

    def close(self) -> None:
        """Kill all five and leave nothing behind."""
        for server in (*self.sentinels, *self.servers):
            server.close()

    def _awake(self) -> list[RedisServer]:
        return [sentinel for sentinel in self.sentinels if sentinel.running]

    def _master_port(self, sentinel: RedisServer) -> int:
        return int(sentinel.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER_NAME)[1])

    def _in_step(self) -> bool:
        """Say whether the replica has what its master was told before.

        After the first copy an older Redis waits for a word of the replica, up to a second, before
        it passes on anything, although both call themselves connected. So something must be said.
        """
        master, role = self.master(), _role(self.replica())
        if role[:1] != ["slave"] or role[2:4] != [master.port, "connected"]:
            return False
        try:
            said = int(master.info("replication")["master_repl_offset"])
            heard = int(self.replica().info("replication").get("slave_repl_offset", 0))
            master.ask("PUBLISH", "anything", "said")
        except ConnectionError:  # as in `_role`
            return False
        return heard >= said > 0


def _role(server: RedisServer) -> list[object]:
    """Give its role; sentinels cut every client off when they give a server another one."""
    try:
        role: list[object] = server.ask("ROLE")
    except ConnectionError:
        return []
    return role


def _knows_all(sentinel: RedisServer) -> bool:
    """Say whether a sentinel knows both its peers and a replica fit to be promoted."""
    peers = sentinel.ask("SENTINEL", "SENTINELS", MASTER_NAME)
    replicas = [_fields(one) for one in sentinel.ask("SENTINEL", "REPLICAS", MASTER_NAME)]
    fit = [one for one in replicas if one["flags"] == "slave" and one["master-link-status"] == "ok"]
    return len(peers) == 2 and len(fit) == 1


def _fields(flat: list[str]) -> dict[str, str]:
    return dict(zip(flat[::2], flat[1::2], strict=True))
