"""``holdfast renew``: a longer life for a lease that ``holdfast acquire`` took."""

from __future__ import annotations

import click

from holdfast.api.handle import renew_handle
from holdfast.cli import codes, options
from holdfast.cli.connect import Where, connect
from holdfast.cli.report import put_json


@click.command("renew")
@options.handle
@click.option(
    "--ttl",
    type=options.positive_span,
    metavar="DURATION",
    help="How long from now.  [default: as it was taken]",
)
@options.as_json
@options.where
def command(*, text: str, ttl: float | None, as_json: bool, where: Where) -> int:
    """Let the lease of HANDLE live for its ttl from now.

    HANDLE is what `holdfast acquire` printed; - reads it from stdin, out of sight of ps.
    """
    handle = options.handle_of(text)
    with connect(where) as client:
        remaining = renew_handle(client, handle, ttl)
    if as_json:
        put_json({"name": handle.name, "token": handle.token, "expires_in": round(remaining, 3)})
    return codes.DONE
