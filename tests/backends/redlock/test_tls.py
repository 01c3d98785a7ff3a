"""A quorum of servers that are spoken to in secret. Only where a server can: Debian's does."""

from pathlib import Path

import pytest

from holdfast import AsyncClient, BackendUnavailable, Client
from holdfast.testing.suite.backend import MODES, Mode
from tests.backends.redis.stage import world_at
from tests.servers.tls import Encrypted, encrypted

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]


def _url(found: Encrypted, options: str = "") -> str:
    hosts = ",".join(f"127.0.0.1:{port}" for port in found.ports)
    return f"redlock+tls://{hosts}/0?quarantine=0&node_limit=2s{options}"


async def _try(url: str, mode: Mode) -> None:
    """Ask for a lock without a world around it, which would look for what is left."""
    if mode == "sync":
        with Client(url, call_limit=1.5) as client:
            client.lock("x", wait=0).acquire()
    else:
        async with AsyncClient(url, call_limit=1.5) as ours:
            await ours.lock("x", wait=0).acquire()


async def test_votes_in_secret(mode: Mode, tmp_path: Path) -> None:
    """Taken, refused to others, listed, passed on; also when a server is gone."""
    with encrypted(3, tmp_path) as found:
        async with world_at(_url(found, f"&ssl_ca_certs={found.certificate}"), mode) as world:
            alice, bob = world.party(), world.party()
            lease = await alice.acquire("x")
            assert await bob.try_acquire("x") is None
            assert [one.name for one in await bob.locks()] == ["x"]
            waiting = bob.begin_acquire("x", wait=10)
            found.servers[0].kill()
            await alice.release(lease)
            passed_on = await waiting
            assert passed_on.token > lease.token
            await bob.release(passed_on)


async def test_a_certificate_that_nobody_vouches_for(mode: Mode, tmp_path: Path) -> None:
    """Nothing is asked of such servers, and it is said why; who does not mind says so."""
    with encrypted(3, tmp_path) as found:
        with pytest.raises(BackendUnavailable, match="certificate"):
            await _try(_url(found), mode)
        async with world_at(_url(found, "&ssl_cert_reqs=none"), mode) as world:
            alice = world.party()
            await alice.release(await alice.acquire("x"))
