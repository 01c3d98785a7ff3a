"""A grant that came too late to be used: what is said of it is true."""

import pytest

from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import Withdraw
from tests.flows.fakes import Late, Lost, World, an_order, granted


def test_a_grant_that_is_not_withdrawn_yet_is_not_said_to_have_changed_nothing() -> None:
    """The withdrawal is not confirmed, so the name may still be taken: the outcome is unknown."""
    world = World(Late(4.0, granted(remaining=3.0)), Lost())
    with pytest.raises(BackendUnavailable, match="longer than the lease lives") as caught:
        world.acquire(an_order(wait=0, ttl=3.0))
    assert caught.value.outcome == "unknown"
    assert world.chores == [Withdraw("n", "c1")]
