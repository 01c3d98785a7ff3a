"""Which servers make the quorum, and on which terms: read once, from a URL or from clients.

``redlock://h1:6379,user:password@h2:6379,h3:6379/0``, or ``redlock+tls://…``. Each server has its
own credentials; everything else is the same for all of them.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote, urlencode

from holdfast.backends.redis.adopt import adopted
from holdfast.backends.redis.target import Target, target_of
from holdfast.durations import seconds
from holdfast.errors import Misuse
from holdfast.rules.ballot import Terms
from holdfast.settings import Address, address

_PASSED_ON = {
    "db", "protocol", "quarantine", "ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs",
}  # fmt: skip
_OWN = {"drift", "node_limit", "retry_delay", "retry_jitter", "retry_max"}

FEWEST = 3


class Quorum(NamedTuple):
    """The servers, and what they have agreed on."""

    targets: tuple[Target, ...]
    terms: Terms
    node_limit: float
    quarantine: float


def quorum_of(given: Address) -> Quorum:
    """Read the URL, or the clients that were given instead of one."""
    if isinstance(given.client, tuple):
        targets = tuple(_of_client(client) for client in given.client)
    else:
        given.refuse_unknown(_PASSED_ON | _OWN)
        targets = tuple(_targets(given))
    _refuse_bad_numbers(targets, given.shown)
    names = tuple(_name(target) for target in targets)
    shown = f"{given.scheme}://{','.join(names)}"
    terms = Terms(
        names,
        drift=_fraction(given, "drift", Terms(()).drift),
        retry_delay=_span(given, "retry_delay", Terms(()).retry_delay),
        retry_max=_span(given, "retry_max", Terms(()).retry_max),
        retry_jitter=_fraction(given, "retry_jitter", Terms(()).retry_jitter),
        shown=shown,
    )
    node_limit = _span(given, "node_limit", 0.1)
    quarantine = targets[0].quarantine
    if quarantine and node_limit > quarantine / 4:
        raise Misuse(
            f"node_limit={node_limit:g} in {shown}: it must be small against the quarantine"
            f" ({quarantine:g} s), or a server could vote, restart and vote again in one call"
        )
    return Quorum(targets, terms, node_limit, quarantine)


def _targets(given: Address) -> list[Target]:
    rest = given.url.partition("://")[2].partition("#")[0].partition("?")[0]
    hosts, slash, database = rest.partition("/")
    passed_on = {name: value for name, value in given.options.items() if name in _PASSED_ON}
    query = f"?{urlencode(passed_on, quote_via=quote)}" if passed_on else ""
    scheme = "rediss" if given.scheme == "redlock+tls" else "redis"
    return [
        target_of(address(f"{scheme}://{host}{slash}{database}{query}"))
        for host in hosts.split(",")
        if host
    ]


def _of_client(client: object) -> Target:
    target = adopted(client, address(client).shown)
    if target.mode != "single":
        raise Misuse(
            "a quorum is made of independent servers: give plain clients, not those of a cluster or"
            " of sentinels"
        )
    return target


def _refuse_bad_numbers(targets: tuple[Target, ...], shown: str) -> None:
    count = len(targets)
    if count < FEWEST:
        raise Misuse(
            f"{shown} names {count} server{'s' if count != 1 else ''}: a quorum needs at least 3,"
            " so that one may fail. With a single server write redis://"
        )
    if count % 2 == 0:
        raise Misuse(
            f"{shown} names {count} servers: give an odd number. {count} survive no more failures"
            f" than {count - 1} do, and they can be split into two equal halves"
        )
    where = [target.seeds[0] for target in targets]
    twice = next((one for one in where if where.count(one) > 1), None)
    if twice is not None:
        raise Misuse(f"{shown} names {twice[0]}:{twice[1]} twice: one server has one vote")


def _name(target: Target) -> str:
    host, port = target.seeds[0]
    return f"{host}:{port}" if port else host


def _span(given: Address, name: str, default: float) -> float:
    text = given.options.get(name)
    if text is None:
        return default
    return seconds(float(text) if text.replace(".", "", 1).isdecimal() else text, name)


def _fraction(given: Address, name: str, default: float) -> float:
    text = given.options.get(name)
    if text is None:
        return default
    if not text.replace(".", "", 1).isdecimal() or not 0 <= float(text) <= 1:
        raise Misuse(f"{name}={text} in {given.shown}: a number from 0 to 1")
    return float(text)
