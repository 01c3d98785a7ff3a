"""The connections of one wire for threads: a small stack for each server.

The one used last is used next, so few stay warm. A connection is lent to one caller at a time; if
anything goes wrong while it is lent (a silent server, a Ctrl-C), it is closed, never given back.
Counterpart: ``switchboard``, for tasks.
"""

from __future__ import annotations

from holdfast.backends.redis import faults
from holdfast.backends.redis.link import Link, open_link
from holdfast.backends.redis.office import Office
from holdfast.backends.redis.requests import command
from holdfast.backends.redis.target import Where
from holdfast.errors import BackendUnavailable

IDLE_FOR = 10.0
"""A connection that nobody needed for so long is closed, down to the last one."""

MOST_IDLE = 16
"""So many connections are kept for the next callers; what a storm of threads needed is not."""

LOOK_AFTER = 0.2
"""A connection that rested for longer is looked at before it is trusted."""


class Stack:
    """Who asks for a server gets a connection to it."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._idle: dict[Where, list[Link]] = {}
        self._closed = False

    def close(self) -> None:
        """Let go of every connection."""
        self._closed = True
        for links in tuple(self._idle.values()):
            while links:
                links.pop().close()

    def where(self, slot: int, deadline: float) -> Where:
        """Give the server of a slot; who does not know it finds out."""
        topology = self._office.topology
        where = topology.known(slot)
        if where is None:
            topology.find(deadline)
            where = topology.known(slot)
        if where is None:
            raise self._office.unserved(slot)
        return where

    def everywhere(self, deadline: float) -> tuple[Where, ...]:
        """Give all servers; who does not know them finds out."""
        topology = self._office.topology
        servers = topology.masters()
        if not servers:
            topology.find(deadline)
            servers = topology.masters()
        if not servers:
            raise self._office.unserved()
        return servers

    def borrow(self, where: Where, now: float, deadline: float) -> Link:
        """Lend a connection to a server, making it first if need be."""
        links = self._idle.get(where)
        while links:
            try:
                link = links.pop()
            except IndexError:  # another thread was quicker
                break
            fresh = link.generation == self._office.generation
            if fresh and (now - link.used_at < LOOK_AFTER or self._is_good(link)):
                return link
            link.close()
        return self._open(where, deadline)

    def _is_good(self, link: Link) -> bool:
        """Whether the server has not hung up while the link rested: nobody asked it anything."""
        return not link.has_something()

    def give_back(self, link: Link) -> None:
        """Take a connection back, for the next caller."""
        links = self._idle.get(link.where)
        if links is None:
            links = self._idle.setdefault(link.where, [])
        links.append(link)
        if self._closed:
            self.close()
        elif len(links) > 1:
            self._thin_out(links, link.used_at)

    def _thin_out(self, links: list[Link], now: float) -> None:
        """Close the one that nobody needed for longest, if it is one too many."""
        try:
            if len(links) > MOST_IDLE or links[0].used_at < now - IDLE_FOR:
                links.pop(0).close()
        except IndexError:  # another thread was quicker
            return

    def _open(self, where: Where, deadline: float) -> Link:
        if self._closed:
            raise faults.closed(self._office.shown)
        office = self._office
        try:
            link = open_link(office.target, where, deadline)
        except BackendUnavailable:
            office.topology.suspect()
            raise
        link.generation = office.generation
        try:
            self._get_to_know(link, deadline)
        except BaseException:
            link.close()
            raise
        return link

    def _get_to_know(self, link: Link, deadline: float) -> None:
        """See whether this is a master, what it survives, and (in Cluster) its birth mark."""
        office = self._office
        try:
            if office.target.mode == "sentinel":
                (role,) = link.exchange(command("ROLE"), 1, deadline)
                office.insist_on_master(role)
            if not office.survey.done:
                questions = office.survey.QUESTIONS
                office.survey.read(link.exchange(b"".join(questions), len(questions), deadline))
            self.ask_birth(link, deadline)
        except BackendUnavailable as error:
            error.outcome = "none"  # the letter itself was not sent
            raise

    def ask_birth(self, link: Link, deadline: float) -> None:
        """In Cluster: see whether the node still has its memory, and from when on it may grant."""
        if self._office.births is None:
            return
        story, heard = self._office.births.questions(link.where), None
        try:
            while True:
                (heard,) = link.exchange(story.send(heard), 1, deadline)
        except StopIteration as answered:
            link.held_until = answered.value
        except BackendUnavailable:
            self._office.topology.suspect()
            raise
