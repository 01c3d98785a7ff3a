"""What a test server is configured with, and how its configuration file is written.

Unlike a server's own defaults: nothing on disk unless asked for, ``DEBUG`` allowed, replication
in a hurry.
"""

from collections.abc import Mapping, Sequence

from tests.servers.ports import HOST

Setting = str | int | Sequence[str]


def basics(*, durable: bool, cluster: bool, password: str) -> dict[str, Setting]:
    """Give the settings of a server on the loopback address."""
    settings: dict[str, Setting] = {
        "bind": HOST,
        "protected-mode": "no",
        "enable-debug-command": "yes",
        "shutdown-timeout": 0,  # do not wait for replicas
        "repl-diskless-sync-delay": 0,
        "repl-ping-replica-period": 1,  # Redis lists no replica that has heard nothing yet
        "save": '""',
        "appendonly": "yes" if durable else "no",
        "appendfsync": "always",
    }
    if cluster:
        settings["cluster-enabled"] = "yes"
    if password:
        settings |= {"requirepass": password, "masterauth": password}
    return settings


def written(settings: Mapping[str, Setting]) -> str:
    """Write settings as a file: ``_`` for ``-`` in names will do, a list is several lines."""
    by_name = {name.replace("_", "-"): value for name, value in settings.items()}
    lines = [
        f"{name} {one}"
        for name, value in by_name.items()
        for one in ([value] if isinstance(value, str | int) else value)
    ]
    return "\n".join(lines) + "\n"
