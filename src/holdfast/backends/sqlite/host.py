"""What the kernel of this host says: which boot this is, and what kind of disk a folder is on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

NETWORK_TYPES = frozenset(
    {
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "fuse.glusterfs",
        "fuse.s3fs",
        "fuse.sshfs",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "smb3",
        "smbfs",
        "virtiofs",
    }
)


def boot_offset(offsets: str | None = None) -> float:
    """Say how far this process's boot clock is ahead of the host's: a time namespace shifts it.

    Containers may have one, and the file may be shared with processes outside of it.
    """
    if offsets is None:
        try:
            offsets = Path("/proc/self/timens_offsets").read_text()
        except OSError:
            return 0.0
    for line in offsets.splitlines():
        clock, seconds, nanoseconds = line.split()
        if clock in {"boottime", "7"}:
            return int(seconds) + int(nanoseconds) / 1e9
    return 0.0


def boot_id() -> str:
    """Name this boot of the host; empty where there is no such name, or we may not see it."""
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        pass  # not Linux, or hidden from us
    if sys.platform == "darwin":
        command = ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]
        return subprocess.run(  # noqa: S603 - a fixed command
            command, capture_output=True, text=True, check=False
        ).stdout.strip()
    return ""


def network_type(folder: Path, mounts: str | None = None) -> str:
    """Say which network file system ``folder`` is on; empty for a local or unknown one."""
    if mounts is None:
        try:
            mounts = Path("/proc/self/mountinfo").read_text()
        except OSError:
            return ""
    best, kind = "", ""
    for line in mounts.splitlines():
        before, dash, after = line.partition(" - ")
        point = before.split()[4].replace("\\040", " ") if dash else ""
        inside = f"{folder}/".startswith(point.rstrip("/") + "/")
        if dash and inside and len(point) >= len(best):
            best, kind = point, after.split()[0]
    return kind if kind in NETWORK_TYPES else ""
