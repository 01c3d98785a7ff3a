"""``holdfast ls``: which names are in use, who holds them, how many wait."""

from __future__ import annotations

import click

from holdfast.cli import codes, options
from holdfast.cli.connect import Where, connect
from holdfast.cli.report import put_json
from holdfast.cli.tables import put_locks


@click.command("ls")
@options.prefix
@options.as_json
@options.where
def command(*, prefix: str, as_json: bool, where: Where) -> int:
    """List the locks in use whose name starts with PREFIX."""
    with connect(where) as client:
        locks = client.locks(prefix)
    if as_json:
        put_json([info.as_json() for info in locks])
    else:
        put_locks(locks)
    return codes.DONE
