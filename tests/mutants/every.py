"""All mutants, room by room."""

from tests.mutants import (
    in_backends,
    in_claims,
    in_families,
    in_flows,
    in_postgres,
    in_quorum,
    in_runtimes,
    in_stories,
)
from tests.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *in_claims.MUTANTS,
    *in_families.MUTANTS,
    *in_flows.MUTANTS,
    *in_stories.MUTANTS,
    *in_runtimes.MUTANTS,
    *in_backends.MUTANTS,
    *in_postgres.MUTANTS,
    *in_quorum.MUTANTS,
)
