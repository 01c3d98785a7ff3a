"""``holdfast run --shared``, ``--exclusive`` and ``--permits``: not always all of a name."""

import pytest

from tests.cli.shell import Shell, lines


def test_readers_run_beside_each_other(shell: Shell) -> None:
    """Two commands with --shared are inside at the same time; --exclusive waits for both."""
    script = 'echo "in $HOLDFAST_NAME"; read _'
    readers = [
        shell.start("run", "data", "--shared", "--", "sh", "-c", script, stdin=-1) for _ in range(2)
    ]
    assert [next(lines(reader)) for reader in readers] == ["in data", "in data"]
    busy = shell.run("run", "data", "--exclusive", "--no-wait", "--", "echo", "never")
    assert (busy.returncode, busy.stdout) == (75, "")
    for reader in readers:
        reader.communicate("\n")
        assert reader.returncode == 0
    done = shell.run("run", "data", "--exclusive", "--no-wait", "--", "echo", "written")
    assert (done.returncode, done.stdout) == (0, "written\n")


def test_a_reader_waits_for_the_writer(shell: Shell) -> None:
    """--shared is a reader of the same lock that Python's `rwlock` knows."""
    with shell.client().rwlock("data").write():
        done = shell.run("run", "data", "--shared", "--no-wait", "--", "echo", "never")
    assert (done.returncode, done.stdout) == (75, "")


def test_permits_give_slots(shell: Shell) -> None:
    """With --permits each command finds another slot, and one too many is busy."""
    client = shell.client()
    others = client.semaphore("gpu", permits=2)
    with others:
        script = 'echo "$HOLDFAST_SLOT $HOLDFAST_SLOTS $HOLDFAST_TOKEN"'
        done = shell.run("run", "gpu", "--permits", "2", "--", "sh", "-c", script)
        slot, slots, token = done.stdout.split()
        assert (slot, slots) == ("1", "1")
        assert int(token) == client.show("gpu").token
        with others:
            busy = shell.run("run", "gpu", "--permits", "2", "--no-wait", "--", "true")
            assert busy.returncode == 75


def test_a_weight_takes_several(shell: Shell) -> None:
    """--weight takes so many at once, and the command is told all of its slots."""
    script = 'echo "$HOLDFAST_SLOT $HOLDFAST_SLOTS"'
    done = shell.run("run", "gpu", "--permits", "4", "--weight", "3", "--", "sh", "-c", script)
    assert done.stdout == "0 0,1,2\n"


def test_a_plain_lock_has_no_slot(shell: Shell) -> None:
    """Without --permits there is no slot in the environment."""
    done = shell.run("run", "job", "--", "sh", "-c", 'echo "[${HOLDFAST_SLOT-none}]"')
    assert done.stdout == "[none]\n"


def test_those_who_disagree_are_told(shell: Shell) -> None:
    """Another number of permits, or another kind of lock, is wrong usage and said in a line."""
    with shell.client().semaphore("gpu", permits=2):
        for terms, words in (
            (["--permits", "3"], "it is in use with 2 permits, not 3"),
            (["--shared"], "it is in use as a semaphore, not as a rwlock"),
            ([], "it is in use as a semaphore, not as a lock"),
        ):
            done = shell.run("run", "gpu", *terms, "--", "echo", "never")
            assert (done.returncode, done.stdout) == (2, "")
            assert words in done.stderr
            assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "terms",
    [
        ["--shared", "--exclusive"],
        ["--shared", "--permits", "2"],
        ["--permits", "0"],
        ["--weight", "2"],
        ["--permits", "2", "--weight", "3"],
        ["--permits", "2", "--weight", "0"],
    ],
)
def test_what_makes_no_sense(shell: Shell, terms: list[str]) -> None:
    """Options that contradict each other are wrong usage, and nothing is run."""
    done = shell.run("run", "job", *terms, "--", "echo", "never")
    assert (done.returncode, done.stdout) == (2, "")
