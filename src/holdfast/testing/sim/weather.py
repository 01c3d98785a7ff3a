"""What becomes of messages between clients and a server: the dice of the network.

``Weather`` says how likely each trouble is; ``Network`` draws a fate for each message from it. The
fate of a message is settled when it is sent, except for what the server's own state adds (down,
gone). In worlds that are planned message by message the fates are given instead of drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import NamedTuple


class Weather(NamedTuple):
    """How likely each trouble is, and how long things take."""

    fast: float = 0.001  # a usual way takes about half of this to one and a half times of it
    steady: bool = False  # it takes exactly this
    slow: float = 0.0  # how likely a way takes long
    slowest: float = 2.0
    lost_request: float = 0.0
    lost_reply: float = 0.0
    twice: float = 0.0  # the request arrives a second time, later
    latest: float = 12.0  # how late a second copy, or one whose sender gave up, may be
    torn: float = 0.0  # a batch is carried out in part
    adrift: float = 0.0  # the connection is seen to break, and the request arrives all the same
    lost_notice: float = 0.0
    late_notice: float = 0.0
    twice_notice: float = 0.0

    def calm(self) -> Weather:
        """Give the weather after the storm."""
        return Weather(fast=self.fast, steady=self.steady)


class Fate(NamedTuple):
    """What becomes of one message."""

    there: float
    back: float
    arrives: bool = True
    answered: bool = True
    again: float = 0.0  # a second copy arrives so much later
    cut: float = 0.0  # the connection is seen to break after this; 0: silence until the deadline
    torn: bool = False
    refused: bool = False  # it cannot even be sent


class Network:
    """Draws the fates of one wire's messages."""

    __slots__ = ("_dice", "_fast", "_trouble", "dice", "planned", "sent", "weather")

    def __init__(self, weather: Weather, dice: Random, planned: Mapping[int, Fate]) -> None:
        self.dice = dice
        self.planned = planned
        self.sent = 0
        self._dice = dice.random
        self.blow(weather)

    def blow(self, weather: Weather) -> None:
        """Change the weather."""
        self.weather = weather
        self._fast = weather.fast
        self._trouble = sum(
            (
                weather.slow,
                weather.lost_request,
                weather.lost_reply,
                weather.twice,
                weather.torn,
                weather.adrift,
            )
        )

    def fate(self) -> Fate:
        """Draw what becomes of the next message."""
        number, self.sent = self.sent, self.sent + 1
        if self.planned and number in self.planned:
            return self.planned[number]
        dice, fast = self._dice, self._fast
        if self.weather.steady:
            return Fate(fast, fast)
        there, back = fast * (0.5 + dice()), fast * (0.5 + dice())
        if not self._trouble:
            return Fate(there, back)
        drawn = dice()
        if drawn >= self._trouble:
            return Fate(there, back)
        return self._trouble_of(drawn, there, back)

    def _trouble_of(self, drawn: float, there: float, back: float) -> Fate:
        dice, weather = self._dice, self.weather
        drawn -= weather.slow
        if drawn < 0:
            long = weather.slowest * dice()
            return Fate(long, back) if dice() < 0.5 else Fate(there, long)
        drawn -= weather.lost_request
        cut = there + back if dice() < 0.5 else 0.0
        if drawn < 0:
            return Fate(there, back, arrives=False, cut=cut)
        drawn -= weather.lost_reply
        if drawn < 0:
            return Fate(there, back, answered=False, cut=cut)
        drawn -= weather.twice
        if drawn < 0:
            return Fate(there, back, again=weather.latest * dice() ** 2)
        drawn -= weather.torn
        if drawn < 0:
            return Fate(there, back, torn=True, cut=there)
        return Fate(weather.slowest * dice() ** 2, back, answered=False, cut=there)

    def notice(self) -> list[float]:
        """Draw when a notice arrives: never, once or twice."""
        dice, weather = self._dice, self.weather
        if weather.lost_notice and dice() < weather.lost_notice:
            return []
        delay = self._fast * (1.0 if weather.steady else 0.5 + dice())
        if weather.late_notice and dice() < weather.late_notice:
            delay = 5.0 * dice()
        if weather.twice_notice and dice() < weather.twice_notice:
            return [delay, delay + weather.latest * dice()]
        return [delay]
