"""What this server is, and what a lock on it survives: seen once per client.

Nothing here changes a decision; it goes into ``capabilities`` and, where something is missing, into
one warning per server.
"""

from __future__ import annotations

from holdfast.values import KINDS, Capabilities

_said: set[tuple[str, ...]] = set()

POOLED = (
    "a pooler stands between us and the server, where nobody can LISTEN: waiters are woken by a"
    " look once a second"
)

OLDER = (
    "its schema is of version {version}: leases work, and for all of holdfast.postgres somebody who"
    " may change it runs `holdfast migrate`"
)


class Survey:
    """What is known so far; until the first connection only what is true everywhere."""

    def __init__(self, shown: str, *, push: bool) -> None:
        self._shown = shown
        self.push = push
        self.done = False
        self.stays_older = False
        self._survives: tuple[str, ...] = ()
        self._notes: tuple[str, ...] = ("the server has not been looked at yet",)

    @property
    def capabilities(self) -> Capabilities:
        """What this server can do, as far as it has been seen."""
        return Capabilities(
            backend="postgres",
            scope="network",
            wakeup="push" if self.push else "tick",
            notices_crash=False,
            min_ttl=0.5,
            kinds=KINDS,
            survives=self._survives,
            notes=self._notes,
            records=True,
            buckets=True,
        )

    def read(
        self, version: int, fsync: str, commit: str, standbys: str, *, push: bool, pooled: bool
    ) -> None:
        """Draw the conclusions."""
        self.done = True
        self.push = push
        survives = ["eviction"]
        lacks: list[str] = []
        if fsync == "off":
            lacks.append("a crash of its host may lose everything (fsync is off)")
        elif commit == "off":
            lacks.append("a crash forgets the last grants (synchronous_commit is off)")
        else:
            survives.insert(0, "restart")
        if standbys and commit in {"on", "remote_apply", "remote_write"}:
            survives.append("failover")
        notes = [f"PostgreSQL {version // 10000}", *lacks]
        if pooled and not push:
            notes.append(POOLED)
        self._survives, self._notes = tuple(survives), tuple(notes)
        self._warn(tuple(lacks))

    def stay_older(self, version: int) -> None:
        """Note that the schema is an older one, which this user may not change."""
        self.stays_older = True
        self._notes = (*self._notes, OLDER.format(version=version))

    def _warn(self, lacks: tuple[str, ...]) -> None:
        if not lacks or (self._shown, *lacks) in _said:
            return
        _said.add((self._shown, *lacks))
        import logging  # a logger of its own, so that it can be silenced by itself

        logging.getLogger("holdfast.survey").warning(
            "%s: %s. Where that matters, let the protected resource check the token.",
            self._shown,
            "; ".join(lacks),
        )
