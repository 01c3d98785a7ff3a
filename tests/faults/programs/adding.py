"""Add one to a shared cell, again and again."""

from holdfast import Client
from tests.faults.processes import plan, report

if __name__ == "__main__":
    given = plan()
    with Client(given["url"]) as client:
        cell = client.cell(given["name"], expire="10m")
        report(ready=True)
        input()
        for _ in range(given["times"]):
            cell.update(lambda value: (value or 0) + 1, wait=60)
    report(done=True)
