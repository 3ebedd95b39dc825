"""How the file system under test is mounted."""

from pathlib import Path

import pytest

from appliance.drives import file_system
from appliance.drives.file_system import mounted


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
