"""Bugs in who turns the crank: forks, the keeper's thread, tasks that are cancelled."""

from tests.mutants.catchers import RUNTIMES, conforming
from tests.mutants.mutant import Mutant

FORKS = conforming("conformance, forks", "sqlite-", "TestForking")

MUTANTS = (
    Mutant(
        "owner_id_shared_over_fork",
        "parent and child are the same client to the backend",
        "runtimes/engine.py",
        "client = os.urandom(8).hex()",
        'client = self.holder.client if hasattr(self, "holder") else os.urandom(8).hex()',
        FORKS,
    ),
    Mutant(
        "nothing_starts_anew_after_a_fork",
        "the child uses its parent's leases, connections and inbox",
        "runtimes/engine.py",
        "        engine.start_anew()\n",
        "        pass\n",
        FORKS,
    ),
    Mutant(
        "clean_up_is_not_shielded",
        "a second cancellation cuts the clean-up of the first one short",
        "runtimes/aio.py",
        "await asyncio.shield(task)",
        "await task",
        RUNTIMES,
    ),
    Mutant(
        "the_keeper_stumbles_once",
        "one fault that nobody has foreseen, and nobody renews anything any more",
        "runtimes/keeper.py",
        '                complain("the keeper of %s stumbled and goes on", self._holder)\n',
        "                return\n",
        RUNTIMES,
    ),
)
