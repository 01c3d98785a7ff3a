"""What is asked of several names at once, and what is answered: values, as in ``messages``."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.rules.messages import Busy, Claim, Ended, Granted, Refused, Waiting


class ClaimAll(NamedTuple):
    """Hold all of these names, or none: claims on different names, none of which waits."""

    claims: tuple[Claim, ...]

    @property
    def name(self) -> str:
        """The first of the names: where this is to be asked."""
        return self.claims[0].name


class Together(NamedTuple):
    """Where each of the claims stands, in their order: all are granted, or none was by this.

    A name that could have been had is shown as busy with nobody.
    """

    standings: tuple[Granted | Waiting | Busy | Ended | Refused, ...]


class Apart(NamedTuple):
    """The names cannot be claimed in one step here: ask for them one by one."""
