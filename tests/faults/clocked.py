"""Workers whose wall clock is set by a file: ``python -m tests.faults.clocked FILE``.

For Python processes only, and therefore without libfaketime, under which ``time.sleep`` fails. The
clocks that leases run on stay as they are.
"""

import sys
import time
from pathlib import Path

from holdfast.testing.workload.worker import main


def set_by(file: Path) -> None:
    """Let the wall clock of this process be as many seconds ahead as the file says."""
    true_time, true_time_ns = time.time, time.time_ns

    def offset() -> float:
        return float(file.read_text())

    time.time = lambda: true_time() + offset()
    time.time_ns = lambda: true_time_ns() + round(offset() * 1e9)


if __name__ == "__main__":
    set_by(Path(sys.argv[1]))
    main()
