"""The one Redis that tests share: one for each process of pytest, started when first asked for.

``HOLDFAST_TEST_REDIS_URL`` names a server to use instead. Whoever shares it keeps to names, or a
prefix, of its own; a test that stops, fills or empties its server takes a `RedisServer` for itself.
"""

import functools
import os
from typing import Any

from tests.servers.asking import Door, Word
from tests.servers.redis import Option, RedisServer, query

GIVEN = "HOLDFAST_TEST_REDIS_URL"


class GivenServer:
    """A server that somebody else runs."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._door = Door.of(url)

    def url(self, **options: Option) -> str:
        """Give its URL, with options added to those that were given."""
        start = "&" if "?" in self._url else "?"
        return self._url + query(options).replace("?", start, 1)

    def ask(self, *words: Word, within: float = 5.0) -> Any:
        """Send one command and give the reply; raise what went wrong."""
        return self._door.ask(*words, within=within)


SharedServer = RedisServer | GivenServer  # tests rely on what both of them have


def shared_server() -> SharedServer:
    """Give the shared server of this process; ``processes.close_all`` ends it."""
    given = os.environ.get(GIVEN)
    return GivenServer(given) if given else _own(os.getpid())


@functools.cache
def _own(_process: int) -> RedisServer:
    return RedisServer().start()
