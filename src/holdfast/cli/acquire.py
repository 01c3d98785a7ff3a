"""``holdfast acquire``: a lease without a process, for scripts that take now and release later."""

from __future__ import annotations

import getpass

import click

from holdfast.api.handle import acquire_handle, release_handle
from holdfast.cli import codes, options
from holdfast.cli.connect import Where, connect
from holdfast.cli.report import CannotWrite, NobodyReads, put, put_json
from holdfast.cli.signals import Inbox


@click.command("acquire")
@options.name
@options.waiting
@options.ttl
@options.label
@options.as_json
@options.where
def command(
    *, name: str, wait: float | None, ttl: float, label: str | None, as_json: bool, where: Where
) -> int:
    """Take the lock NAME and print a handle for it.

    Nothing renews it: it ends after its ttl, or with `holdfast release HANDLE`. Whoever has the
    handle can renew and release the lease, so treat it like a password.
    """
    with Inbox() as inbox, connect(where, label or _user()) as client:
        with inbox.interrupting():
            handle = acquire_handle(client, name, ttl=ttl, wait=wait)
        try:
            if as_json:
                put_json({"name": name, "token": handle.token, "ttl": ttl, "handle": str(handle)})
            else:
                put(str(handle))
        except (
            NobodyReads,
            CannotWrite,
        ):  # nobody has got the handle, so nobody could give it back
            release_handle(client, handle)
            raise
    return codes.DONE


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may have a user id without a name
        return ""
