"""Locks that were broken by force: from then on two may believe, and the token alone protects."""

from __future__ import annotations

from holdfast.testing.history.claims import Claim, Event


class ForcedBreaks:
    """Since when which grants are no longer promised to be the only ones."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, int], int] = {}

    def take(self, event: Event) -> None:
        """Note a break; it is on record before it is done."""
        if event.fields["force"]:
            grant = (event.fields["name"], event.fields["token"])
            self._since.setdefault(grant, event.at)

    def certain_until(self, claim: Claim) -> int:
        """Give until when the claim's belief must be true."""
        return min(claim.believed_at, self._since.get((claim.name, claim.token), claim.believed_at))
