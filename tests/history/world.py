"""A small world that keeps every promise, and the history its workers would write.

One server with a fair line and a capacity per name; workers whose words take time on the way, who
hold, check, write, are paused beyond their lease or killed. Everything follows from one seed.
"""

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from tests.history.tale import Tale

TTL = 1000.0
PATIENCE = 3000.0


@dataclass(eq=False, kw_only=True)
class Want:
    """One claim, on its way, in line or granted."""

    worker: str
    n: int
    name: str
    weight: int
    wait: float | None
    asked_at: float
    token: int = 0
    over: bool = False


@dataclass
class Room:
    """What the server knows of one name."""

    capacity: int
    used: int = 0
    line: list[Want] = field(default_factory=list)


class World:
    """Runs for a while; what happens is told to a tale."""

    def __init__(
        self, tale: Tale, seed: int, *, workers: int, length: float, trouble: float = 0.02
    ) -> None:
        self.tale = tale
        self._dice = random.Random(seed)
        self._until = length
        self._trouble = trouble
        self._todo: list[tuple[float, int, Callable[[], None]]] = []
        self._steps = 0
        self._rooms = {"x": Room(1), "y": Room(1), "readers": Room(100), "permits": Room(3)}
        self._token = 0
        self._values: dict[str, int] = {}
        self._claims = dict.fromkeys((f"w{number}" for number in range(workers)), 0)
        self._faults = 0
        self.now = 0.0

    def run(self) -> Tale:
        """Let everything happen."""
        for worker in tuple(self._claims):
            self._after(self._delay(), partial(self._think, worker))
        while self._todo:
            self.now, _, action = heapq.heappop(self._todo)
            action()
        return self.tale

    def _after(self, delay: float, action: Callable[[], None]) -> None:
        self._steps += 1
        heapq.heappush(self._todo, (self.now + delay, self._steps, action))

    def _delay(self) -> float:
        return self._dice.uniform(0.01, 2.0)

    def _think(self, worker: str) -> None:
        if self.now > self._until:
            self.tale.say(worker, self.now, "end")
            return
        self._claims[worker] += 1
        name = self._dice.choice(sorted(self._rooms))
        room = self._rooms[name]
        weight = self._dice.choice({"readers": [1, 1, 1, 100], "permits": [1, 2, 3]}.get(name, [1]))
        want = Want(
            worker=worker,
            n=self._claims[worker],
            name=name,
            weight=weight,
            wait=self._dice.choice([0.0, None, None]),
            asked_at=self.now,
        )
        order = {"weight": weight, "capacity": room.capacity, "wait": want.wait, "ttl": TTL / 1000}
        self.tale.ask(worker, self.now, want.n, name, **order)
        self._after(self._delay(), lambda: self._arrive(want))

    def _arrive(self, want: Want) -> None:
        room = self._rooms[want.name]
        if not room.line and room.used + want.weight <= room.capacity:
            self._grant(want)
        elif want.wait == 0:
            self._after(self._delay(), lambda: self._busy(want))
        else:
            room.line.append(want)
            back = self._delay()
            self.tale.say(want.worker, self.now + back, "queued", n=want.n)
            want.asked_at = self.now + back  # nothing is heard of it before that

    def _busy(self, want: Want) -> None:
        self.tale.say(want.worker, self.now, "busy", n=want.n, why="")
        self._after(self._delay(), lambda: self._think(want.worker))

    def _grant(self, want: Want) -> None:
        self._rooms[want.name].used += want.weight
        self._token += self._dice.randint(1, 5)
        want.token = self._token
        heard_in = max(self._delay(), want.asked_at - self.now + 0.001)
        self._after(heard_in, lambda: self._begin(want))

    def _begin(self, want: Want) -> None:
        self.tale.say(want.worker, self.now, "held", n=want.n, token=want.token)
        self._after(self._delay(), lambda: self._hold(want, self._dice.randint(0, 4)))

    def _hold(self, want: Want, more: int) -> None:
        fate = self._dice.random()
        if fate < self._trouble / 2:
            self._kill(want)
        elif fate < self._trouble:
            self._pause(want)
        elif more == 0:
            self._leave(want, "released")
        else:
            self.tale.say(want.worker, self.now, "checked", n=want.n)
            if want.name == "x":
                self._values["x"] = self._values.get("x", 0) + 1
                self.tale.land(self.now + 0.001, want.token, self._values["x"])
            self._after(self._delay(), lambda: self._hold(want, more - 1))

    def _leave(self, want: Want, how: str) -> None:
        began = self.now
        takes = self._delay()
        self._after(takes / 2, lambda: self._free(want))
        self.tale.say(want.worker, began + takes, "left", n=want.n, since=0, how=how)
        self._after(takes + self._delay(), lambda: self._think(want.worker))

    def _free(self, want: Want) -> None:
        if want.over:
            return
        want.over = True
        room = self._rooms[want.name]
        room.used -= want.weight
        while room.line and room.used + room.line[0].weight <= room.capacity:
            self._grant(room.line.pop(0))

    def _pause(self, want: Want) -> None:
        """Stop the worker for longer than its lease lives; it is told when it wakes."""
        length = TTL * self._dice.uniform(1.1, 2.0)
        self._faults += 1
        self.tale.fault(self._faults, "pause", (self.now, self.now + length), (want.worker,))
        self._after(TTL, lambda: self._free(want))

        def wake() -> None:
            self.tale.say(want.worker, self.now, "lost", n=want.n, told=True, why="")
            self._leave(want, "lost")

        self._after(length + 0.001, wake)

    def _kill(self, want: Want) -> None:
        self._faults += 1
        self.tale.fault(self._faults, "kill", (self.now, self.now + 0.001), (want.worker,))
        self._after(TTL, lambda: self._free(want))
        heir = f"{want.worker}'"
        self._claims[heir] = 0
        self._after(self._delay(), lambda: self._think(heir))
