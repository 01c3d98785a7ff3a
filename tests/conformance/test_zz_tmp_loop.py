import pytest
from holdfast.testing.suite import TestInterruption as Base
from holdfast.testing.suite import worlds
from tests.conformance.backends import SQLITE
world = worlds(SQLITE)
class TestLoop:
    pytestmark = pytest.mark.anyio
    @pytest.mark.parametrize("n", range(150))
    async def test_it(self, world, n):
        if world.mode == "sync": pytest.skip("x")
        await Base().test_an_interrupted_party_goes_on(world)
