"""Which database, and how to be let in: read once, from a URL or from a thing that people have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, TypeAlias, cast

from psycopg import ProgrammingError, pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from holdfast.backends.postgres.spelling import SCHEMA, spelled
from holdfast.durations import seconds
from holdfast.errors import Misuse
from holdfast.settings import Address

QUARANTINE = 10.0

Wakeup: TypeAlias = Literal["auto", "listen", "tick"]

OPTIONS = frozenset({"schema", "quarantine", "wakeup", "install"})
"""Ours; all others in the query are libpq's own (``sslmode``, ``target_session_attrs``, …)."""

_ENCODED = (
    "in a user's name or password write % as %25, / as %2F, : as %3A, ? as %3F, # as %23, @ as %40"
)

KEEPALIVE = {"keepalives_idle": "3", "keepalives_interval": "1", "keepalives_count": "3"}
"""A peer that vanished without a word is noticed in about six seconds, also by who only listens."""


class Target(NamedTuple):
    """One database; ``login`` gives what libpq is told, which may hold a password."""

    login: Callable[[], Mapping[str, str]]
    shown: str
    schema: str = SCHEMA  # as statements spell it
    quarantine: float = QUARANTINE
    wakeup: Wakeup = "auto"
    install: bool = True

    def conninfo(self, application: str) -> bytes:
        """Write what libpq is told, for one new connection."""
        told = {**KEEPALIVE, "fallback_application_name": application, **self.login()}
        # What we send: in another encoding a name would be another name.
        told["client_encoding"] = "UTF8"
        if "," in told.get("host", ""):  # several servers: the one that can be written to
            told.setdefault("target_session_attrs", "read-write")
        return make_conninfo(**told).encode()

    def __repr__(self) -> str:
        return f"<Target {self.shown}>"


def target_of(address: Address) -> Target:
    """Read the URL."""
    libpq = {option.keyword.decode() for option in pq.Conninfo.get_defaults()}
    address.refuse_unknown(OPTIONS | libpq)
    place = address.url.partition("#")[0].partition("?")[0].partition("://")[2]
    authority, _, path = place.partition("/")
    if "@" in path and ":" in authority and "@" not in authority:
        # libpq would take half of the password for a port, and say it.
        raise Misuse(f"{address.shown} has an @ behind its first /: {_ENCODED}")
    try:
        told = conninfo_to_dict(f"postgresql://{place}")
    except ProgrammingError as error:
        raise Misuse(f"{address.shown} cannot be read: {_plain(error, place)}") from None
    fixed = {name: str(value) for name, value in told.items() if value is not None}
    fixed |= {name: text for name, text in address.options.items() if name in libpq}
    return target(address.options, address.shown, lambda: fixed)


def target(
    options: Mapping[str, str], shown: str, login: Callable[[], Mapping[str, str]]
) -> Target:
    """Put a target together; options of ours are checked here."""
    schema = spelled(options.get("schema", SCHEMA))
    wakeup = options.get("wakeup", "auto")
    if wakeup not in {"auto", "listen", "tick"}:
        raise Misuse(f"wakeup={wakeup} in {shown}: choose one of auto, listen, tick")
    install = options.get("install", "auto")
    if install not in {"auto", "never"}:
        raise Misuse(f"install={install} in {shown}: choose one of auto, never")
    return Target(
        login=login,
        shown=shown,
        schema=schema,
        quarantine=_quarantine(options.get("quarantine")),
        wakeup=cast("Wakeup", wakeup),
        install=install == "auto",
    )


def _quarantine(text: str | None) -> float:
    if text is None:
        return QUARANTINE
    plain = text.replace(".", "", 1).isdecimal()
    return 0.0 if text == "0" else seconds(float(text) if plain else text, "quarantine")


def _plain(error: Exception, place: str) -> str:
    """Say what is wrong without repeating the address, in which a password may be."""
    return _ENCODED if "@" in place else str(error).strip().replace(place, "…")
