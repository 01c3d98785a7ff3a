"""Records that the last version wrote: they are read, whatever is asked, and written anew."""

from __future__ import annotations

import pytest

from holdfast.rules.messages import (
    Advance,
    ClaimRequest,
    Ended,
    Granted,
    Item,
    Release,
    Renew,
    Waiting,
    Withdraw,
)
from tests.backends.redis.differential_claims import NAME, claim_id_of, claim_of
from tests.backends.redis.differential_stage import Stage
from tests.servers.shared import SharedServer

_AGE = """
local stored = redis.call('GET', KEYS[1])
local head = {struct.unpack('<BBddddddd', stored)}
local rest = string.sub(stored, head[10])
redis.call('SET', KEYS[1], struct.pack('<BBdddddd', 1, unpack(head, 2, 8)) .. rest, 'KEEPTTL')
"""


def _age(stage: Stage) -> None:
    """Write the record as the last version would have: it did not tell strays apart."""
    stage.line.ask("EVAL", _AGE, 1, _record(stage))
    assert _format(stage) == 1


def _record(stage: Stage) -> bytes:
    return stage.post.keys.of(NAME).all[0]


def _format(stage: Stage) -> int:
    stored: bytes = stage.line.ask("GETRANGE", _record(stage), 0, 0)
    return stored[0]


@pytest.mark.parametrize("what", ["claim", "again", "renew", "advance", "release", "withdraw"])
def test_a_held_name_of_the_last_version(redis_server: SharedServer, what: str) -> None:
    """Replies and records are those of the rule, and the record is of this version then."""
    with Stage(redis_server) as stage:
        holder, other = claim_of(stage, 0), claim_of(stage, 1, patience=3.0)
        stage.ask(holder)
        _age(stage)
        asked: dict[str, tuple[ClaimRequest, type]] = {
            "claim": (other, Waiting),
            "again": (holder, Granted),
            "renew": (Renew(NAME, (Item(holder.claim_id, 0, 20.0),)), object),
            "advance": (Advance(NAME, holder.claim_id), Granted),
            "release": (Release(NAME, holder.claim_id), Ended),
            "withdraw": (Withdraw(NAME, holder.claim_id), Ended),
        }
        request, expected = asked[what]
        assert isinstance(stage.ask(request), expected)
        if what != "advance":  # which changes nothing
            assert _format(stage) == 2


def test_a_hand_over_from_the_last_version(redis_server: SharedServer) -> None:
    """Who waits since then is let in by a release now."""
    with Stage(redis_server) as stage:
        first, second = claim_of(stage, 0), claim_of(stage, 1, patience=3.0)
        stage.ask(first)
        stage.ask(second)
        _age(stage)
        stage.ask(Release(NAME, first.claim_id))
        assert isinstance(stage.ask(second), Granted)


def test_a_stray_of_the_last_version_stays_dead(redis_server: SharedServer) -> None:
    """A claim that was withdrawn before it came is refused, though it has seen the last token."""
    with Stage(redis_server) as stage:
        first = claim_of(stage, 0)
        granted = stage.ask(first)
        assert isinstance(granted, Granted)
        stage.ask(Release(NAME, first.claim_id))
        stage.ask(Withdraw(NAME, claim_id_of(1)))
        _age(stage)
        late = claim_of(stage, 1)._replace(seen_token=granted.token)
        assert isinstance(stage.ask(late), Ended)
        # Nor does it come to life once this version has written the record anew.
        third = claim_of(stage, 2)
        newer = stage.ask(third)
        assert isinstance(newer, Granted)
        stage.ask(Release(NAME, third.claim_id))
        assert _format(stage) == 2
        assert isinstance(stage.ask(late._replace(seen_token=newer.token)), Ended)


def test_an_idle_name_of_the_last_version_is_free(redis_server: SharedServer) -> None:
    """It is granted with a larger token than before."""
    with Stage(redis_server) as stage:
        first = claim_of(stage, 0)
        before = stage.ask(first)
        stage.ask(Release(NAME, first.claim_id))
        _age(stage)
        after = stage.ask(claim_of(stage, 1))
        assert isinstance(before, Granted)
        assert isinstance(after, Granted)
        assert after.token > before.token
        assert _format(stage) == 2
