"""A daily report on three hosts: ``python -m examples.daily_report``.

Every host has the same line in its crontab. One of them makes the report; whoever comes while it
runs, or when it is done, skips. Here three processes play the hosts, and the first report fails.
"""

import multiprocessing
import sys
import tempfile
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path

import holdfast


def host(number: int, url: str, reports: str, start: Barrier) -> None:
    """Be one host: cron fires twice."""
    with holdfast.Client(url, holder=f"host-{number}") as client:

        @client.singleton("daily-report", per="1d", ttl="2s")
        def report() -> str:
            with Path(reports).open("a", encoding="utf-8") as file:
                file.write(f"host-{number}\n")
            time.sleep(0.2)
            if Path(reports).read_text("utf-8").count("\n") == 1:
                raise OSError("the first report fails: no disk")
            return "sent"

        for _ in range(2):
            start.wait()
            try:
                outcome = report()
            except OSError as error:
                say(f"host-{number}: failed ({error})")
                continue
            word = outcome.result if outcome.executed else "skipped"
            say(f"host-{number}: {word}")


def say(line: str) -> None:
    """Print a whole line at once: three processes share the terminal."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(url: str, folder: Path) -> None:
    """Let the hosts' crons fire at the same time, twice."""
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(3)
    reports = folder / "reports"
    hosts = [
        context.Process(target=host, args=(number, url, str(reports), start))
        for number in range(1, 4)
    ]
    for one in hosts:
        one.start()
    for one in hosts:
        one.join()
    print(f"tried {reports.read_text('utf-8').count('host')} times, completed once")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        main(sys.argv[1] if len(sys.argv) > 1 else f"sqlite:///{place / 'locks.db'}", place)
