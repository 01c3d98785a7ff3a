"""A server that hangs up in the middle of the greeting: told once, to whoever asked."""

import asyncio
import gc
from contextlib import suppress

import pytest

from holdfast import AsyncClient, BackendUnavailable

HELLO = b"%1\r\n$5\r\nproto\r\n:3\r\n"


@pytest.mark.anyio
@pytest.mark.parametrize("urls", ["redis://{0}", "redlock://{0},{1},{2}"])
async def test_nothing_is_left_unheard(urls: str) -> None:
    """No future keeps an exception to itself until the collector complains of it on the loop."""
    serving: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.current_task())  # type: ignore[arg-type]  # this is one
        with suppress(ConnectionError):  # the client may have hung up first
            await reader.read(1000)
            writer.write(HELLO)
            await reader.read(1)  # the first of several questions is there: now the line goes dead
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    servers = [await asyncio.start_server(serve, "127.0.0.1", 0) for _ in range(3)]
    hosts = ["{}:{}".format(*server.sockets[0].getsockname()) for server in servers]
    complaints: list[dict[str, object]] = []
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, complaint: complaints.append(complaint))
    try:
        client = AsyncClient(urls.format(*hosts), call_limit=0.2)
        with pytest.raises(BackendUnavailable):
            await client.lock("x").acquire()
        await client.close()
        gc.collect()
        await asyncio.sleep(0)
    finally:
        loop.set_exception_handler(before)
        for server in servers:
            server.close()
        for handler in serving:  # else one is collected in the middle of another test
            await handler
    assert complaints == []
