"""Keys at a terminal that end more than the one command that hears them."""

import signal

import pytest

from tests.cli.keyboard import Keyboard
from tests.cli.shell import PROGRAM, Shell, alive, until

INT, QUIT = "\x03", "\x1c"
PER = ("--per", "365d")

SILENT = "echo pid=$$.; exec sleep 100"
READS = "echo name?; read name; echo pid=$$.; exec sleep 100"
SHELL = "echo name?; read name; trap 'exit 130' INT; echo pid=$$.; while :; do sleep 0.01; done"
GRACEFUL = "trap 'exit 1' INT; echo pid=$$.; while :; do sleep 0.01; done"


@pytest.mark.parametrize("options", [(), PER], ids=["lock", "slot"])
@pytest.mark.parametrize("locked", [False, True])
@pytest.mark.parametrize(
    "key, question, code",
    [
        (INT, SILENT, 130),
        (INT, READS, 130),
        (INT, SHELL, 130),
        (INT, GRACEFUL, 130),
        (QUIT, SILENT, 131),
        (QUIT, READS, 131),
    ],
)
def test_a_key_that_ends_the_question(
    shell: Shell,
    keyboards: list[Keyboard],
    key: str,
    question: str,
    code: int,
    options: tuple[str, ...],
    *,
    locked: bool,
) -> None:
    """Ctrl-C during the question of --unless ends us; it is no answer, and nothing is run."""
    if locked:
        question = f"test -e first || {{ touch first; exit 1; }}; {question}"
    command = (*PROGRAM, "run", "job", *options, "--unless", question, "--", "touch", "ran")
    keyboards.append(person := Keyboard(shell, *command))
    if "name?" in question:
        person.read(r"name\?")
        person.type("bob\n")
    asking = int(person.read(r"pid=(\d+)\."))
    person.type(key)
    assert person.process.wait() == code
    assert not alive(asking)
    assert not (shell.folder / "ran").exists()
    assert shell.client().locks() == []


@pytest.mark.parametrize("code", [130, 131])
def test_a_code_that_looks_like_a_key(shell: Shell, code: int) -> None:
    """Without a terminal the question may say so; it is not 0, so there is work."""
    done = shell.run("run", "job", "--unless", f"exit {code}", "--", "echo", "worked")
    assert (done.returncode, done.stdout) == (0, "worked\n")


@pytest.mark.parametrize("name, code", [("HUP", 129), ("INT", 130), ("TERM", 143)])
def test_a_question_that_is_ended(shell: Shell, name: str, code: int) -> None:
    """A question that somebody ended has not been answered: nothing is run."""
    done = shell.run("run", "job", "--unless", f"kill -{name} $$", "--", "echo", "never")
    assert (done.returncode, done.stdout) == (code, "")


@pytest.mark.parametrize("code", [130, 131, 143])
def test_a_leader_that_ends_with_the_code_of_a_signal(shell: Shell, code: int) -> None:
    """Without a terminal it has ended by itself, whatever the code: we stand by again."""
    process = shell.start("lead", "job", "--", "sh", "-c", f"exit {code}")
    assert process.stderr is not None
    said = process.stderr.readline()
    assert said == f"holdfast: the command has ended with {code}; standing by again in 1.0 s\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 128 + signal.SIGTERM


@pytest.mark.parametrize("key, code", [(INT, 130), (QUIT, 131)])
@pytest.mark.parametrize("handled", [False, True])
def test_a_key_that_ends_the_leader(
    shell: Shell, keyboards: list[Keyboard], key: str, code: int, *, handled: bool
) -> None:
    """Ctrl-C ends the command and us, also if the command says so with its code."""
    trap = f"trap 'exit {code}' INT QUIT; echo pid=$$.; while :; do sleep 0.01; done"
    script = trap if handled else SILENT
    keyboards.append(person := Keyboard(shell, *PROGRAM, "lead", "job", "--", "sh", "-c", script))
    command = int(person.read(r"pid=(\d+)\."))
    person.type(key)
    assert person.process.wait() == code
    assert not alive(command)
    assert shell.client().locks() == []


def test_a_leader_that_makes_something_else_of_a_key(
    shell: Shell, keyboards: list[Keyboard]
) -> None:
    """It has ended by itself; Ctrl-C while we pause ends us, and so does it while we stand by."""
    # Should it be started again before we get round to the second Ctrl-C, it dies of that.
    again = "test -e again && exec sleep 100; touch again;"
    script = f"{again} trap 'exit 0' INT; echo pid=$$.; while :; do sleep 0.01; done"
    lead = (*PROGRAM, "lead", "job", "--", "sh", "-c", script)
    keyboards.append(person := Keyboard(shell, *lead))
    person.read(r"pid=(\d+)\.")
    person.type(INT)
    person.read("ended with 0; standing by again")
    person.type(INT)
    assert person.process.wait() == 130
    client = shell.client()
    with client.lead("job", ttl=60):
        keyboards.append(person := Keyboard(shell, *lead))
        until(lambda: client.show("job").waiters == 1)
        person.type(INT)
        assert person.process.wait() == 130
    assert client.locks() == []
