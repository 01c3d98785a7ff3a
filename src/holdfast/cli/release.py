"""``holdfast release``: the end of a lease that ``holdfast acquire`` took."""

from __future__ import annotations

import click

from holdfast.api.handle import release_handle
from holdfast.cli import codes, options
from holdfast.cli.connect import Where, connect
from holdfast.cli.report import put_json


@click.command("release")
@options.handle
@options.as_json
@options.where
def command(*, text: str, as_json: bool, where: Where) -> int:
    """Give back the lease of HANDLE; repeating it is harmless.

    HANDLE is what `holdfast acquire` printed; - reads it from stdin, out of sight of ps.
    """
    handle = options.handle_of(text)
    with connect(where) as client:
        release_handle(client, handle)
    if as_json:
        put_json({"name": handle.name, "token": handle.token, "released": True})
    return codes.DONE
