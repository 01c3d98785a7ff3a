"""The short way of a claim: one conditional UPDATE, written from what the client saw last."""

from pathlib import Path

import holdfast


def test_what_another_has_written_since_is_not_written_over(tmp_path: Path) -> None:
    """Whoever had a name to itself so far still sees who has come since."""
    url = f"sqlite:///{tmp_path / 'locks.db'}"
    with holdfast.Client(url) as alice, holdfast.Client(url) as bob:
        for _ in range(3):  # by now Alice writes without reading first
            alice.lock("x").acquire().release()
        lease = bob.lock("x").acquire()
        assert alice.lock("x").try_acquire() is None
        lease.release()
        with alice.lock("x", wait="5s") as next_lease:
            assert next_lease.token > lease.token
