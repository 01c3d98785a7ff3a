"""A simple model of a record, and the promises that every step of the rule must keep towards it.

The model knows everything that ever happened and forgets nothing; the rule may forget, but must
then say so (``certain``), and only as late as it promises to.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.rules.record import REMEMBERED_FOR, Kept, is_blank, step
from holdfast.rules.record_messages import (
    Entry,
    Get,
    Moved,
    RecordReply,
    RecordRequest,
    Swap,
    Swapped,
)


@dataclass
class Model:
    """One record as it should be."""

    version: int = 0
    value: bytes | None = None
    ends_at: int | None = None
    fence: int = 0
    newest: int = 0
    done: dict[str, int] = field(default_factory=dict)
    since_blank: list[str] = field(default_factory=list)
    """The swaps that were done since the record was last blank, in their order."""

    def entry(self, now: int) -> Entry:
        """Say what a look at ``now`` must show."""
        if self.value is None or (self.ends_at is not None and self.ends_at <= now):
            return Entry(None, 0, None, self.fence, now)
        left = None if self.ends_at is None else self.ends_at - now
        return Entry(self.value, self.version, left, self.fence, now)

    def pass_time(self, now: int) -> None:
        """Forget the fence and the swaps of what ended a minute ago."""
        if self.ends_at is not None and now >= self.ends_at + REMEMBERED_FOR:
            self.fence, self.ends_at, self.value = 0, None, None
            self.since_blank.clear()


class Witness:
    """Steps the rule and watches it."""

    def __init__(self) -> None:
        self.kept: dict[str, Kept] = {}
        self._models: dict[str, Model] = {}

    def ask(self, request: RecordRequest, now: int) -> RecordReply:
        """Step one request, and see that every promise was kept."""
        before = self.kept.get(request.name, Kept())
        model = self._models.setdefault(request.name, Model())
        model.pass_time(now)
        after, reply = step(before, request, now)
        # A backend may have forgotten everything but the version by now: nobody must notice.
        if is_blank(before, now):
            assert step(Kept(before.version), request, now)[1] == reply
        self.kept[request.name] = after
        if isinstance(request, Get):
            assert after is before
            assert reply == model.entry(now)
        else:
            self._swap(model, request, now, before, after, reply)
        return reply

    def _swap(
        self, model: Model, swap: Swap, now: int, before: Kept, after: Kept, reply: RecordReply
    ) -> None:
        if isinstance(reply, Moved):
            assert after is before, "a swap that was refused changed something"
            _refused_rightly(model, swap, now, reply)
            return
        assert isinstance(reply, Swapped)
        if after is before:
            assert model.done[swap.swap_id] == reply.version, "said to be done as another"
            return
        _done_rightly(model, swap, now, reply)
        again, repeated = step(after, swap, now)
        assert again is after, "asked again, it was done again"
        assert repeated == reply


def _refused_rightly(model: Model, swap: Swap, now: int, reply: Moved) -> None:
    assert reply.entry == model.entry(now)
    if reply.certain:
        assert swap.swap_id not in model.since_blank, "said to be undone though it was done"
    if swap.swap_id in model.since_blank:
        place = model.since_blank.index(swap.swap_id)
        assert len(model.since_blank) - place > 50, "forgotten too early"
    fenced = 0 < swap.fence < model.fence
    assert reply.why == ("fence" if fenced else "version")
    assert fenced or swap.if_version != model.entry(now).version


def _done_rightly(model: Model, swap: Swap, now: int, reply: Swapped) -> None:
    assert swap.if_version == model.entry(now).version, "a lost update"
    assert not 0 < swap.fence < model.fence, "done past a fence"
    assert reply.version > model.newest, "a version that is not newer"
    assert reply.at == now
    if swap.swap_id in model.since_blank:
        place = model.since_blank.index(swap.swap_id)
        assert len(model.since_blank) - place > 50, "done twice"
        assert swap.if_version == 0, "done twice, though what it replaced is gone for ever"
    model.newest = model.version = model.done[swap.swap_id] = reply.version
    model.since_blank.append(swap.swap_id)
    model.value = swap.value
    model.fence = max(model.fence, swap.fence)
    model.ends_at = None if swap.keep is None else now + swap.keep
    if swap.value is None and swap.keep is None:
        model.ends_at = now
