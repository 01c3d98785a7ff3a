"""Run the Python samples of the README and of docs/ as tests.

The samples of one page share their names and run from top to bottom, so they are `serial`: parallel
workers would tear a page apart (xdist's groups do not hold with pytest 9.2: pytest-xdist#1386). A
sample that needs a server says `<!-- skip: next -->` above itself.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

SETTINGS = ("HOLDFAST_URL", "XDG_STATE_HOME")


def _enter(page: dict[str, Any]) -> None:
    """Give each page a folder of its own, and an embedded default of its own in it."""
    page["_folder"] = folder = tempfile.TemporaryDirectory()
    page["_before"] = (Path.cwd(), {name: os.environ.pop(name, None) for name in SETTINGS})
    os.environ["XDG_STATE_HOME"] = folder.name
    os.chdir(folder.name)


def _leave(page: dict[str, Any]) -> None:
    import sqlite3

    from holdfast import Client
    from holdfast.api import default

    default_client = default._made.pop("client", None)  # noqa: SLF001 - each page has its own
    for thing in (default_client, *page.values()):
        if isinstance(thing, (Client, sqlite3.Connection)):
            thing.close()
    was_in, settings = page["_before"]
    os.chdir(was_in)
    for name, value in settings.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    page["_folder"].cleanup()


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
    setup=_enter,
    teardown=_leave,
).pytest()


@pytest.hookimpl(tryfirst=True)  # pytest's own `-m` looks at the marks in this same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every sample as `serial`."""
    for item in items:
        if item.path.suffix == ".md":
            item.add_marker(pytest.mark.serial)
