"""What ``holdfast watch`` makes of two looks at the locks."""

from holdfast.cli.changes import changes
from holdfast.values import Holder, LockInfo, Place, Tenure

ANN = Holder("client-a", "host", 1, "ann")
BOB = Holder("client-b", "host", 2, "bob")

HELD = Tenure(holder=ANN, token=7, weight=1, since=100.0, expires_in=9.0)
WAITS = Place(holder=BOB, weight=1, since=101.0)
JOB = LockInfo(name="job", kind="lock", capacity=1, token=7, holders=(HELD,), queue=())


def told(before: list[LockInfo], after: list[LockInfo]) -> list[tuple[str, str, int | None]]:
    """List event, label and token of every change."""
    return [(change.event, change.holder.label, change.token) for change in changes(before, after)]


def test_nothing_has_happened() -> None:
    """A lease that was renewed is the same lease."""
    assert told([JOB], [JOB._replace(holders=(HELD._replace(expires_in=3.0),))]) == []


def test_a_hold_begins_and_ends() -> None:
    """A new token is a hold; one that is not there any more was freed."""
    assert told([], [JOB]) == [("held", "ann", 7)]
    assert told([JOB], []) == [("freed", "ann", 7)]


def test_the_same_holder_again() -> None:
    """Between two looks the same holder may have let go and come back: the token tells."""
    again = JOB._replace(token=8, holders=(HELD._replace(token=8),))
    assert told([JOB], [again]) == [("freed", "ann", 7), ("held", "ann", 8)]


def test_a_hand_over() -> None:
    """Who waited and holds now has not left the line for nothing."""
    before = JOB._replace(queue=(WAITS,))
    after = JOB._replace(token=8, holders=(HELD._replace(holder=BOB, token=8),))
    assert told([before], [after]) == [("freed", "ann", 7), ("held", "bob", 8)]


def test_waiting() -> None:
    """Coming into the line and leaving it are told; a change of place is not."""
    waited_for = JOB._replace(queue=(WAITS,))
    assert told([JOB], [waited_for]) == [("waiting", "bob", None)]
    assert told([waited_for], [JOB]) == [("left", "bob", None)]


def test_the_same_client_twice_in_line() -> None:
    """Two claims of one client are two waiters, even if they came at the same moment."""
    twice = JOB._replace(queue=(WAITS, WAITS))
    assert told([JOB], [twice]) == [("waiting", "bob", None)] * 2
    assert told([twice], [JOB._replace(queue=(WAITS,))]) == [("left", "bob", None)]


def test_broken() -> None:
    """A grant is told to be broken once, with the reason, also if it was new."""
    broken = JOB._replace(holders=(HELD._replace(broken="an\x1b emergency"),))
    (change,) = changes([JOB], [broken])
    assert (change.event, change.reason) == ("broken", "an\x1b emergency")
    assert r"an\x1b emergency" in str(change)
    assert told([broken], [broken]) == []
    assert told([], [broken]) == [("broken", "ann", 7), ("held", "ann", 7)]


def test_names_come_in_order() -> None:
    """Names are told in the order of their bytes."""
    other = JOB._replace(name="another")
    assert [change.name for change in changes([], [JOB, other])] == ["another", "job"]
