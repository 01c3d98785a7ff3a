"""Tables made ahead of time, for databases in which the program itself may not make any."""

from __future__ import annotations

from holdfast.backends import registry
from holdfast.settings import address


def migrate(url: object = None) -> str:
    """Make what the backend at ``url`` needs, if it needs anything; say what was done."""
    return registry.migrate(address(url))


def migration_script(url: object = None, since: int = 0) -> str:
    """Give what ``migrate`` carries out where the tables are of version ``since``; 0 is none."""
    return registry.migration_script(address(url), since)
