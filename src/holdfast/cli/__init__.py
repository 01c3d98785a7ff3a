"""The command line, one command a file, standing on the public names of holdfast.

Only the door is here: it must open without click, to say in words what is missing. The group of
commands is ``app``; what each exit code means is in ``codes``.
"""

from __future__ import annotations

import gc
import sys

from holdfast.cli.streams import fill_closed

EXTRA = {"click", "rich"}


def main() -> int:
    """Run ``holdfast`` with the process's own arguments; give the exit code."""
    fill_closed()
    try:
        from holdfast.cli.app import serve

        return serve(sys.argv[1:])
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in EXTRA:
            raise
        sys.stderr.write(
            f"holdfast: the command line needs {missing}: pip install 'holdfast[cli]'\n"
        )
        return 2
    except KeyboardInterrupt:  # before a command has decided what to do with signals
        return 130
    finally:
        gc.freeze()  # the process ends here: 20 ms less for a last search through everything
