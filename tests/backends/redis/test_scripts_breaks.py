"""A grant that is marked broken lives on until its holder has heard of it, and not longer."""

from holdfast.rules.messages import Break, Ended, Granted, Item, Renew, Renewed
from tests.backends.redis.differential_claims import NAME, claim_id_of, claim_of
from tests.backends.redis.differential_server import ServerSide
from tests.servers.shared import SharedServer


def test_a_broken_grant_is_not_renewed(redis_server: SharedServer) -> None:
    """The renewal says that it is over and why, and its end does not move."""
    with ServerSide(redis_server) as side:
        granted = side.ask(claim_of(side, 1, ttl=10.0))
        assert isinstance(granted, Granted)
        side.ask(Break(NAME, granted.token, "a test", force=False))
        side.now += 5.0
        renewed = side.ask(Renew(NAME, (Item(claim_id_of(1), granted.token, 10.0),)))
        assert isinstance(renewed, Renewed)
        (answer,) = renewed.answers
        assert isinstance(answer, Ended)
        assert answer.reason == "a test"
        side.now += 5.1
        assert isinstance(side.ask(claim_of(side, 2)), Granted)
