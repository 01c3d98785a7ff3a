"""What every command line has in common: help, version, wrong usage, errors in one line."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast.cli import codes
from holdfast.cli.app import MODULES
from tests.cli.shell import PROGRAM, Shell

DOCS = Path(__file__).parents[2] / "docs" / "cli.md"


@pytest.mark.parametrize(
    "args",
    [
        ("no-such-command",),
        ("run",),
        ("run", "job"),
        ("run", "job", "--"),
        ("run", "job", "--no-such-option", "--", "true"),
        ("run", "job", "--ttl", "5 parsecs", "--", "true"),
        ("run", "job", "--ttl", "0", "--", "true"),
        ("run", "job", "--ttl", "1ms", "--", "true"),
        ("run", "job", "--wait", "-1s", "--", "true"),
        ("run", "job", "--wait", "nan", "--", "true"),
        ("run", "job", "--wait", "1s", "--no-wait", "--", "true"),
        ("run", "job", "--busy-code", "256", "--", "true"),
        ("run", "", "--", "true"),
        ("run", "a\nb", "--", "true"),
        ("run", "x" * 513, "--", "true"),
        ("run", "\udcff", "--", "true"),
        ("run", "job", "--label", "\udcff", "--", "true"),
        ("ls", "\udcff"),
        ("acquire", "job", "--ttl", "soon"),
        ("renew",),
        ("show",),
        ("watch", "--interval", "0"),
        ("ls", "--url", "no-url"),
        ("ls", "--url", "gopher://host"),
        ("--no-such-option",),
    ],
)
def test_wrong_usage(shell: Shell, args: tuple[str, ...]) -> None:
    """Wrong usage is 2, with one line that begins with our name."""
    done = shell.run(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("holdfast: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("text", ["10", "2.5", "2500ms", "1m30s", "2h", "7d"])
def test_durations(shell: Shell, text: str) -> None:
    """Durations are written as everywhere in holdfast, or as a bare number of seconds."""
    done = shell.run("run", "job", "--wait", text, "--ttl", text, "--", "true")
    assert (done.returncode, done.stderr) == (0, "")


def test_no_command_at_all(shell: Shell) -> None:
    """Without a command the help appears, as wrong usage."""
    done = shell.run()
    assert done.returncode == 2
    assert "Commands:" in done.stderr


def test_help_names_commands_and_codes(shell: Shell) -> None:
    """The help lists every command and every exit code."""
    done = shell.run("--help")
    assert done.returncode == 0
    words = " ".join(done.stdout.split())
    for command in MODULES:
        assert f" {command} " in words
    for code, meaning in codes.MEANINGS.items():
        assert f"{code} {meaning}" in words


@pytest.mark.parametrize("command", MODULES)
def test_help_of_each_command(shell: Shell, command: str) -> None:
    """Every command has a help of its own, and takes --url."""
    done = shell.run(command, "--help")
    assert done.returncode == 0
    assert f"Usage: holdfast {command}" in done.stdout
    assert "--url" in done.stdout


def test_the_docs_name_the_same_codes() -> None:
    """docs/cli.md has the table of exit codes as it is."""
    text = DOCS.read_text("utf-8")
    for code, meaning in codes.MEANINGS.items():
        assert f"| {code} | {meaning} |" in text


def test_the_docs_name_the_commands_without_json(shell: Shell) -> None:
    """docs/cli.md says once, and truly, which commands take no --json."""
    _, *sections = DOCS.read_text("utf-8").split("\n### JSON\n")
    assert len(sections) == 1
    words = re.match(r"\s*Every command but (.*?) takes `--json`", sections[0])
    assert words is not None
    without = {
        command for command in MODULES if "--json" not in shell.run(command, "--help").stdout
    }
    assert set(re.findall(r"`(\w+)`", words[1])) == without


def test_version(shell: Shell) -> None:
    """--version names the version."""
    assert shell.run("--version").stdout == f"holdfast {holdfast.__version__}\n"


def test_url_option_wins(shell: Shell, tmp_path: Path) -> None:
    """--url comes before $HOLDFAST_URL."""
    other = f"sqlite:///{tmp_path}/other.db"
    with shell.client().lock("job"):
        assert shell.run("run", "job", "--no-wait", "--url", other, "--", "true").returncode == 0


def test_no_password_is_printed(shell: Shell) -> None:
    """A password in the URL appears nowhere, whatever is wrong with it."""
    for url in ("gopher://me:sesame@host/0", "sqlite://me:sesame@host/x?colour=red"):
        done = shell.run("ls", "--url", url)
        assert done.returncode != 0
        assert "sesame" not in done.stdout + done.stderr


def test_no_claim_id_is_printed(shell: Shell) -> None:
    """Only `acquire` prints the secret; nothing that shows a lock does."""
    from holdfast.api.handle import Handle

    handle = Handle.parse(shell.run("acquire", "job", "--ttl", "1m").stdout)
    for args in (("ls",), ("ls", "--json"), ("show", "job"), ("show", "job", "--json")):
        assert handle.claim_id not in shell.run(*args).stdout
    busy = shell.run("run", "job", "--no-wait", "--", "true")
    assert handle.claim_id not in busy.stderr


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_a_missing_extra(shell: Shell, missing: str) -> None:
    """Without the extra the console script says what to install, and ends with 2."""
    program = f"import sys; sys.modules[{missing!r}] = None; from holdfast.cli import main; "
    program += "sys.stdout.isatty = lambda: True; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", program, "ls"],
        env=shell.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"holdfast: the command line needs {missing}: pip install 'holdfast[cli]'\n"
    )


def test_run_is_light(shell: Shell) -> None:
    """`run` loads neither asyncio nor rich nor what draws tables."""
    program = f"{PROGRAM[-1].replace('sys.exit(main())', 'main()')}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program, "run", "job", "--", "true"],
        env=shell.env,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = done.stdout.split()
    assert "holdfast.cli.run" in loaded
    assert {"rich", "holdfast.cli.tables", "holdfast.cli.ls"}.isdisjoint(loaded)
    assert "asyncio" not in loaded
