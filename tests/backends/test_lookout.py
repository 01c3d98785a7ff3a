"""One of those who wait in line listens for all of them; the keeper does when nobody waits."""

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial

import pytest

from holdfast import clock
from holdfast.backends.lookout import Lookout, WaitersBell
from holdfast.runtimes.step import run
from holdfast.testing.watching import eventually

LONG = 30.0


class Letterbox:
    """An inbox of one socket, that notes who read it and how often the keeper was told."""

    def __init__(self) -> None:
        self.ear, self.mouth = socket.socketpair()
        self.lookout = Lookout(self)
        self.readers: list[threading.Thread] = []
        self.reliefs = 0
        self.heard: Callable[[bytes], None] = lambda _words: None

    def descriptors(self) -> Sequence[int]:
        """Say where something can be heard."""
        return [self.ear.fileno()]

    def overhear(self, ready: Sequence[int], until: float) -> None:
        """Read it, and note on which thread."""
        assert list(ready) == [self.ear.fileno()]
        assert until > clock.now()
        self.readers.append(threading.current_thread())
        self.heard(self.ear.recv(100))

    def relieve(self) -> None:
        """Count."""
        self.reliefs += 1

    def close(self) -> None:
        """Close all of it."""
        self.lookout.close()
        self.ear.close()
        self.mouth.close()


class Waiter(threading.Thread):
    """Waits at a bell of its own until it is served."""

    def __init__(self, box: Letterbox) -> None:
        super().__init__(daemon=True)
        self.bell = box.lookout.bell()
        self.served = False
        self.error: BaseException | None = None
        self._box = box

    def serve(self) -> None:
        """Settle what it waits for, then ring."""
        self.served = True
        self.bell.ring()

    def run(self) -> None:
        """Wait, and wait again."""
        try:
            run(self.bell.wait(clock.now() + LONG))
            while not self.served:
                run(self.bell.wait(clock.now() + LONG))
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            self.error = error

    def waiting(self, box: Letterbox) -> "Waiter":
        """Start, and be sure that it has got in line."""
        self.start()
        lookout = box.lookout
        eventually(
            lambda: self.bell in lookout._line or lookout._post.get("") is self.bell, what="a place"
        )
        return self

    def gone(self) -> bool:
        """Whether its wait is over."""
        self.join(LONG)
        return not self.is_alive()


@pytest.fixture
def box() -> Iterator[Letterbox]:
    """Give an inbox to which nobody listens yet."""
    with closing(Letterbox()) as box:
        yield box


def on_the_lookout(box: Letterbox, bell: WaitersBell) -> bool:
    """Whether it is this one's turn to listen."""
    return box.lookout._post.get("") is bell


def test_who_waits_reads_what_it_is_told(box: Letterbox) -> None:
    """What comes for a waiting thread wakes that very thread, which then waits no longer."""
    waiter = Waiter(box)
    box.heard = lambda _words: waiter.serve()
    waiter.waiting(box)
    box.mouth.send(b"granted")
    assert waiter.gone()
    assert box.readers == [waiter]


def test_the_keeper_is_told_who_listens(box: Letterbox) -> None:
    """It need not listen while somebody is on the lookout, and must again when nobody is."""
    waiter = Waiter(box).waiting(box)
    eventually(lambda: box.reliefs == 1, what="that somebody came")
    assert box.lookout.is_manned()
    waiter.serve()
    assert waiter.gone()
    assert box.reliefs == 2
    assert not box.lookout.is_manned()


def test_who_leaves_calls_who_waits_longest(box: Letterbox) -> None:
    """The post passes from one to the next in their order; only the last one tells the keeper."""
    waiters = [Waiter(box).waiting(box) for _ in range(4)]
    for waiter in waiters:
        eventually(partial(on_the_lookout, box, waiter.bell), what="its turn")
        waiter.serve()
        assert waiter.gone()
    assert box.reliefs == 2 + 3  # each who came to the post said so, and the last who left it
    assert not box.lookout.is_manned()


