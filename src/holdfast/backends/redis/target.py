"""Which server, and how to be let in: read once, from a URL or from a client that people have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias
from urllib.parse import unquote

from holdfast.durations import seconds
from holdfast.errors import Misuse
from holdfast.settings import Address

if TYPE_CHECKING:
    import ssl

Mode: TypeAlias = Literal["single", "sentinel", "cluster"]

Where: TypeAlias = tuple[str, int]
"""Host and port; a Unix socket is its path and port 0."""

QUARANTINE = 10.0

_TLS_OPTIONS = {"ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs"}
_OPTIONS = {"db", "protocol", "quarantine", "replicas", "tls", *_TLS_OPTIONS}
_SENTINEL_OPTIONS = {"sentinel_username", "sentinel_password"}
_PORTS: dict[Mode, int] = {"single": 6379, "sentinel": 26379, "cluster": 6379}


class Login(NamedTuple):
    """User and password, either of them empty where the server asks for none."""

    username: str = ""
    password: str = ""


class Target(NamedTuple):
    """One server, one group watched by sentinels, or one cluster."""

    mode: Mode
    seeds: tuple[Where, ...]
    shown: str
    service: str = ""
    database: int = 0
    login: Callable[[], Login] = Login
    sentinel_login: Callable[[], Login] = Login
    tls: ssl.SSLContext | None = None
    protocol: int = 3
    quarantine: float = QUARANTINE
    replicas: int = 0

    def __repr__(self) -> str:
        return f"<Target {self.shown}>"


def target_of(address: Address) -> Target:
    """Read the URL."""
    scheme = address.scheme
    mode: Mode = "single"
    if scheme in ("redis+sentinel", "redis+cluster"):
        mode = "sentinel" if scheme == "redis+sentinel" else "cluster"
    known = _OPTIONS | _SENTINEL_OPTIONS if mode == "sentinel" else _OPTIONS
    address.refuse_unknown(known)
    rest = address.url.partition("://")[2].partition("#")[0].partition("?")[0]
    user, at, rest = ("", "", rest) if rest.startswith("/") else rest.rpartition("@")
    login = Login(*(unquote(word) for word in (user.partition(":")[::2]))) if at else Login()
    path = ""
    if scheme == "redis+unix":
        seeds: tuple[Where, ...] = ((_socket_path(rest, address), 0),)
    else:
        hosts, _, path = rest.partition("/")
        seeds = tuple(_where(host, _PORTS[mode], address) for host in hosts.split(","))
    if mode == "single" and len(seeds) > 1:
        raise Misuse(
            f"{address.shown} names several servers: write redis+cluster:// for a cluster,"
            " redis+sentinel://…/service for sentinels, redlock:// for a quorum"
        )
    service, path = _service(path, address) if mode == "sentinel" else ("", path)
    options = address.options
    sentinel = Login(options.get("sentinel_username", ""), options.get("sentinel_password", ""))
    return Target(
        mode=mode,
        seeds=seeds,
        shown=address.shown,
        service=service,
        database=_database(path, address, mode),
        login=lambda: login,
        sentinel_login=lambda: sentinel,
        tls=_tls(address),
        protocol=int(address.option("protocol", ("2", "3"), "3")),
        quarantine=_quarantine(options.get("quarantine")),
        replicas=_number("replicas", options.get("replicas", "0"), address),
    )


def _where(text: str, port: int, address: Address) -> Where:
    host, colon, number = text.rpartition(":")
    if text.count("[") != text.count("]"):
        raise Misuse(f"a bracket is missing in {address.shown}: an IPv6 host is written [::1]")
    if text.endswith("]") or not colon:
        host, number = text, str(port)
    if not number.isdecimal() or not 0 < int(number) < 65536:  # noqa: PLR2004 - the last port
        raise Misuse(f"{number!r} in {address.shown} is not a port")
    return unquote(host).strip("[]") or "localhost", int(number)


def _socket_path(rest: str, address: Address) -> str:
    if not rest.startswith("/"):
        raise Misuse(
            f"{address.shown}: the path of a socket is absolute: redis+unix:///run/it.sock"
        )
    return unquote(rest)


def _service(path: str, address: Address) -> tuple[str, str]:
    service, _, database = path.partition("/")
    if not service:
        raise Misuse(
            f"{address.shown} does not say which master: redis+sentinel://host:26379/mymaster"
        )
    return unquote(service), database


def _database(path: str, address: Address, mode: Mode) -> int:
    option = address.options.get("db", "")
    if path and option and path != option:
        raise Misuse(f"db={option} in {address.shown}: say once which database, not twice")
    database = _number("the database", path or option or "0", address)
    if database and mode == "cluster":
        raise Misuse(f"{address.shown}: a cluster has only database 0")
    return database


def _number(what: str, text: str, address: Address) -> int:
    if not text.isdecimal():
        raise Misuse(f"{what} in {address.shown} is a number, not {text!r}")
    return int(text)


def _quarantine(text: str | None) -> float:
    if text is None:
        return QUARANTINE
    return 0.0 if text == "0" else seconds(float(text) if _plain(text) else text, "quarantine")


def _plain(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


def _tls(address: Address) -> ssl.SSLContext | None:
    options = address.options
    wanted = address.option("tls", ("on", "off"), "on" if address.scheme == "rediss" else "off")
    if wanted == "on":
        return tls_context(options, address.option)
    stray = sorted(_TLS_OPTIONS & options.keys())
    if stray:
        raise Misuse(f"{stray[0]} in {address.shown} has no effect without TLS: write rediss://")
    return None


def tls_context(
    options: Mapping[str, str], choose: Callable[[str, tuple[str, ...], str], str]
) -> ssl.SSLContext:
    """Make a context that verifies certificate and host name, unless told otherwise."""
    import ssl  # only who encrypts pays for it

    try:
        context = ssl.create_default_context(cafile=options.get("ssl_ca_certs"))
    except OSError as error:
        raise Misuse(f"ssl_ca_certs={options.get('ssl_ca_certs')}: {error.strerror}") from error
    if choose("ssl_cert_reqs", ("required", "none"), "required") == "none":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if "ssl_certfile" in options:
        try:
            context.load_cert_chain(options["ssl_certfile"], options.get("ssl_keyfile"))
        except OSError as error:
            why = error.strerror or error
            raise Misuse(f"ssl_certfile={options['ssl_certfile']}: {why}") from error
    return context
