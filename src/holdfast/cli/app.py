"""The group of commands. A command's module is imported when it is called, not before.

Every error of the library ends here as one line on stderr and an exit code from ``codes``.
"""

from __future__ import annotations

import io
import signal
import sys
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module
from typing import cast

import click

from holdfast import __version__
from holdfast.cli import codes
from holdfast.cli.report import CannotWrite, NobodyReads, say, writing
from holdfast.cli.signals import Interrupted
from holdfast.errors import HoldfastError

MODULES = {
    "run": "run",
    "lead": "lead",
    "once": "once",
    "acquire": "acquire",
    "renew": "renew",
    "release": "release",
    "ls": "ls",
    "show": "show",
    "break": "break_lock",
    "watch": "watch",
    "migrate": "migrate",
    "verify": "verify",
}


_HELP = frozenset({"-h", "--help", "--version"})


class _Lazy(click.Group):
    """A group that knows the names of its commands, and fetches one only when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's own form
        return list(MODULES)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's own form
        cmd_name: str,
    ) -> click.Command | None:
        module = MODULES.get(cmd_name)
        if module is None:
            return None
        return cast("click.Command", import_module(f"holdfast.cli.{module}").command)

    def format_epilog(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's own form
        formatter: click.HelpFormatter,
    ) -> None:
        with formatter.section("Exit codes"):
            formatter.write_dl(list(codes.MEANINGS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="holdfast", message="%(prog)s %(version)s")
def app() -> None:
    """Make N copies of a program behave like one.

    holdfast run NAME -- CMD runs CMD while nobody else, here or elsewhere, runs under NAME.
    """


def serve(args: Sequence[str]) -> int:
    """Run one command line; give its exit code."""
    if not sys.warnoptions:  # they are for programmers, and an interrupted call may leave some
        warnings.simplefilter("ignore")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name may be in any script
    try:
        # Click writes the help itself; errors of a command's own must not be taken for its.
        with writing() if _HELP.intersection(args) else nullcontext():
            ended = app.main(list(args), prog_name="holdfast", standalone_mode=False)
        code: int = ended or codes.DONE
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        code = codes.USAGE
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "holdfast"
        say(f"{error.format_message().rstrip('.')} (try '{command} --help')")
        code = codes.USAGE
    except HoldfastError as error:
        say(error.message)
        code = codes.of(error)
    except Interrupted as error:
        code = codes.SIGNALLED + error.signum
    except (click.Abort, KeyboardInterrupt):
        code = codes.SIGNALLED + signal.SIGINT
    except NobodyReads:
        code = codes.SIGNALLED + signal.SIGPIPE
    except CannotWrite as error:
        say(str(error))
        code = codes.NOT_WRITTEN
    return code
