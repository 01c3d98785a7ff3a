"""Tables made ahead of time, for databases in which the program itself may not make any."""

from __future__ import annotations

from holdfast.backends import registry
from holdfast.settings import address


def migrate(url: object = None) -> str:
    """Make what the backend at ``url`` needs, if it needs anything; say what was done."""
    return registry.migrate(address(url))


def migration_script(url: object = None) -> str:
    """Give the statements that ``migrate`` carries out on an empty database."""
    return registry.migration_script(address(url))
