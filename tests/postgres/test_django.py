"""A Django project: its settings for a client, its own transaction for the three helpers."""

from collections.abc import Iterator
from typing import Any

import django  # type: ignore[import-untyped]
import psycopg
import pytest
from django.conf import settings  # type: ignore[import-untyped]
from django.db import connections, transaction  # type: ignore[import-untyped]

from holdfast import Client, LockBusy, LockLost, Misuse
from holdfast.postgres import fence, guard, xact_lock
from tests.postgres.conftest import Ledger
from tests.servers.postgres import DATABASE, USER
from tests.servers.shared_postgres import shared_postgres

pytestmark = pytest.mark.timeout(60)  # the first test starts a server


@pytest.fixture(autouse=True)
def project() -> Iterator[None]:
    """Be a Django project."""
    be_a_project()
    yield
    connections.close_all()


def be_a_project() -> None:
    """Have settings; a process can have only one project, so it stays."""
    if not settings.configured:
        settings.configure(DATABASES=_databases(), LOGGING_CONFIG=None, USE_TZ=True)
        django.setup()


def _databases() -> dict[str, dict[str, Any]]:
    host, _, port = shared_postgres().url().partition("@")[2].partition("/")[0].partition(":")
    return {
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": DATABASE,
            "USER": USER,
            "PASSWORD": "not asked for",
            "HOST": host,
            "PORT": port,
            "OPTIONS": {"connect_timeout": 5},
        },
        "other": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"},
    }


@pytest.mark.usefixtures("aged")
def test_an_alias_of_databases(prefix: str) -> None:
    """Its settings are read; Django's own connection is not even opened."""
    with Client(connections["default"], prefix=prefix) as client, client.lock("x") as lease:
        assert lease.held
        assert "not asked for" not in repr(client)
        assert f"/{DATABASE}" in repr(client)
    assert connections["default"].connection is None


def test_an_alias_for_something_else() -> None:
    """In words, when the client is made."""
    with pytest.raises(Misuse, match="sqlite"):
        Client(connections["other"])


def test_in_atomic(client: Client, rival: Client, ledger: Ledger) -> None:
    """Given Django's connection or a cursor of it, inside ``atomic()``."""
    with client.lock("x", on_loss="flag") as lease:
        with transaction.atomic(), connections["default"].cursor() as cursor:
            cursor.execute(ledger.writing)
            fence(cursor, client.holder.client, lease.token)
            guard(connections["default"], lease)
        rival.break_lock("x", token=lease.token, force=True)
        with transaction.atomic(), connections["default"].cursor() as cursor:
            cursor.execute(ledger.writing)
            with pytest.raises(LockLost):
                guard(cursor, lease)
    assert ledger.rows() == 1


def test_a_lock_in_atomic() -> None:
    """It ends with the block."""
    with psycopg.connect(shared_postgres().url()) as other:
        with transaction.atomic():
            xact_lock(connections["default"], "django")
            with pytest.raises(LockBusy):
                xact_lock(other, "django", wait=0)
        xact_lock(other, "django", wait=0)


def test_outside_atomic(client: Client) -> None:
    """Django is in autocommit mode there, so there is no transaction."""
    with client.lock("x") as lease, pytest.raises(Misuse, match="autocommit"):
        guard(connections["default"], lease)
    with pytest.raises(Misuse, match="PostgreSQL"):
        xact_lock(connections["other"], "x")
