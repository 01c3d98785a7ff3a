"""Take what people have: a client of redis-py or valkey-py tells where its server is.

Only its settings are read; holdfast opens connections of its own and never touches theirs. So it
does not matter whether the client is sync or async, or whether it decodes responses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from holdfast.backends.redis.target import Login, Target, Where
from holdfast.errors import Misuse

if TYPE_CHECKING:
    import ssl

Terms = Mapping[str, Any]


def adopted(client: Any, shown: str) -> Target:
    """Read the settings of ``client``."""
    if hasattr(client, "nodes_manager"):
        return _cluster(client)
    pool = getattr(client, "connection_pool", None)
    if pool is None:
        raise Misuse(
            f"give the client itself (redis.Redis, master_for(…), RedisCluster), not a"
            f" {type(client).__name__}"
        )
    terms: Terms = pool.connection_kwargs
    if hasattr(pool, "sentinel_manager"):
        return _watched(pool, terms)
    path = terms.get("path")
    where: Where = (path, 0) if path else (terms.get("host", "localhost"), _port(terms))
    return Target(
        mode="single",
        seeds=(where,),
        shown=shown,
        database=int(terms.get("db") or 0),
        login=_login(terms),
        tls=_tls(pool.connection_class, terms),
    )


def _watched(pool: Any, terms: Terms) -> Target:
    if not pool.is_master:
        raise Misuse("this client asks replicas, where nothing can be locked: take master_for(…)")
    sentinels = [one.connection_pool.connection_kwargs for one in pool.sentinel_manager.sentinels]
    seeds = tuple((one.get("host", "localhost"), _port(one)) for one in sentinels)
    hosts = ",".join(f"{host}:{port}" for host, port in seeds)
    return Target(
        mode="sentinel",
        seeds=seeds,
        shown=f"redis+sentinel://{hosts}/{pool.service_name}",
        service=pool.service_name,
        database=int(terms.get("db") or 0),
        login=_login(terms),
        sentinel_login=_login(sentinels[0]),
        tls=_tls(pool.connection_class, terms),
    )


def _cluster(client: Any) -> Target:
    nodes = client.nodes_manager.startup_nodes.values()
    terms: Terms = getattr(client, "connection_kwargs", None) or (
        client.nodes_manager.connection_kwargs
    )
    seeds = tuple((node.host, int(node.port)) for node in nodes)
    hosts = ",".join(f"{host}:{port}" for host, port in seeds)
    kind = terms.get("connection_class")
    encrypted = bool(terms.get("ssl")) or "SSL" in getattr(kind, "__name__", "")
    return Target(
        mode="cluster",
        seeds=seeds,
        shown=f"redis+cluster://{hosts}",
        login=_login(terms),
        tls=_context(terms) if encrypted else None,
    )


def _port(terms: Terms) -> int:
    return int(terms.get("port") or 6379)


def _login(terms: Terms) -> Callable[[], Login]:
    """Ask a credential provider each time: its passwords do not last."""
    provider = terms.get("credential_provider")
    if provider is None:
        fixed = Login(terms.get("username") or "", terms.get("password") or "")
        return lambda: fixed

    def ask() -> Login:
        credentials = tuple(provider.get_credentials())
        return Login(*credentials) if len(credentials) > 1 else Login("", *credentials)

    return ask


def _tls(kind: type, terms: Terms) -> ssl.SSLContext | None:
    return _context(terms) if "SSL" in kind.__name__ else None


def _context(terms: Terms) -> ssl.SSLContext:
    import ssl  # only who encrypts pays for it

    data = terms.get("ssl_ca_data")
    context = ssl.create_default_context(
        cafile=terms.get("ssl_ca_certs"), capath=terms.get("ssl_ca_path"), cadata=data
    )
    wanted = terms.get("ssl_cert_reqs", "required")
    if wanted in ("none", None, ssl.CERT_NONE):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif terms.get("ssl_check_hostname") is False:
        context.check_hostname = False
    if terms.get("ssl_certfile"):
        context.load_cert_chain(
            terms["ssl_certfile"], terms.get("ssl_keyfile"), terms.get("ssl_password")
        )
    return context
