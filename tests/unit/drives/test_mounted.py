# SPDX-License-Identifier: Apache-2.0
"""How the file system under test is mounted."""

from pathlib import Path

import pytest

from appliance.drives import file_system
from appliance.drives.file_system import detach_mounts, mounted


@pytest.mark.parametrize(
    ("kind", "own"), [("ext4", {"no_prefetch_block_bitmaps"}), ("xfs", set()), ("btrfs", set())]
)
def test_no_file_system_reads_beside_what_is_measured(
    kind: str, own: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ext4 alone knows the option, and the others refuse what they do not know."""
    commands: list[list[str]] = []
    monkeypatch.setattr(file_system, "FOLDER", tmp_path / "bench")
    monkeypatch.setattr(file_system, "run", lambda command, **_: commands.append(command))
    with mounted("/dev/sdx", kind) as folder:
        pass
    mount, unmount = commands
    assert set(mount[4].split(",")) - {"nosuid", "nodev", "noexec", "noatime"} == own
    assert (mount[-2:], unmount) == (["/dev/sdx", str(folder)], ["umount", str(folder)])


_MOUNTS = """\
proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0
/dev/sdb /run/kaltstart/bench/sdb ext4 rw,nosuid,nodev,noexec,noatime 0 0
/dev/sdb2 /run/kaltstart/bench/sdb2 ext4 rw,noatime 0 0
/dev/sdba /run/kaltstart/bench/sdba xfs rw,noatime 0 0
/dev/nvme0n1p2 /run/kaltstart/bench/nvme0n1p2 ext4 rw,noatime 0 0
/dev/bcache0 /run/kaltstart/bench/bcache0 btrfs rw,noatime 0 0
"""


def test_of_a_drive_that_hangs_all_is_taken_out_of_the_tree_and_of_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []
    (tmp_path / "mounts").write_text(_MOUNTS)
    monkeypatch.setattr(file_system, "_MOUNTS", tmp_path / "mounts")
    monkeypatch.setattr(file_system, "run", lambda command, **_: commands.append(command))
    detach_mounts(["sdb"])
    detach_mounts(["nvme0n1", "bcache0"])
    lazily = ["umount", "--lazy"]
    assert commands == [
        [*lazily, "/run/kaltstart/bench/sdb"],
        [*lazily, "/run/kaltstart/bench/sdb2"],
        [*lazily, "/run/kaltstart/bench/nvme0n1p2"],
        [*lazily, "/run/kaltstart/bench/bcache0"],
    ]
