"""What the kernel says of the host: network file systems are found in the table of mounts."""

from pathlib import Path

import pytest

from holdfast import BackendUnavailable, Client, Unsupported
from holdfast.backends.sqlite import backend, host
from holdfast.backends.sqlite.host import boot_id, boot_offset, network_type

MOUNTS = r"""
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:27 / /export rw,relatime shared:2 - nfs4 server:/all rw,vers=4.2
31 30 254:1 / /export/local rw,relatime shared:3 - xfs /dev/vdb rw
32 22 0:28 / /mnt/with\040space rw,relatime shared:4 - cifs //nas/share rw
33 22 0:29 / /srv rw,relatime shared:5 master:6 - fuse.sshfs user@host:/ rw
34 22 0:30 / /data rw,relatime - tmpfs tmpfs rw
35 34 0:31 / /data rw,relatime - 9p shared rw
a line that makes no sense
"""


@pytest.mark.parametrize(
    "folder, kind",
    [
        ("/", ""),
        ("/var/lib", ""),
        ("/export", "nfs4"),
        ("/export/ann", "nfs4"),
        ("/exported", ""),
        ("/export/local/db", ""),
        ("/mnt/with space/db", "cifs"),
        ("/srv", "fuse.sshfs"),
        ("/data/db", "9p"),
    ],
)
def test_the_innermost_mount_counts(folder: str, kind: str) -> None:
    """The longest mount point above the folder says what it is on; the last one if mounted over."""
    assert network_type(Path(folder), MOUNTS) == kind


def test_no_table_no_verdict() -> None:
    """Where nothing is known, nothing is refused."""
    assert network_type(Path("/export"), "") == ""


def test_a_network_disk_is_refused_unless_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the kind of disk and the way out."""
    monkeypatch.setattr(backend, "network_type", lambda _folder: "nfs4")
    url = f"sqlite:///{tmp_path / 'locks.db'}"
    with pytest.raises(Unsupported, match=r"nfs4.*network_fs=allow"):
        Client(url)
    with Client(url + "?network_fs=allow") as client, client.lock("x"):
        pass


def test_this_boot_has_a_name() -> None:
    """Two looks in one boot give the same name."""
    assert boot_id() == boot_id()


def test_the_offset_of_a_time_namespace() -> None:
    """A shifted boot clock is read from the kernel's own table."""
    assert (
        boot_offset("monotonic           0         0\nboottime       86400 500000000\n") == 86400.5
    )
    assert boot_offset("monotonic  0 0\n") == 0


def test_a_boot_that_cannot_be_seen_is_not_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may not read which boot this is must not end everybody's leases: it is refused."""
    url = f"sqlite:///{tmp_path / 'locks.db'}"
    with Client(url) as client, client.lock("x") as lease:
        monkeypatch.setattr(host, "BOOT_ID", tmp_path / "nothing")
        with Client(url) as blind, pytest.raises(BackendUnavailable, match="which boot") as error:
            blind.lock("x", wait=0).acquire()
        assert not error.value.transient
        monkeypatch.undo()
        with Client(url) as other:
            assert other.lock("x").try_acquire() is None
        lease.check()


def test_those_who_cannot_see_the_boot_are_among_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a sandbox without that file everybody is blind alike; who is not keeps away."""
    url = f"sqlite:///{tmp_path / 'locks.db'}"
    monkeypatch.setattr(host, "BOOT_ID", tmp_path / "nothing")
    with Client(url) as blind, blind.lock("x") as lease:
        with Client(url) as other:
            assert other.lock("x").try_acquire() is None
        monkeypatch.undo()
        with Client(url) as seeing, pytest.raises(BackendUnavailable, match="which boot"):
            seeing.lock("x", wait=0).acquire()
        lease.check()
