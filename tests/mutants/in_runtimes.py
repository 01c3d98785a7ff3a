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
        "a_callback_ends_the_keeper",
        "an observer that calls sys.exit(), and nobody renews anything any more",
        "runtimes/keeper.py",
        "            except BaseException:",
        "            except Exception:",
        RUNTIMES,
    ),
    Mutant(
        "begun_in_a_closed_client",
        "a body begins although its client was closed while the claim was under way",
        "flows/acquire.py",
        "if ticket.good() and not book.closing:",
        "if True:",
        RUNTIMES,
    ),
    Mutant(
        "several_names_hear_of_no_break",
        "lock_all goes on with a name that was broken before its reply came",
        "flows/many.py",
        "return book.closing or not all(ticket.good() for ticket in tickets)",
        "return book.closing",
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
