"""Become a server that ends with the process that started it, however that one ends.

Run as a script, not imported: ``tether.py <pid of the starter> <user or nothing> <file> <name>
<argument>…``. Linux kills the server when the *thread* that started it ends, so `processes.py`
starts all of them from one thread that lasts. Elsewhere only an orderly end of the starter takes
its servers along.
"""

import ctypes
import os
import signal
import sys


def main() -> None:
    """Ask for the signal, see that it is not too late for it, and become the server."""
    starter, user, file, *command = sys.argv[1:]
    if user:  # before asking: to become somebody else takes the signal back
        os.setgroups([])
        os.setgid(int(user))
        os.setuid(int(user))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != int(starter):
        sys.exit("the process that wanted this server is gone")
    os.execv(file, command)  # noqa: S606 - there is nothing for a shell to do


if __name__ == "__main__":
    main()