def test_one_in_line_is_served_by_who_listens(box: Letterbox) -> None:
    """A notice for another thread is delivered by the one on the lookout, which goes on."""
    first, second = Waiter(box).waiting(box), Waiter(box).waiting(box)
    box.heard = lambda _words: second.serve()
    box.mouth.send(b"for the second")
    assert second.gone()
    assert box.readers == [first]
    assert on_the_lookout(box, first.bell)
    first.serve()
    assert first.gone()


def test_two_who_are_served_at_once_leave_the_post_to_the_third(box: Letterbox) -> None:
    """The one who would be next is gone as well: it passes the call on."""
    first, second, third = (Waiter(box).waiting(box) for _ in range(3))

    def both(_words: bytes) -> None:
        second.serve()
        first.serve()

    box.heard = both
    box.mouth.send(b"for two of them")
    assert first.gone()
    assert second.gone()
    eventually(partial(on_the_lookout, box, third.bell), what="the third on the lookout")
    third.serve()
    assert third.gone()
    assert not box.lookout.is_manned()


def test_a_wait_ends_in_time(box: Letterbox) -> None:
    """At its end, on the lookout as well as in line, and the post is free again."""
    began = clock.now()
    run(box.lookout.bell().wait(began + 0.05))
    assert clock.now() >= began + 0.05
    other = Waiter(box).waiting(box)
    began = clock.now()
    run(box.lookout.bell().wait(began + 0.05))
    assert clock.now() >= began + 0.05
    other.serve()
    assert other.gone()


def test_a_bell_that_was_rung_before_does_not_wait(box: Letterbox) -> None:
    """Rung twice before the wait is rung once: the next wait sleeps."""
    bell = box.lookout.bell()
    bell.ring()
    bell.ring()
    began = clock.now()
    run(bell.wait(began + LONG))
    assert clock.now() < began + LONG / 2
    began = clock.now()
    run(bell.wait(began + 0.05))
    assert clock.now() >= began + 0.05


def test_who_is_interrupted_leaves_the_post(box: Letterbox) -> None:
    """A Ctrl-C while reading ends that wait alone: the next in line listens."""
    first, second = Waiter(box).waiting(box), Waiter(box).waiting(box)

    def interrupt(_words: bytes) -> None:
        raise KeyboardInterrupt

    box.heard = interrupt
    box.mouth.send(b"anything")
    assert first.gone()
    assert isinstance(first.error, KeyboardInterrupt)
    eventually(partial(on_the_lookout, box, second.bell), what="the next on the lookout")
    second.serve()
    assert second.gone()


def test_who_does_not_come_back_is_struck_off(box: Letterbox) -> None:
    """Somebody torn away before it could leave the post keeps nobody from listening for long."""
    lost = box.lookout.bell()
    lost.until = clock.now() - 0.5
    box.lookout._post[""] = lost
    assert box.lookout.is_manned()
    lost.until = clock.now() - 2.0
    assert not box.lookout.is_manned()
    next_one = Waiter(box).waiting(box)
    assert on_the_lookout(box, next_one.bell)
    next_one.serve()
    assert next_one.gone()


def test_another_look_is_taken_when_asked_for(box: Letterbox) -> None:
    """A connection that was made anew is listened to by who is on the lookout already."""
    waiter = Waiter(box)
    box.heard = lambda _words: waiter.serve()
    old = box.ear, box.mouth
    waiter.waiting(box)
    box.ear, box.mouth = socket.socketpair()
    box.lookout.stir()
    box.mouth.send(b"granted")
    assert waiter.gone()
    for end in old:
        end.close()


def test_closing_waits_for_nobody(box: Letterbox) -> None:
    """Who is on the lookout leaves when it is closed, and the last one closes the pipe."""
    waiter = Waiter(box).waiting(box)
    waiter.served = True  # it does not come again
    box.lookout.close()
    assert waiter.gone()
    assert box.lookout._horn.fileno() == -1
    assert not box.lookout.is_manned()
