# SPDX-License-Identifier: Apache-2.0
"""Names the reference OS shares with the image's boot entries, and the room it takes."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from appliance.drives import file_system, partition_table
from appliance.drives.file_system import release_mounts
from appliance.errors import StepFailedError, StickError, UnreadableProgramError
from appliance.progress import ignore_progress
from appliance.reference_os import install as reference_os
from appliance.reference_os import loader
from appliance.reference_os.install import (
    SLOTS,
    entry_name,
    esp_partuuid,
    needed_bytes,
    partition_path,
    root_partuuid,
    session_partition_bytes,
    session_partuuid,
)
from appliance.reference_os.loader import copy_loader, make_esp
from appliance.reference_os.session_set import list_session_files
from appliance.run import Finished

FINALIZE = (Path(__file__).parents[3] / "mkosi.finalize").read_text()


@pytest.mark.parametrize(
    ("drive", "partition"),
    [
        ("/dev/sda", "/dev/sda2"),
        ("/dev/sdaa", "/dev/sdaa2"),
        ("/dev/vdb", "/dev/vdb2"),
        ("/dev/nvme0n1", "/dev/nvme0n1p2"),
        ("/dev/mmcblk0", "/dev/mmcblk0p2"),
    ],
)
def test_a_partition_is_named_as_the_kernel_names_it(drive: str, partition: str) -> None:
    assert partition_path(drive, 2) == partition


def test_the_image_has_an_entry_for_each_slot() -> None:
    assert re.findall(r"^slots=(\d+)$", FINALIZE, re.MULTILINE) == [str(SLOTS)]
    assert "for ((slot = 1; slot <= slots; slot++)); do\n  printf -v number '%02d'" in FINALIZE


@pytest.mark.parametrize("slot", range(1, SLOTS + 1))
def test_an_entry_boots_the_partition_that_is_written(slot: int) -> None:
    (root,) = re.findall(r"root=PARTUUID=(\S+)\$number ", FINALIZE)
    assert root_partuuid(slot) == f"{root}{slot:02d}"
    names = [
        name.replace("$number", f"{slot:02d}")
        for name in re.findall(r'^  add "([^"]+)"', FINALIZE, re.MULTILINE)
    ]
    assert names == [entry_name(slot, charted=False), entry_name(slot, charted=True)]


def test_only_charted_entries_start_bootchart() -> None:
    charted = re.findall(r'^  add "([^"]+)" ".*kaltstart\.chart .*"$', FINALIZE, re.MULTILINE)
    assert charted == ["measure-$number-chart"]


def test_no_partition_uuid_is_given_out_twice() -> None:
    slots = range(1, SLOTS + 1)
    uuids = [
        *map(root_partuuid, slots), *map(session_partuuid, slots), *map(esp_partuuid, slots)
    ]  # fmt: skip
    assert len(set(uuids)) == 3 * SLOTS
    shape = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}"
    assert all(re.fullmatch(shape, uuid) for uuid in uuids)


@pytest.mark.parametrize("boot_set_bytes", [1, 1 << 20, 256 << 20, 4 << 30])
def test_the_session_set_has_room_for_whole_blocks_and_inodes(boot_set_bytes: int) -> None:
    size = session_partition_bytes(boot_set_bytes)
    assert size % (1 << 20) == 0
    # ext4: 4 KiB blocks, 256-byte inodes with one per 16 KiB of partition, and an extra block a
    # folder.
    files = list_session_files(min(boot_set_bytes, 256 << 20))
    scale = boot_set_bytes / sum(file.size_bytes for file in files)
    blocks = sum(-(-file.size_bytes // 4096) for file in files) * 4096 * scale
    assert size > blocks + size / 16384 * 256 + 65 * 4096
    assert size / 16384 > len(files) * scale


def test_an_esp_has_the_sticks_files_and_no_fallback_loader(tmp_path: Path) -> None:
    stick, drive = tmp_path / "stick", tmp_path / "drive"
    entry = (
        "title measure-02\nlinux /k/1/vmlinuz\noptions root=x\ninitrd /k/initrd\ninitrd /k/1/m\n"
    )
    files = {
        "EFI/BOOT/BOOTX64.EFI": "shim",
        "EFI/BOOT/grubx64.efi": "systemd-boot",
        "loader/loader.conf": "timeout 0\n",
        "loader/entries/measure-02.conf": entry,
        "loader/entries/measure-02-chart.conf": entry.replace("=x", "=x kaltstart.chart"),
        "loader/entries/measure-03.conf": entry,
        "loader/entries/kaltstart-1.conf": entry,
        "k/1/vmlinuz": "kernel",
        "k/initrd": "initrd",
        "k/1/m": "modules",
        "grub/grub.cfg": "of BIOS machines",
    }
    for name, text in files.items():
        (stick / name).parent.mkdir(parents=True, exist_ok=True)
        (stick / name).write_text(text)
    drive.mkdir()
    entries = ("measure-02", "measure-02-chart")
    copy_loader(stick, drive, entries=entries, progress=ignore_progress)
    made = {
        str(path.relative_to(drive)): path.read_text()
        for path in drive.rglob("*")
        if path.is_file()
    }
    same = [
        name
        for name in files
        if name.startswith(("k/", "loader/loader", "loader/entries/measure-02"))
    ]
    assert made == {name: files[name] for name in same} | {
        "EFI/kaltstart/shimx64.efi": "shim",
        "EFI/kaltstart/grubx64.efi": "systemd-boot",
    }


def test_no_drive_is_blamed_for_a_boot_partition_that_the_stick_does_not_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stick, drive = tmp_path / "stick", tmp_path / "drive"
    for name in ("EFI/BOOT/BOOTX64.EFI", "EFI/BOOT/grubx64.efi", "loader/loader.conf"):
        (stick / name).parent.mkdir(parents=True, exist_ok=True)
        (stick / name).touch()
    (stick / "EFI/BOOT/grubx64.efi").unlink()
    (stick / "EFI/BOOT/grubx64.efi").symlink_to("/proc/self/mem")  # its first byte: EIO
    drive.mkdir()
    with pytest.raises(StickError, match=r"grubx64\.efi: Input/output error"):
        copy_loader(stick, drive, entries=(), progress=ignore_progress)
    with pytest.raises(StickError, match=r"measure-02\.conf: No such file"):
        copy_loader(stick, drive, entries=("measure-02",), progress=ignore_progress)

    monkeypatch.setattr(reference_os, "_ROOT", Path("/proc/self/mem"))
    monkeypatch.setattr(reference_os, "root_bytes", lambda: 4096)
    (drive / "sdb1").touch()
    with pytest.raises(StickError, match="its root: Input/output error"):
        reference_os._copy_root(drive / "sdb1", progress=ignore_progress)

    def run(command: Sequence[str], **_: object) -> Finished:
        if command[0] == "mount" and "/dev/stick2" in command:
            raise StepFailedError("mount: can't read superblock")
        return Finished(tuple(command), 0, "", "")

    for module in (file_system, loader):
        monkeypatch.setattr(module, "run", run)
    monkeypatch.setattr(file_system, "FOLDER", tmp_path / "bench")
    with pytest.raises(StickError, match="can't read superblock"):
        make_esp("/dev/stick2", "/dev/sdb3", entries=(), block_bytes=512, progress=ignore_progress)


def test_a_drive_must_hold_both_partitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "root"
    root.write_bytes(b"x" * 5000)
    monkeypatch.setattr(reference_os, "_ROOT", root)
    assert reference_os.root_bytes() == 5000
    assert needed_bytes(1 << 20) > 5000 + session_partition_bytes(1 << 20)


def test_the_partition_table_is_made_under_the_installations_own_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts: list[str] = []

    def run(command: Sequence[str], *, stdin: str, **_: object) -> Finished:
        assert "sfdisk" in command
        assert command[-1] == "/dev/sda"
        scripts.append(stdin)
        return Finished(tuple(command), 0, "", "")

    root = tmp_path / "root"
    root.write_bytes(b"x" * 5000)
    monkeypatch.setattr(reference_os, "_ROOT", root)
    monkeypatch.setattr(partition_table, "run", run)
    reference_os._make_partitions(
        "/dev/sda",
        install_uuid="11111111-2222",
        slot=3,
        boot_set_bytes=1 << 20,
        root_name="kaltstart-ref-root",
    )
    header, name, first, second = scripts[0].splitlines()
    assert (header, name) == ("label: gpt", "label-id: 11111111-2222")
    assert f"uuid={root_partuuid(3)}" in first
    assert f"uuid={session_partuuid(3)}" in second
    # With a unit: bare numbers would be the drive's own sectors, whatever their size.
    (root_mib,) = re.findall(r"size=(\d+)MiB", first)
    (session_mib,) = re.findall(r"size=(\d+)MiB", second)
    assert int(root_mib) << 20 >= 5000
    assert int(session_mib) << 20 == session_partition_bytes(1 << 20)


def test_a_drive_that_boots_on_its_own_gets_an_esp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts: list[str] = []

    def run(command: Sequence[str], *, stdin: str, **_: object) -> Finished:
        scripts.append(stdin)
        return Finished(tuple(command), 0, "", "")

    root = tmp_path / "root"
    root.write_bytes(b"x" * 5000)
    monkeypatch.setattr(reference_os, "_ROOT", root)
    monkeypatch.setattr(partition_table, "run", run)
    reference_os._make_partitions(
        "/dev/sda",
        install_uuid="11111111-2222",
        slot=3,
        boot_set_bytes=1 << 20,
        root_name="kaltstart-ref-root",
        has_esp=True,
    )
    *_, second, esp = scripts[0].splitlines()
    assert f"uuid={session_partuuid(3)}" in second
    assert esp == f"type=uefi, size=288MiB, uuid={esp_partuuid(3)}, name=kaltstart-ref-esp"
    assert needed_bytes(1 << 20, has_esp=True) == needed_bytes(1 << 20) + (288 << 20)


def test_a_session_set_that_stayed_mounted_is_released_when_the_stick_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its drive would be in use, and refused, when the campaign is resumed."""
    mounts: set[str] = set()
    is_gone = False

    def run(command: Sequence[str], **_: object) -> Finished:
        if is_gone:
            raise UnreadableProgramError(f"{command[0]} cannot be started")
        if command[0] == "mount":
            mounts.add(command[-1])
        if command[0] == "umount":
            mounts.remove(command[-1])
        return Finished(tuple(command), 0, "", "")

    def pull(*_: object, **__: object) -> None:
        nonlocal is_gone
        is_gone = True
        raise StickError("the stick was pulled out")

    for module in (file_system, reference_os):
        monkeypatch.setattr(module, "run", run)
    monkeypatch.setattr(file_system, "FOLDER", tmp_path / "bench")
    monkeypatch.setattr(reference_os, "write_session_set", pull)
    monkeypatch.setattr(Path, "is_mount", lambda path: str(path) in mounts)
    with pytest.raises(StickError):
        reference_os._make_session_set(
            "/dev/sdb2", boot_set_bytes=1 << 20, progress=lambda *_: None
        )
    assert len(mounts) == 1
    is_gone = False
    release_mounts()
    assert not mounts
