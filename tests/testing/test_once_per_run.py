"""Made once although many want it: in threads that stand for processes, and in real processes."""

import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import holdfast
from holdfast.testing import OncePerRun, SetUpFailed
from holdfast.testing.watching import eventually


def test_it_is_made_once(tmp_path: Path) -> None:
    """Four at once: one makes it, and all have it."""
    made: list[str] = []
    at_once = threading.Barrier(4)

    def make() -> dict[str, int]:
        made.append("here")
        return {"port": 5432}

    def worker(number: int) -> object:
        with OncePerRun(tmp_path, worker=f"gw{number}") as once:
            at_once.wait(10)
            return once("database", make), once("database", make)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(worker, range(4)))
    assert found == [({"port": 5432}, {"port": 5432})] * 4
    assert made == ["here"]


@pytest.mark.parametrize("value", [None, False, 0, "", [], {}, "text", [1, "2", None]])
def test_whatever_json_can_say(tmp_path: Path, value: object) -> None:
    """Also what is empty was made."""
    with OncePerRun(tmp_path) as one, OncePerRun(tmp_path) as other:
        assert one("key", lambda: value) == value
        assert other("key", lambda: "made again") == value


def test_keys_are_told_apart(tmp_path: Path) -> None:
    """Any name will do, and none is taken for another."""
    keys = ["a", "a/b", "a:b", "a%2Fb", "ä", " ", "a" * 200]
    with OncePerRun(tmp_path / "odd %20 ?#folder") as once:
        for key in keys:
            once(key, lambda key=key: key, stop=lambda _: None)  # type: ignore[misc]
        assert [once(key, lambda: "new") for key in keys] == keys


def test_what_the_others_would_not_get_is_refused(tmp_path: Path) -> None:
    """What does not come out of JSON as it went in is no value to share."""
    with OncePerRun(tmp_path) as once:
        for wrong in ((1, 2), {1: 2}, {"at": Path("/")}, float("nan"), [("a",)]):
            with pytest.raises(holdfast.Misuse, match="JSON"):
                once("key", lambda wrong=wrong: wrong)  # type: ignore[misc]
        with pytest.raises(holdfast.Misuse, match="key"):
            once("", lambda: 1)
        assert once("key", lambda: 1) == 1


class TestFailure:
    """The one who makes it fails."""

    def test_those_who_waited_are_told_and_the_next_tries_again(self, tmp_path: Path) -> None:
        """Nobody who waited tries for himself what has just failed; who comes later does."""
        begun, go_on = threading.Event(), threading.Event()
        tries: list[str] = []

        def fail() -> str:
            tries.append("failing")
            begun.set()
            go_on.wait(10)
            raise OSError("port 5432 is taken")

        def first() -> None:
            with OncePerRun(tmp_path, worker="gw0") as once, pytest.raises(OSError, match="5432"):
                once("database", fail)

        def second(number: int) -> SetUpFailed:
            with OncePerRun(tmp_path, worker=f"gw{number}") as once:
                with pytest.raises(SetUpFailed, match="OSError: port 5432 is taken") as told:
                    once("database", fail)
                return told.value

        with ThreadPoolExecutor(4) as pool, holdfast.Client(f"sqlite:///{tmp_path}/once.db") as eye:
            maker = pool.submit(first)
            assert begun.wait(10)
            waiting = [pool.submit(second, number) for number in (1, 2, 3)]
            eventually(lambda: eye.show("make/database").waiters == 3)
            go_on.set()
            maker.result(10)
            errors = [one.result(10) for one in waiting]
        assert tries == ["failing"]
        assert {(error.key, error.worker) for error in errors} == {("database", "gw0")}
        assert isinstance(errors[0], holdfast.HoldfastError)
        with OncePerRun(tmp_path) as later:
            assert later("database", lambda: "made") == "made"

    def test_a_failure_can_be_kept(self, tmp_path: Path) -> None:
        """``keep_failure``: nobody tries again in this run."""

        def fail() -> str:
            raise ValueError("never")

        with OncePerRun(tmp_path) as once, pytest.raises(ValueError, match="never"):
            once("key", fail, keep_failure=True)
        with OncePerRun(tmp_path) as once, pytest.raises(SetUpFailed, match="not tried again"):
            once("key", lambda: "made")

    def test_failing_in_the_words_of_pytest(self, tmp_path: Path) -> None:
        """``pytest.fail`` is a failure like any other."""

        def fail() -> str:
            pytest.fail("no docker here")

        with OncePerRun(tmp_path) as once, pytest.raises(pytest.fail.Exception):
            once("key", fail, keep_failure=True)
        with OncePerRun(tmp_path) as once, pytest.raises(SetUpFailed, match="no docker here"):
            once("key", lambda: "made")

    def test_an_interruption_is_nobody_elses_business(self, tmp_path: Path) -> None:
        """A skip or a Ctrl-C of the maker is not told to the others: the next one tries."""

        def skip() -> str:
            pytest.skip("no docker here")

        with OncePerRun(tmp_path) as once:
            with pytest.raises(pytest.skip.Exception):
                once("key", skip)
            assert once("key", lambda: "made") == "made"

    def test_patience_has_an_end(self, tmp_path: Path) -> None:
        """``wait`` bounds how long another process is waited for."""
        begun, go_on = threading.Event(), threading.Event()

        def make_slowly() -> str:
            begun.set()
            go_on.wait(10)
            return "made"

        def slow() -> str:
            with OncePerRun(tmp_path, worker="the slow one") as once:
                return once("key", make_slowly)

        with ThreadPoolExecutor(1) as pool, OncePerRun(tmp_path) as once:
            maker = pool.submit(slow)
            assert begun.wait(10)
            with pytest.raises(holdfast.LockBusy, match="the slow one"):
                once("key", lambda: "mine", wait=0.1)
            go_on.set()
            assert maker.result(10) == "made"


