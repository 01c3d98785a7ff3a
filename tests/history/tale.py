"""Histories told by hand: who did what at which millisecond, written down as files and judged."""

import json
from pathlib import Path
from typing import Any, Self

from holdfast.testing.history.form import MARK, SUFFIX, VERSION
from holdfast.testing.history.judge import judge
from holdfast.testing.history.terms import Terms
from holdfast.testing.history.verdict import Verdict

MS = 1_000_000
START = 5_000_000_000


class Tale:
    """What a few workers did. Times are milliseconds since the start."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.told: dict[str, list[dict[str, Any]]] = {}
        self._pids: dict[str, int] = {}
        self._roles: dict[str, str] = {}

    def say(self, worker: str, at: float, do: str, /, **fields: Any) -> Self:
        """Let a worker say something."""
        entry = {"at": START + round(at * MS), "do": do, **fields}
        self.told.setdefault(worker, []).append(entry)
        return self

    def pid(self, worker: str) -> int:
        """Give the process of a worker; ``a.1`` and ``a.2`` are two threads of one."""
        return self._pids.setdefault(worker.partition(".")[0], 100 + len(self._pids))

    def ask(self, worker: str, at: float, n: int = 1, name: str = "x", **more: Any) -> Self:
        """Ask for a name."""
        order = {"n": n, "name": name, "ttl": 1.0, "wait": None, "weight": 1, "capacity": 1}
        return self.say(worker, at, "ask", **{**order, **more})

    def hold(
        self,
        worker: str,
        token: int,
        span: tuple[float, float],
        *,
        n: int = 1,
        checks: tuple[float, ...] = (),
        how: str = "released",
        **more: Any,
    ) -> Self:
        """Hold from one moment to another: asked for 1 ms before, checked on the way."""
        begin, end = span
        self.ask(worker, begin - 1, n, **more).say(worker, begin, "held", n=n, token=token)
        for at in checks:
            self.say(worker, at, "checked", n=n)
        since = START + round(end * MS)
        return self.say(worker, end + 0.1, "left", n=n, since=since, how=how)

    def land(self, at: float, token: int, value: int, *, fenced: bool = True) -> Self:
        """Let a write land in the resource."""
        self._roles["resource"] = "resource"
        return self.say(
            "resource", at, "landed", resource="r", fenced=fenced, token=token, value=value, by="a"
        )

    def fault(
        self,
        id_: int,
        kind: str,
        span: tuple[float, float],
        workers: tuple[str, ...] = (),
        **more: Any,
    ) -> Self:
        """Let a fault be on for a while; the processes are surely isolated 1 ms inside it."""
        begin, end = span
        self._roles["crew"] = "crew"
        pids = [self.pid(worker) for worker in workers] or None
        self.say("crew", begin, "fault", id=id_, kind=kind, pids=pids, **more)
        if kind in {"pause", "silence"}:
            self.say("crew", begin + 1, "isolated", id=id_)
            self.say("crew", end - 1, "rejoined", id=id_)
        return self.say("crew", end, "healed", id=id_)

    def judged(self, *, ends: bool = True, **terms: Any) -> Verdict:
        """Write everything down, and judge it."""
        for worker, entries in self.told.items():
            entries.sort(key=lambda entry: int(entry["at"]))
            if ends and worker not in self._roles:
                entries.append({"at": entries[-1]["at"], "do": "end"})
            header = {MARK: VERSION, "worker": worker, "pid": self.pid(worker), "boot": "here"}
            header["role"] = self._roles.get(worker, "worker")
            lines = "".join(json.dumps(line) + "\n" for line in [header, *entries])
            (self.folder / f"{worker}{SUFFIX}").write_text(lines)
        return judge(self.folder, Terms(**terms))
