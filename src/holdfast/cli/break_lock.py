"""``holdfast break``: take a lock away from its holder, if it is still the one that was seen."""

from __future__ import annotations

import click

from holdfast.cli import codes, options
from holdfast.cli.connect import Where, connect
from holdfast.cli.report import put, put_json
from holdfast.durations import readable
from holdfast.values import NameSpace, printable


@click.command("break")
@options.name
@click.option(
    "--if-token",
    "token",
    type=int,
    required=True,
    help="The token that `holdfast show` names; another one is refused (1).",
)
@click.option(
    "--reason", type=options.text, metavar="TEXT", required=True, help="Why; its holder is told."
)
@click.option("--force", is_flag=True, help="Pass it on at once, although it may still be in use.")
@options.space
@options.as_json
@options.where
def command(
    *,
    name: str,
    token: int,
    reason: str,
    force: bool,
    space: NameSpace,
    as_json: bool,
    where: Where,
) -> int:
    """Take the lock NAME away from its holder.

    The holder is told and cannot renew; the lock passes on when it lets go, or when its lease ends.
    """
    with connect(where, quiet=True) as client:
        broken = client.break_lock(name, token=token, reason=reason, force=force, space=space)
    if as_json:
        put_json({"name": name, "forced": force, **broken.as_json()})
        return codes.DONE
    then = (
        "it has passed on"
        if force
        else f"it passes on when its holder lets go, in {readable(broken.expires_in)} at the latest"
    )
    put(f"broke {printable(name)} (token {token}), held by {broken.holder}: {then}")
    return codes.DONE
