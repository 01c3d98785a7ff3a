"""Bugs in the quorum: how votes are counted, who may vote, what is left of a try that failed."""

from tests.mutants.catchers import QUORUM, SIMULATOR, VOTER
from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "half_is_a_majority",
        "two claims that have half of the votes each both hold",
        "rules/ballot.py",
        "return len(self.names) // 2 + 1",
        "return len(self.names) // 2",
        QUORUM,
    ),
    Mutant(
        "validity_of_the_longest_vote",
        "a holder believes until the last of its votes ends, not until its majority does",
        "rules/ballot.py",
        "return lives[terms.need - 1] - ",
        "return lives[0] - ",
        QUORUM,
    ),
    Mutant(
        "no_bring_up",
        "a token is told before a majority stands at it",
        "rules/quorum.py",
        "        if below:\n",
        "        if below and not below:\n",
        QUORUM,
    ),
    Mutant(
        "failed_try_is_kept",
        "the votes of a try that failed block the others for a whole ttl",
        "rules/quorum.py",
        "yield Tell({node: undo for node in range(terms.nodes) if node not in busy})",
        "yield Tell({})",
        QUORUM,
    ),
    Mutant(
        "unheard_vote_is_kept",
        "a vote that was given and not heard of is not taken back",
        "rules/quorum.py",
        "yield Tell({node: undo for node in range(terms.nodes) if node not in busy})",
        "yield Tell({node: undo for node in _yes(votes)})",
        QUORUM,
    ),
    Mutant(
        "no_quarantine_for_voters",
        "a voter that has just restarted votes at once",
        "rules/standing.py",
        "> 0 < quarantine:",
        "> 0 > quarantine:",
        SIMULATOR,
    ),
    Mutant(
        "one_other_is_enough",
        "a voter is let in with the tokens of a single other",
        "rules/standing.py",
        "elif founded or len(settled) >= terms.need:",
        "elif founded or settled:",
        QUORUM,
    ),
    Mutant(
        "lua_unsettled_votes",
        "a server that may have forgotten its votes gives them all the same",
        "backends/redlock/scripts/claim.lua",
        "if not settled then",
        "if settled == nil then",
        VOTER,
    ),
    Mutant(
        "lua_late_claim_lives",
        "a claim that arrives behind its own withdrawal comes to life",
        "backends/redlock/scripts/end.lua",
        "    bury(id, 'w')\nend",
        "end",
        VOTER,
    ),
    Mutant(
        "lua_floor_ignored",
        "a server that was let in counts on from what it knew itself",
        "backends/redlock/scripts/claim.lua",
        "local token = math.max(slip[LAST] < 0 and highest or slip[LAST], floor, seen) + 1",
        "local token = math.max(slip[LAST], seen, 0) + 1",
        VOTER,
    ),
)
