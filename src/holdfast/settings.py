"""Where the truth lives, read from a URL once: scheme, place, options, and a form safe to show."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.errors import Misuse
from holdfast.values import origin, printable

if TYPE_CHECKING:
    from pathlib import Path

URL_VARIABLE = "HOLDFAST_URL"

PREFIX = "holdfast"
"""Under what names are kept unless a client says otherwise."""

_WHEREABOUTS = ("db", "dbname", "host", "port", "schema", "user")
"""Options that say where, so that whoever looks must say them too. None of them is a secret."""


class Address(NamedTuple):
    """One backend's address. ``url`` may hold a password; ``shown`` never does."""

    scheme: str
    place: str
    shown: str
    url: str
    options: Mapping[str, str]
    given: bool
    client: object = None  # a client of another library, whose settings are read

    def command(self, claimed: str, prefix: str = PREFIX) -> str:
        """Give the command that shows a name here; in memory only Python can look."""
        space, name = origin(claimed)
        name = printable(name)
        if self.scheme in {"memory", "sandbox"}:
            among = "" if space == "lock" else f", space={space!r}"
            return f"client.show({name!r}{among})"
        import shlex  # only to tell a person
        from urllib.parse import urlencode

        among = "" if space == "lock" else f" --space {space}"
        told = {name: text for name, text in self.options.items() if name in _WHEREABOUTS}
        url = f"{self.shown}?{urlencode(told)}" if told else self.shown
        where = f" --url {shlex.quote(url)}" if self.given else ""
        under = f" --prefix {shlex.quote(printable(prefix))}" if prefix != PREFIX else ""
        return f"holdfast show {shlex.quote(name)}{among}{under}{where}"

    def __repr__(self) -> str:
        return f"<Address {self.shown}>"

    def option(self, name: str, allowed: Iterable[str], default: str) -> str:
        """Give an option that has only a few possible values."""
        value = self.options.get(name, default)
        choices = tuple(allowed)
        if value not in choices:
            raise Misuse(f"{name}={value} in {self.shown}: choose one of {', '.join(choices)}")
        return value

    def refuse_unknown(self, known: Iterable[str]) -> None:
        """Refuse options that the backend does not know, naming the nearest that it does."""
        names = sorted(known)
        for name in self.options:
            if name not in names:
                import difflib  # only to help with a mistake

                near = difflib.get_close_matches(name, names, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"known are: {', '.join(names)}"
                raise Misuse(f"unknown option {name!r} in {self.shown}; {hint}")


def address(url: object) -> Address:
    """Read ``url``, or ``$HOLDFAST_URL``, or take the embedded default."""
    given = url is not None
    if not given:
        url = os.environ.get(URL_VARIABLE) or f"sqlite:///{default_file()}"
    if _is_client(url):
        return _adopted(url)
    if isinstance(url, (list, tuple)) and url and all(map(_is_client, url)):
        return _several(url)
    if not isinstance(url, str) or "://" not in url:
        shown = repr(url) if "@" not in str(url) else "this"  # it may hold a password
        raise Misuse(
            f"{shown} is not a backend URL; write one like 'sqlite:///locks.db' or 'memory://'"
        )
    return _of(url, given=given)


def _is_client(thing: object) -> bool:
    """Whether another library made this; nobody imports one to find out."""
    return bool(_homes(thing) & {*_REDIS, *_POSTGRES})


_REDIS = ("redis", "valkey")
_POSTGRES = ("django", "psycopg", "psycopg_pool", "sqlalchemy")


def _homes(thing: object) -> set[str]:
    return {kind.__module__.partition(".")[0] for kind in type(thing).__mro__}


def _adopted(client: object) -> Address:
    if _homes(client) & {*_POSTGRES}:
        shown = f"postgresql://{_database(client)}"
        return Address("postgresql", "", shown, shown, {}, given=True, client=client)
    pool = getattr(client, "connection_pool", None)
    terms: Mapping[str, object] = getattr(pool, "connection_kwargs", {})
    database = terms.get("db") or 0
    place = f"{terms.get('host') or 'localhost'}:{terms.get('port') or 6379}"
    shown = f"redis://{place}/{database}"
    if terms.get("path"):
        shown = f"redis+unix://{terms['path']}?db={database}"
    return Address("redis", place, shown, shown, {}, given=True, client=client)


def _several(clients: Iterable[object]) -> Address:
    """Read several clients: each is for one of the independent servers of a quorum."""
    given = tuple(clients)
    if any(_homes(client) & {*_POSTGRES} for client in given):
        raise Misuse("a quorum is made of Redis or Valkey servers: give clients of those only")
    place = ",".join(_adopted(client).place for client in given)
    shown = f"redlock://{place}"
    return Address("redlock", place, shown, shown, {}, given=True, client=given)


def _database(thing: object) -> str:
    """Say which database a connection or an engine is for; a pool keeps that to itself."""
    url = getattr(getattr(thing, "sync_engine", thing), "url", None)
    if url is not None:
        return f"{url.host or ''}{f':{url.port}' if url.port else ''}/{url.database or ''}"
    told = getattr(thing, "settings_dict", None)
    if told is not None:  # a connection of Django
        place = f"{told['HOST']}:{told['PORT']}" if told["PORT"] else f"{told['HOST']}"
        return f"{place}/{told['NAME']}"
    info: Any = getattr(thing, "info", None)
    if not hasattr(info, "get_parameters") or getattr(thing, "closed", False):
        return ""
    return f"{info.host}:{info.port}/{info.dbname}"


def default_file() -> Path:
    """Give the embedded default's file, in the user's state folder."""
    from pathlib import Path

    if sys.platform == "darwin":
        state = Path.home() / "Library" / "Application Support"
    else:
        state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return state / "holdfast" / "holdfast.db"


def _of(url: str, *, given: bool) -> Address:
    from urllib.parse import parse_qsl, unquote  # a client needs it, an import does not

    scheme, _, rest = url.partition("://")
    place, _, query = rest.partition("#")[0].partition("?")
    _refuse_cut_password(scheme, place, rest)
    options = dict(parse_qsl(query, keep_blank_values=True))
    shown = f"{scheme}://{_without_password(place, is_user=scheme.startswith('postgresql'))}"
    return Address(scheme.lower(), unquote(place), shown, url, options, given)


def _refuse_cut_password(scheme: str, place: str, rest: str) -> None:
    """Refuse a password with a ? or # in it: its parts would be taken for a port and for options.

    Nothing but the scheme is shown, since nobody can tell where the password begins or ends.
    """
    if scheme.lower() in {"memory", "sandbox", "sqlite"} or "@" not in rest[len(place) :]:
        return
    last = place.rpartition(",")[2]  # of several servers
    host = last.rpartition("/")[0]
    port = host.rpartition(":")[2].rstrip("]")  # ``host:5432/…`` is no user with half of a password
    is_host = "/" in last and (":" not in host or port.isdecimal())
    if "@" not in last and not is_host:
        raise Misuse(
            f"this {scheme}:// URL has an @ behind its first ? or #: in a password write ? as %3F"
            " and # as %23, in an option write @ as %40"
        )


def _without_password(place: str, *, is_user: bool) -> str:
    """Hide what stands between the first colon and the last @; without a colon, all of it.

    ``is_user``: without a colon it is certainly a user, and no password.
    """
    if place.startswith("/"):
        return place  # a path: no user, no host
    user, at, host = place.rpartition("@")
    name, colon, _ = user.partition(":")
    if not at or (is_user and not colon):
        return place
    return f"{name if colon else ''}{colon}***@{host}"
