"""Where in the user's code a call comes from, for the error that names the first place."""

from __future__ import annotations

import sys

_OURS = __file__[: -len("api/place.py")]


def caller() -> tuple[str, int]:
    """Give file and line of the nearest frame outside of holdfast."""
    # The documented way to look at one's caller. The nearest two frames are ours for everybody who
    # asks, and a frame that nobody has looked at before costs as much as all the rest of this.
    try:
        frame = sys._getframe(3)  # noqa: SLF001 - see above
    except ValueError:  # called straight from a loop that is not written in Python
        frame = sys._getframe(2)  # noqa: SLF001
    while frame.f_code.co_filename.startswith(_OURS) and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
