"""Run the Python samples of the README and of docs/ as tests.

The samples of one page share their names and run from top to bottom, so they are `serial`: parallel
workers would tear a page apart (xdist's groups do not hold with pytest 9.2: pytest-xdist#1386). A
sample that needs a server says `<!-- skip: next -->` above itself.
"""

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["README.md", "docs/**/*.md"],
).pytest()


@pytest.hookimpl(tryfirst=True)  # pytest's own `-m` looks at the marks in this same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every sample as `serial`."""
    for item in items:
        if item.path.suffix == ".md":
            item.add_marker(pytest.mark.serial)
