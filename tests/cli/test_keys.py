"""Keys at a terminal that end more than the one command that hears them."""

import pytest

from tests.cli.keyboard import Keyboard
from tests.cli.shell import PROGRAM, Shell, alive

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
