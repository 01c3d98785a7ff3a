"""Bugs in the rules for records and buckets, and in the flows that stand on them."""

from tests.mutants.catchers import BUCKETS, RECORDS
from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "updates_are_lost",
        "a swap from a version that was replaced meanwhile overwrites what replaced it",
        "rules/record.py",
        "if request.if_version != entry.version:",
        "if request.if_version > entry.version:",
        RECORDS,
    ),
    Mutant(
        "versions_are_used_twice",
        "after the clock was set back another value has the version of an earlier one",
        "rules/record.py",
        "version = max(kept.version + 1, now)",
        "version = now",
        RECORDS,
    ),
    Mutant(
        "swaps_are_done_twice",
        "a swap whose reply was lost is told that somebody else was quicker",
        "rules/record.py",
        "done = recent.outcome(known.swaps, request.swap_id)",
        "done = None",
        RECORDS,
    ),
    Mutant(
        "records_know_no_fence",
        "a holder of long ago writes over what its successor wrote",
        "rules/record.py",
        "if 0 < request.fence < known.fence:",
        "if 0 < request.fence < 0:",
        RECORDS,
    ),
    Mutant(
        "forgotten_is_called_certain",
        "a swap that may have been done is told that it was not",
        "rules/record.py",
        "return bool(kept.swaps) and swap.if_version >= kept.dropped",
        "return True",
        RECORDS,
    ),
    Mutant(
        "permits_come_back_with_the_clock",
        "a clock that is set back adds to what is owed",
        "rules/bucket.py",
        "elapsed = max(0, now - bucket.at)",
        "elapsed = now - bucket.at",
        BUCKETS,
    ),
    Mutant(
        "takes_are_counted_twice",
        "permits whose reply was lost are taken again",
        "rules/bucket.py",
        "before = recent.outcome(bucket.takes, take.take_id)",
        "before = None",
        BUCKETS,
    ),
    Mutant(
        "one_too_many",
        "a permit that is almost there is given out already",
        "rules/bucket.py",
        "ready_in = _ceil(max(0, after - room), terms.amount)",
        "ready_in = max(0, after - room) // terms.amount",
        BUCKETS,
    ),
)