class TestStop:
    """What was made is put away by the last one to leave."""

    def test_the_last_one_to_leave_stops_it(self, tmp_path: Path) -> None:
        """Not while somebody uses it; then once; and who comes afterwards makes it anew."""
        log: list[str] = []

        def make() -> str:
            log.append("make")
            return "database"

        def stop(value: str) -> None:
            log.append(f"stop {value}")

        first, second = OncePerRun(tmp_path, worker="gw0"), OncePerRun(tmp_path, worker="gw1")
        first("key", make, stop=stop)
        second("key", make, stop=stop)
        first.leave()
        assert log == ["make"]
        second.leave()
        assert log == ["make", "stop database"]
        with OncePerRun(tmp_path) as third:
            third("key", make, stop=stop)
        assert log == ["make", "stop database"] * 2

    def test_things_are_stopped_in_reverse_and_all_of_them(self, tmp_path: Path) -> None:
        """One that fails does not keep the others from being stopped; each failure is told."""
        stopped: list[int] = []

        def stop(value: int) -> None:
            stopped.append(value)
            if value > 1:
                raise OSError(f"{value} does not stop")

        once = OncePerRun(tmp_path)
        for number in (1, 2):
            once(f"key {number}", lambda number=number: number, stop=stop)  # type: ignore[misc]
        with pytest.raises(OSError, match="2 does not stop"):
            once.leave()
        assert stopped == [2, 1]
        again = OncePerRun(tmp_path)
        for number in (2, 3):
            again(f"key {number}", lambda number=number: number, stop=stop)  # type: ignore[misc]
        with pytest.raises(ExceptionGroup) as told:
            again.leave()
        assert [str(error) for error in told.value.exceptions] == [
            "3 does not stop",
            "2 does not stop",
        ]


PROGRAM = """
import json, os, sys, time
from holdfast.testing import OncePerRun

folder, worker, what = sys.argv[1:]

def make():
    print("making", flush=True)
    if what == "die":
        sys.stdin.readline()  # killed meanwhile
    return {"made by": worker}

def stop(value):
    print("stopping " + json.dumps(value), flush=True)

with OncePerRun(folder, worker=worker) as once:
    print("has " + json.dumps(once("key", make, stop=stop)), flush=True)
    sys.stdin.readline()
"""


class TestKilled:
    """Real processes, one of which is killed."""

    def start(self, folder: Path, worker: str, what: str = "live") -> "subprocess.Popen[str]":
        """Start one of them."""
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(folder), worker, what],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def test_a_maker_that_is_killed_is_followed_by_another(self, tmp_path: Path) -> None:
        """The next in line makes it, long before a lease would have run out."""
        with self.start(tmp_path, "first", "die") as first:
            assert first.stdout
            assert first.stdout.readline() == "making\n"
            with self.start(tmp_path, "second") as second:
                assert second.stdin
                assert second.stdout
                with holdfast.Client(f"sqlite:///{tmp_path}/once.db") as eye:
                    eventually(lambda: eye.show("make/key").waiters == 1)
                os.kill(first.pid, signal.SIGKILL)
                said = second.stdout.readline() + second.stdout.readline()
                assert said == 'making\nhas {"made by": "second"}\n'
                second.stdin.write("\n")
                second.stdin.flush()
                assert second.stdout.readline() == 'stopping {"made by": "second"}\n'

    def test_a_user_that_is_killed_is_not_waited_for(self, tmp_path: Path) -> None:
        """The last living one puts it away, although a dead one has never left."""
        with self.start(tmp_path, "first") as first, self.start(tmp_path, "second") as second:
            assert first.stdout
            assert second.stdout
            assert second.stdin
            lines = [first.stdout.readline(), second.stdout.readline()]
            lines.append((first if lines[0] == "making\n" else second).stdout.readline())  # type: ignore[union-attr]
            made = json.loads(lines[-1].removeprefix("has "))
            os.kill(first.pid, signal.SIGKILL)
            first.wait(10)
            second.stdin.write("\n")
            second.stdin.flush()
            assert second.stdout.readline() == f"stopping {json.dumps(made)}\n"
