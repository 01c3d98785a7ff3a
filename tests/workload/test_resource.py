"""What the locks protect: a fenced counter refuses the past, and the file tells the order."""

import json
import multiprocessing
from pathlib import Path

import pytest

from holdfast.testing.history.judge import judge
from holdfast.testing.workload.resource import WIDTH, Refused, Resource


def entries(folder: Path) -> list[dict[str, object]]:
    """Read the log of the one resource of a folder, without its first line."""
    [path] = folder.iterdir()
    return [json.loads(line) for line in path.read_text().splitlines()[1:]]


def test_a_fenced_resource_refuses_a_smaller_token(tmp_path: Path) -> None:
    """What it has seen, also by a read, is the smallest that it takes from then on."""
    resource = Resource(tmp_path, "r", fenced=True)
    assert resource.read(5, "a", 1) == 0
    resource.write(5, "a", 1, 1)
    assert resource.read(7, "b", 1) == 1
    for access in (lambda: resource.read(6, "a", 2), lambda: resource.write(5, "a", 1, 9)):
        with pytest.raises(Refused) as refusal:
            access()
        assert refusal.value.seen == 7
    resource.write(7, "b", 1, 2)
    assert resource.value() == 2
    landed = [(entry["token"], entry["value"]) for entry in entries(tmp_path)]
    assert landed == [(5, 0), (5, 1), (7, 1), (7, 2)]
    assert judge(tmp_path).ok


def test_an_unfenced_resource_takes_everything(tmp_path: Path) -> None:
    """A stale write lands; the checker notes it and accuses nobody."""
    resource = Resource(tmp_path, "r", fenced=False)
    assert resource.value() == 0
    for token, value in ((5, 1), (7, 2), (5, 2)):
        resource.read(token, "a", 1)
        resource.write(token, "a", 1, value)
    assert len(entries(tmp_path)) == 3
    verdict = judge(tmp_path)
    assert verdict.ok
    assert verdict.notes["stale writes on an unfenced resource"] == 1


def test_a_torn_line_is_mended(tmp_path: Path) -> None:
    """A writer that was killed in the middle of a line has not written."""
    resource = Resource(tmp_path, "r", fenced=True)
    resource.write(1, "a", 1, 1)
    [path] = tmp_path.iterdir()
    whole = path.read_bytes()
    for torn in (whole + whole[-WIDTH:-7], whole[:100], whole[: WIDTH + 9]):
        path.write_bytes(torn)
        value = resource.read(2, "b", 1)
        resource.write(2, "b", 1, value + 1)
        assert path.stat().st_size % WIDTH == 0
        assert judge(tmp_path).ok


def add(folder: str, times: int) -> None:
    """Add to the counter under the resource's own lock alone: read and write are one."""
    resource = Resource(Path(folder), "r", fenced=True)
    for _ in range(times):
        resource.write(1, "a", 1, 0)


def test_accesses_of_many_processes_do_not_mix(tmp_path: Path) -> None:
    """Each line is whole and the moments are in order, whoever wrote them."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=add, args=(str(tmp_path), 50)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert len(entries(tmp_path)) == 150
    assert judge(tmp_path).operations == 150
