"""A reply that comes after its caller has given up belongs to nobody."""

import time

import pytest

from holdfast import BackendUnavailable, Client
from tests.servers.redis import RedisServer


def test_a_late_reply_is_not_the_answer_to_the_next_question() -> None:
    """The connection on which it comes is thrown away, also when the caller asks again at once."""
    with (
        RedisServer() as server,
        Client(server.url(quarantine=0), call_limit=1.2) as client,
        client.lock("known").acquire(wait=0),
    ):
        server.ask("CLIENT", "PAUSE", 2500, "ALL")
        with pytest.raises(BackendUnavailable):
            client.lock("given up").acquire(wait=0)
        until = time.monotonic() + 10
        while True:  # as long as the server pauses, nothing is answered
            try:
                lease = client.lock("next").acquire(wait=0)
            except BackendUnavailable:
                assert time.monotonic() < until
            else:
                break
        with Client(server.url(quarantine=0)) as other:
            (found,) = other.show("next").holders
        assert (lease.name, lease.token) == ("next", found.token)
        lease.release()
