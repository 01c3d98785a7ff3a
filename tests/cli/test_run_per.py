"""``holdfast run --per``: once per slot of the backend's clock, in whichever copy comes first."""

import subprocess

from tests.cli.shell import Shell, until

LONG_SLOT = "365d"


def run(shell: Shell, script: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a script as the job of a slot."""
    return shell.run("run", "job", "--per", *(options or (LONG_SLOT,)), "--", "sh", "-c", script)


def test_a_completed_run_closes_its_slot(shell: Shell) -> None:
    """The second copy finds nothing to do: code 0, not a word."""
    assert run(shell, "echo ran").stdout == "ran\n"
    done = run(shell, "echo again")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_failed_run_leaves_it_open(shell: Shell) -> None:
    """A command that ends with another code than 0 has not completed."""
    assert run(shell, "exit 3").returncode == 3
    assert run(shell, "kill -9 $$").returncode == 137
    assert run(shell, "echo ran").stdout == "ran\n"
    assert run(shell, "echo again").stdout == ""


def test_the_next_slot_is_open(shell: Shell) -> None:
    """When the slot is over it runs again."""

    def twice() -> bool:
        run(shell, "echo ran >> runs", "300ms")
        return (shell.folder / "runs").read_text("utf-8").count("ran") == 2

    until(twice)


def test_a_copy_that_waited_finds_it_done(shell: Shell) -> None:
    """While one runs the others wait, then end with 0; with --no-wait they are busy."""
    script = "echo ran >> runs; until test -e door; do sleep 0.01; done"
    first = shell.start("run", "job", "--per", LONG_SLOT, "--", "sh", "-c", script)
    until((shell.folder / "runs").exists)
    second = shell.start("run", "job", "--per", LONG_SLOT, "--", "sh", "-c", script)
    client = shell.client()
    until(lambda: client.show("job", space="singleton").waiters == 1)
    assert run(shell, "echo never", LONG_SLOT, "--no-wait").returncode == 75
    (shell.folder / "door").touch()
    assert (first.wait(), second.wait()) == (0, 0)
    assert (shell.folder / "runs").read_text("utf-8") == "ran\n"
    assert client.locks() == []


def test_it_is_no_lock(shell: Shell) -> None:
    """A lock of the same name is another thing; the command gets name and token as ever."""
    with shell.client().lock("job", ttl=60):
        done = run(shell, 'echo "$HOLDFAST_NAME ${HOLDFAST_TOKEN:+token}"')
    assert done.stdout == "job token\n"


def test_nothing_to_do_closes_nothing(shell: Shell) -> None:
    """What --unless calls done has not run: the next copy asks for itself."""
    assert run(shell, "echo ran", LONG_SLOT, "--unless", "true").stdout == ""
    assert run(shell, "echo ran", LONG_SLOT, "--unless", "false").stdout == "ran\n"
