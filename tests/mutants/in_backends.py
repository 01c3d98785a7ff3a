"""Bugs in the backends: the rule in another language, the file, and what replies mean."""

from tests.mutants.catchers import (
    BIRTH,
    BREAKS,
    BUNDLES,
    DISK,
    EMPTIED,
    LATE_REPLIES,
    LOST_REPLIES,
    LUA,
    LUA_FAMILIES,
    ONE_STEP,
    YOUNG_NODES,
    conforming,
)
from tests.mutants.mutant import Mutant

HAND_OVER = conforming("conformance, hand-over", "sqlite-", "hand_over_is_quick")

MUTANTS = (
    Mutant(
        "promoted_counts_as_old",
        "a replica that copied an empty memory and took over grants at once",
        "backends/redis/scripts/birth.lua",
        "local age = not was_replica and",
        "local age =",
        BIRTH,
    ),
    Mutant(
        "lua_claim_counts_tokens_alone",
        "on Redis tokens begin anew when a record is forgotten",
        "backends/redis/scripts/claim.lua",
        "local token = math.max(last_token + 1, now, seen + 1)",
        "local token = last_token + 1",
        LUA,
    ),
    Mutant(
        "lua_claim_ignores_tombstones",
        "on Redis a claim that was withdrawn before it arrived comes to life",
        "backends/redis/scripts/claim.lua",
        "and not (buried_until > now and string",
        "and not (false and string",
        LUA,
    ),
    Mutant(
        "lua_claim_passes_waiters",
        "on Redis a newcomer is let in although somebody waits",
        "backends/redis/scripts/claim.lua",
        "plain = holders == 0 and waiting == 0\n",
        "plain = holders == 0\n",
        LUA,
    ),
    Mutant(
        "lua_release_without_owner_check",
        "on Redis whoever releases ends what is granted",
        "backends/redis/scripts/end.lua",
        "short = held_by == id and ends > now",
        "short = held_by and ends > now",
        LUA,
    ),
    Mutant(
        "lua_token_kept_at_hand_over",
        "on Redis the next in line gets the token of the one before",
        "backends/redis/scripts/end.lua",
        "math.max(last_token + 1, now, claim[5] + 1)",
        "last_token",
        LUA,
    ),
    Mutant(
        "lua_heir_gets_it_in_full",
        "on Redis a grant that may never be heard of blocks the others for its whole ttl",
        "backends/redis/scripts/end.lua",
        "local life = math.min(3000000, claim[4])",
        "local life = claim[4]",
        LUA,
    ),
    Mutant(
        "lua_renewal_shortens",
        "on Redis a renewal by less than is left takes from the lease",
        "backends/redis/scripts/renew.lua",
        "if good and now + ttl > grant[ENDS] then",
        "if good then",
        LUA,
    ),
    Mutant(
        "lua_broken_grants_are_renewed",
        "on Redis a holder whose lock was broken keeps it as long as it likes",
        "backends/redis/scripts/renew.lua",
        "local good = grant[BROKEN] == '' and",
        "local good =",
        BREAKS,
    ),
    Mutant(
        "lua_dead_waiters_stay",
        "on Redis a waiter whose client is silent keeps its place for ever",
        "backends/redis/scripts/moves.lua",
        "call('ZRANGEBYSCORE', name.patience, '-inf', now)",
        "call('ZRANGEBYSCORE', name.patience, '-inf', 0)",
        LUA,
    ),
    Mutant(
        "lua_deaf_waiters_are_not_passed_over",
        "on Redis a name is handed to somebody who cannot hear of it",
        "backends/redis/scripts/moves.lua",
        "name.open[inbox] = heard.err ~= nil or heard[2] > 0",
        "name.open[inbox] = true",
        LUA,
    ),
    Mutant(
        "lua_updates_are_lost",
        "on Redis a swap overwrites what replaced the version it saw",
        "backends/redis/scripts/record_swap.lua",
        "if if_version ~= version then",
        "if if_version > version then",
        LUA_FAMILIES,
    ),
    Mutant(
        "lua_takes_are_counted_twice",
        "on Redis permits whose reply was lost are taken again",
        "backends/redis/scripts/bucket_take.lua",
        "if before then -- asked again",
        "if false then -- asked again",
        LUA_FAMILIES,
    ),
    Mutant(
        "no_quarantine",
        "a Redis that has lost its memory grants at once what others still hold",
        "backends/redis/scripts/birth.lua",
        "held_back = math.max(0, held_back - (age - 1) * 1000000)",
        "held_back = 0",
        BIRTH,
    ),
    Mutant(
        "a_node_that_cannot_answer_is_trusted",
        "a cluster's node that cannot say yet how old it is grants what others still hold",
        "backends/redis/births.py",
        "left.add(self._redirected(where, str(raw)))",
        "return 0.0",
        YOUNG_NODES,
    ),
    Mutant(
        "a_redirected_letter_is_not_written_anew",
        "whoever is sent on to a young node of a cluster is let in there",
        "backends/redis/office.py",
        "self.post.held_back(letter, left).data if left > 0 else letter.data",
        "letter.data",
        YOUNG_NODES,
    ),
    Mutant(
        "another_birth_mark_means_nothing",
        "holders are not told that their Redis has lost its memory",
        "backends/redis/office.py",
        "        if before:\n            self._forgotten()\n",
        "",
        EMPTIED,
    ),
    Mutant(
        "a_broken_connection_means_not_done",
        "a claim whose reply was cut off counts as never made",
        "backends/redis/faults.py",
        """({reason})",
        backend=BACKEND,
        outcome="unknown",
    )


def foreign""",
        """({reason})",
        backend=BACKEND,
        transient=False,
    )


def foreign""",
        LOST_REPLIES,
    ),
    Mutant(
        "a_failed_connection_is_used_again",
        "the late reply to one question is read as the answer to the next",
        "backends/redis/sync.py",
        """            except BaseException:
                link.close()
                raise
            self.stack.give_back(link)
            reply = read_quick(""",
        """            except BaseException:
                self.stack.give_back(link)
                raise
            self.stack.give_back(link)
            reply = read_quick(""",
        LATE_REPLIES,
    ),
    Mutant(
        "refused_together_is_refused_for_good",
        "on Redis one name with a foreign key fails whatever was asked in the same turn",
        "backends/redis/line.py",
        "repeat(ALONE), strict=parted):",
        "repeat(reply), strict=parted):",
        BUNDLES,
    ),
    Mutant(
        "refused_together_was_surely_not_done",
        "on Redis a claim that was granted before its neighbour failed is taken for none",
        "backends/redis/aio.py",
        'error.outcome = "unknown"',
        'error.outcome = "none"',
        BUNDLES,
    ),
    Mutant(
        "lua_neighbours_are_misread",
        "on Redis the second of two claims in one call is read from the words of the first",
        "backends/redis/scripts/claim.lua",
        "first, word = first + 5, word + 2\n    end",
        "first, word = first + 5, word + 1\n    end",
        LUA,
    ),
    Mutant(
        "sqlite_writes_over_others",
        "a record that another process has changed since is written over",
        "backends/sqlite/schema.py",
        "WHERE prefix = ? AND name = ? AND version = ?",
        "WHERE prefix = ? AND name = ? AND version >= min(0, ?)",
        ONE_STEP,
    ),
    Mutant(
        "sqlite_leases_survive_a_reboot",
        "times of another boot are believed, so dead holders hold for long",
        "backends/sqlite/schema.py",
        'if known.get("boot") != boot_id:\n            # Times',
        'if not known.get("boot"):\n            # Times',
        DISK,
    ),
    Mutant(
        "sqlite_does_not_look_at_its_file",
        "after the file was replaced, two clients hold in two files",
        "backends/sqlite/store.py",
        "same = self._identity == _identity(self._path)",
        "same = True",
        DISK,
    ),
    Mutant(
        "sqlite_tells_nobody",
        "the next in line hears of its grant only when it asks again",
        "backends/sqlite/store.py",
        "            inbox.send(self._inboxes, notice)\n",
        "            pass\n",
        HAND_OVER,
    ),
)
