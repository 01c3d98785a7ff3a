"""Units that only the Redis workloads count in, shown as the common table shows its own."""

from typing import Literal, cast

from benchmarks.figures import Unit, Value

Form = Literal[
    "requests/s",
    "per grant",
    "per tick",
    "connections",
    "bytes",
    "leases",
    "index",
    "hops",
    "of the lock's",
]


class Amount(Value):
    """A number of something that a server sees: requests, connections, bytes."""

    __slots__ = ()

    def __init__(self, number: float, unit: Form) -> None:
        super().__init__(number, cast("Unit", unit))  # the table asks only for ``str``

    def __str__(self) -> str:
        unit = str(self.unit)
        if unit in {"connections", "bytes", "leases"}:
            return f"{self.number:,.0f} {unit}"
        return f"{self.number:.3f}" if unit == "index" else f"{self.number:,.2f} {unit}"
