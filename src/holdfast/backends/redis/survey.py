"""What this server is, and what a lock on it survives: seen once per client, said once per server.

A lock is as good as the memory it is kept in. Nothing here changes a decision; it goes into
``capabilities`` and, where something is missing, into one warning.
"""

from __future__ import annotations

from typing import Any

from holdfast.backends.redis import faults
from holdfast.backends.redis.requests import command
from holdfast.backends.redis.target import Target
from holdfast.values import KINDS, Capabilities

OLDEST = (6, 2)
"""The first version with everything the scripts need (``ZMSCORE``)."""

_said: set[tuple[str, ...]] = set()


class Survey:
    """Asks on a client's first connection; until then it says only what is true everywhere."""

    QUESTIONS = (
        command("INFO"),
        command("CONFIG", "GET", "save"),
        command("CONFIG", "GET", "appendfsync"),
    )

    def __init__(self, target: Target) -> None:
        self._target = target
        self.done = False
        self.capabilities = _capabilities((), ("the server has not been looked at yet",))

    def read(self, raw: list[Any]) -> None:
        """Draw the conclusions; what the server keeps to itself is said to be unknown."""
        self.done = True
        info = _info(raw[0])
        version = info.get("redis_version", "")
        if _too_old(version):
            raise faults.too_old(self._target.shown, version)
        if not info:
            lacks = ["what it survives is not known: this user may not call INFO"]
            self.capabilities = _capabilities((), tuple(lacks))
            self._warn("a server that does not tell", tuple(lacks))
            return
        survives: list[str] = []
        lacks = []
        self._restart(info, raw[1], _setting(raw[2]), survives, lacks)
        self._failover(info, survives, lacks)
        self._eviction(info, survives, lacks)
        server = _name(info)
        self.capabilities = _capabilities(tuple(survives), (server, *lacks))
        self._warn(server, tuple(lacks))

    def _restart(
        self, info: dict[str, str], save: Any, fsync: str, survives: list[str], lacks: list[str]
    ) -> None:
        if info.get("aof_enabled") == "1":
            survives.append("restart")
            if fsync != "always":
                lacks.append(
                    "a crash of its host forgets up to a second of grants (appendfsync is not"
                    " 'always')"
                )
        elif isinstance(save, Exception):
            lacks.append("a restart brings an older state back, or none (appendonly is off)")
        elif _setting(save):
            lacks.append("a crash brings an older snapshot back (appendonly is off)")
        else:
            lacks.append("a restart forgets every lock (no persistence)")

    def _failover(self, info: dict[str, str], survives: list[str], lacks: list[str]) -> None:
        replicas = int(info.get("connected_slaves", "0") or 0)
        if self._target.replicas:
            survives.append("failover")
        elif replicas or self._target.mode != "single":
            lacks.append(
                "a fail-over can forget the last grants: replication is asynchronous (replicas=1"
                " in the URL waits for it)"
            )

    def _eviction(self, info: dict[str, str], survives: list[str], lacks: list[str]) -> None:
        policy = info.get("maxmemory_policy", "unknown")
        if policy == "noeviction" or info.get("maxmemory") == "0":
            survives.append("eviction")
        else:
            lacks.append(f"a full memory can evict a held lock (maxmemory-policy is {policy})")

    def _warn(self, server: str, lacks: tuple[str, ...]) -> None:
        if not lacks or (self._target.shown, *lacks) in _said:
            return
        _said.add((self._target.shown, *lacks))
        import logging  # a logger of its own, so that it can be silenced by itself

        logging.getLogger("holdfast.survey").warning(
            "%s (%s): a lock here is kept in the server's memory: %s. Where that matters, let the"
            " protected resource check the token.",
            self._target.shown,
            server,
            "; ".join(lacks),
        )


def _too_old(version: str) -> bool:
    parts = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    return bool(parts) and parts < OLDEST


def _capabilities(survives: tuple[str, ...], notes: tuple[str, ...]) -> Capabilities:
    return Capabilities(
        backend="redis",
        scope="network",
        wakeup="push",
        notices_crash=False,
        min_ttl=0.5,
        kinds=KINDS,
        all_at_once=True,
        survives=survives,
        notes=notes,
        records=True,
        buckets=True,
    )


def _info(raw: Any) -> dict[str, str]:
    if not isinstance(raw, bytes):
        return {}
    lines = raw.decode(errors="replace").splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def _setting(raw: Any) -> str:
    """Read the reply of ``CONFIG GET``: a list in RESP2, a map in RESP3, an error where denied."""
    if isinstance(raw, dict):
        values = list(raw.values())
    else:
        values = raw[1::2] if isinstance(raw, list) else []
    return values[0].decode() if values else ""


def _name(info: dict[str, str]) -> str:
    if "valkey_version" in info:
        return f"Valkey {info['valkey_version']}"
    return f"Redis {info.get('redis_version', 'of unknown version')}"
