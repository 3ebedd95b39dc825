# SPDX-License-Identifier: Apache-2.0
"""Finding the stick, and refusing what would write to the wrong one or to none."""

import errno
import fcntl
import json
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from appliance.drives.model import Drive
from appliance.errors import RefusedError, StepFailedError, StickError
from appliance.report.folder import held
from appliance.run import Finished
from appliance.stick import partitions as module
from appliance.stick.partitions import (
    DISK_UUID,
    Stick,
    find_stick,
    make_data_partition,
    mount_data,
    mount_fat,
    rescue_database,
    writable_fat,
)

DRIVE = Drive(
    path="/dev/sdc",
    serial="STICK-1",
    wwn="",
    model="stick",
    firmware="1",
    size_bytes=32_000_000_000,
    rotational=False,
    transport="usb",
    logical_block_bytes=512,
    physical_block_bytes=512,
    removable=True,
    disk_uuid=DISK_UUID,
)
OTHER = replace(DRIVE, path="/dev/sda", serial="HDD-1", disk_uuid="0fc63daf-0000-4000-8000-1")
STICK = Stick(DRIVE, "/dev/sdc1", "/dev/sdc6", data_uuid="6f6b")


class Tools:
    """In the place of `run`: notes the commands, fails those whose first word is in `failing`."""

    def __init__(self) -> None:
        self.commands: list[list[str]] = []
        self.failing: set[str] = set()
        self.fsck_code = 0
        self.labels: dict[str, str] = {}

    def __call__(self, command: Sequence[str], *, check: bool = True, **_: object) -> Finished:
        """Run nothing."""
        self.commands.append(list(command))
        failed = command[0] in self.failing
        if failed and check:
            raise StepFailedError(f"{command[0]} failed with code 1")
        rows = [
            {"path": path, "partlabel": label, "partuuid": f"{path[-1]}F6B"}
            for path, label in self.labels.items()
        ]
        stdout = json.dumps(
            {"blockdevices": [{"path": DRIVE.path, "partlabel": None}, *rows]}
            if command[0] == "lsblk"
            else {}
        )
        code = self.fsck_code if command[0] == "fsck.ext4" else int(failed)
        return Finished(tuple(command), code, stdout, "")


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tools:
    """A machine whose partitions are mounted below `tmp_path`."""
    tools = Tools()
    monkeypatch.setattr(module, "run", tools)
    monkeypatch.setattr(module, "DATA", tmp_path / "data")
    monkeypatch.setattr(module, "RAW", tmp_path / "data/raw")
    monkeypatch.setattr(module, "FAT", tmp_path / "fat")
    monkeypatch.setattr(module, "MIN_FREE_BYTES", 0)
    monkeypatch.setattr(module, "_BLOCK", tmp_path / "block")
    monkeypatch.setattr(module, "_NOTE", tmp_path / "run/stick")
    monkeypatch.setattr(module, "_DISK_NUMBER", tmp_path / "run/stick-number")
    monkeypatch.setattr(module, "_MOUNTINFO", tmp_path / "mountinfo")
    monkeypatch.setattr(module, "_BLOCK_NUMBERS", tmp_path / "numbers")
    return tools


def _run_from(folder: Path, *disks: str, name: str = "root") -> None:
    """A verified root whose two partitions lie on these disks, as /sys shows it."""
    slaves = folder / "block/dm-0/slaves"
    slaves.mkdir(parents=True)
    (folder / "block/dm-0/dm").mkdir()
    (folder / "block/dm-0/dm/name").write_text(f"{name}\n")
    for number, disk in enumerate(disks, start=4):
        (slaves / f"{disk}{number}").symlink_to(folder / f"devices/{disk}/{disk}{number}")


def test_the_stick_is_found_among_drives(tools: Tools) -> None:
    tools.labels = {"/dev/sdc1": "KALTSTART", "/dev/sdc2": "esp", "/dev/sdc6": "kaltstart-data"}
    assert find_stick((OTHER, DRIVE)) == replace(STICK, esp_path="/dev/sdc2")


def test_before_its_first_start_it_has_no_data_partition(tools: Tools) -> None:
    tools.labels = {"/dev/sdc1": "KALTSTART"}
    stick = find_stick((DRIVE,))
    assert stick.data_path == ""
    with pytest.raises(StickError, match="has no partition kaltstart-data"):
        mount_data(stick)


def test_no_stick_is_trouble(tools: Tools) -> None:
    with pytest.raises(StickError, match="was not found") as caught:
        find_stick((OTHER,))
    assert caught.value.hint


def test_two_sticks_are_trouble_and_both_are_named(tools: Tools) -> None:
    second = replace(DRIVE, path="/dev/sdd", serial="STICK-2")
    with pytest.raises(StickError, match=r"2 Kaltstart sticks \(/dev/sdc, /dev/sdd\)"):
        find_stick((DRIVE, OTHER, second))
    assert tools.commands == []


@pytest.mark.parametrize("disks", [("sdd", "sdd"), ("sdc", "sdd")])
def test_a_stick_that_did_not_start_the_machine_is_trouble(
    tools: Tools, tmp_path: Path, disks: tuple[str, ...]
) -> None:
    """Its own was unplugged, or a drive carries a copy that the root was taken from."""
    _run_from(tmp_path, *disks)
    with pytest.raises(StickError, match="not the one that this machine was started from"):
        find_stick((OTHER, DRIVE))
    assert tools.commands == []


@pytest.mark.parametrize(
    ("mounted", "is_gone", "is_taken"),
    [(DRIVE.serial, True, True), (DRIVE.serial, False, False), ("STICK-2", True, False)],
)
def test_a_stick_that_was_pulled_out_is_taken_again_by_its_new_name(
    tools: Tools, tmp_path: Path, mounted: str, *, is_gone: bool, is_taken: bool
) -> None:
    tools.labels = {"/dev/sdc1": "KALTSTART", "/dev/sdc6": "kaltstart-data"}
    _run_from(tmp_path, "sdb", "sdb")
    if not is_gone:
        (tmp_path / "block/sdb").mkdir()
    mount_data(replace(STICK, drive=replace(DRIVE, path="/dev/sdb", serial=mounted)))
    if is_taken:
        assert find_stick((OTHER, DRIVE)) == STICK
    else:
        with pytest.raises(StickError, match="not the one"):
            find_stick((OTHER, DRIVE))


@pytest.mark.parametrize(("disk", "name"), [("sdc", "root"), ("sda", "foreign")])
def test_the_stick_that_the_root_lies_on_is_the_one(
    tools: Tools, tmp_path: Path, disk: str, name: str
) -> None:
    tools.labels = {"/dev/sdc1": "KALTSTART", "/dev/sdc6": "kaltstart-data"}
    _run_from(tmp_path, disk, disk, name=name)
    assert find_stick((OTHER, DRIVE)) == STICK


def _mount(folder: Path, *, disk: str, diskseq: str) -> None:
    """Both partitions mounted from 8:33 and 8:38, which are this disk's now; empty: no disk's."""
    lines = ("34 76 8:38 / {}/data rw - ext4 /dev/sdc6 rw", "50 47 8:33 / {}/fat ro - vfat x ro")
    (folder / "mountinfo").write_text("".join(f"{line.format(folder)}\n" for line in lines))
    (folder / "numbers").mkdir()
    for number in ("8:38", "8:33") if disk else ():
        (folder / "devices" / disk / number).mkdir(parents=True)
        (folder / "devices" / disk / "diskseq").write_text(diskseq)
        (folder / "numbers" / number).symlink_to(folder / "devices" / disk / number)


@pytest.mark.parametrize(
    ("disk", "diskseq", "is_dead"), [("", "", True), ("sdc", "9", True), ("sdc", "7", False)]
)
def test_what_is_mounted_from_a_stick_that_is_gone_is_dead(
    tools: Tools, tmp_path: Path, disk: str, diskseq: str, *, is_dead: bool
) -> None:
    """Also where another disk has its device numbers by now."""
    _mount(tmp_path, disk=disk, diskseq=diskseq)
    (tmp_path / "run").mkdir()
    (tmp_path / "run/stick-number").write_text("7")
    folders = (tmp_path / "fat", tmp_path / "data")
    assert module.find_dead_mounts() == (folders if is_dead else ())
    if is_dead:
        with pytest.raises(StickError, match="cannot be unmounted"):
            module.unmount_dead()
        assert tools.commands == [["umount", "--lazy", str(folder)] for folder in folders]
    else:
        module.unmount_dead()
        assert tools.commands == []


def test_partitions_are_made_on_the_stick_and_nowhere_else(tools: Tools) -> None:
    make_data_partition(STICK)
    (command,) = tools.commands
    assert command[0] == "systemd-repart"
    assert command[-1] == "/dev/sdc"
    assert "--empty=refuse" in command


def test_a_stick_that_is_too_small_is_trouble_with_advice(tools: Tools) -> None:
    tools.failing = {"systemd-repart"}
    with pytest.raises(StickError, match="kaltstart-data cannot be made") as caught:
        make_data_partition(STICK)
    assert "larger" in caught.value.hint


def test_a_write_protected_stick_is_left_alone(tools: Tools) -> None:
    protected = replace(STICK, drive=replace(DRIVE, read_only=True))
    with pytest.raises(StickError, match="write-protected"):
        make_data_partition(protected)
    with pytest.raises(StickError, match="write-protected"):
        mount_data(protected)
    assert tools.commands == []


def test_data_is_checked_before_it_is_mounted(tools: Tools) -> None:
    assert mount_data(STICK) == ""
    assert [command[0] for command in tools.commands] == ["fsck.ext4", "mount"]
    assert all("/dev/sdc6" in command for command in tools.commands)
    assert module.RAW.is_dir()


@pytest.mark.parametrize("fsck_code", [0, 4])
def test_nothing_on_the_stick_can_be_started_or_be_a_device(tools: Tools, fsck_code: int) -> None:
    """Other machines write on it."""
    tools.fsck_code = fsck_code
    with suppress(StickError):
        mount_data(STICK)
    mount_fat(STICK)
    options = [command[command.index("-o") + 1] for command in tools.commands if "-o" in command]
    assert len(options) == 2
    for each in options:
        assert {"nosuid", "nodev", "noexec"} <= set(each.split(","))


def test_what_was_repaired_is_told(tools: Tools) -> None:
    tools.fsck_code = 1
    assert "repaired /dev/sdc6" in mount_data(STICK)


@pytest.mark.parametrize("code", [4, 5, 8, 12, 16, 32, 128, -9])
def test_data_that_fsck_gave_up_on_is_only_read(tools: Tools, code: int) -> None:
    tools.fsck_code = code
    with pytest.raises(StickError, match="is damaged") as caught:
        mount_data(STICK)
    assert "rescue" in caught.value.hint
    mounted = tools.commands[-1]
    assert {"ro", "noload"} <= set(mounted[mounted.index("-o") + 1].split(","))
    assert not module.RAW.exists()


def test_the_database_is_rescued_with_its_journal(
    tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "kaltstart.sqlite"
    monkeypatch.setattr(module, "DATABASE", database)
    module.FAT.mkdir()
    with pytest.raises(StickError, match="cannot be copied"):
        rescue_database()
    database.write_bytes(b"rows")
    database.with_name("kaltstart.sqlite-journal").write_bytes(b"half")
    database.with_name("kaltstart.copy-2.sqlite").write_bytes(b"older rows")
    assert rescue_database() == (module.FAT / "rescued-1", 0)
    folder, _ = rescue_database()
    assert folder == module.FAT / "rescued-2"
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == {
        "kaltstart.sqlite": b"rows",
        "kaltstart.sqlite-journal": b"half",
        "kaltstart.copy-2.sqlite": b"older rows",
    }
    assert tools.commands[-1][2] == "remount,ro"


@pytest.fixture
def worn(tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database of which the stick does not give back one page."""
    del tools
    database = tmp_path / "kaltstart.sqlite"
    database.write_bytes(b"".join(bytes([each]) * 4096 for each in range(1, 5)))
    database.with_name("kaltstart.copy-1.sqlite").write_bytes(b"whole")
    monkeypatch.setattr(module, "DATABASE", database)
    module.FAT.mkdir()
    real = os.pread

    def read(fd: int, size: int, at: int) -> bytes:
        if at == 4096:
            raise OSError(errno.EIO, "Input/output error")
        return real(fd, size, at)

    monkeypatch.setattr(os, "pread", read)
    return database


@pytest.mark.usefixtures("worn")
def test_what_of_a_database_can_be_read_is_rescued() -> None:
    folder, unreadable = rescue_database()
    pages = (bytes([each]) * 4096 for each in (1, 0, 3, 4))
    assert (folder / "kaltstart.sqlite").read_bytes() == b"".join(pages)
    assert unreadable == 4096
    assert (folder / "kaltstart.copy-1.sqlite").read_bytes() == b"whole"


@pytest.mark.parametrize("full", ["kaltstart.sqlite", "kaltstart.copy-1.sqlite"])
def test_a_full_kaltstart_holds_no_half_of_a_rescued_database(
    worn: Path, full: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(fd: int) -> None:
        if Path(f"/proc/self/fd/{fd}").readlink().name == full:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fill)
    if full == worn.name:
        with pytest.raises(StickError, match="No space left"):
            rescue_database()
        assert [*module.FAT.iterdir()] == []
    else:
        folder, _ = rescue_database()
        assert [path.name for path in folder.iterdir()] == [worn.name]


@pytest.mark.parametrize("damaged", [False, True])
def test_nothing_on_the_stick_is_run_or_gives_rights(tools: Tools, *, damaged: bool) -> None:
    if damaged:
        tools.fsck_code = 4
    with suppress(StickError):
        mount_data(STICK)
    mount_fat(STICK)
    mounts = [command for command in tools.commands if command[0] == "mount"]
    assert len(mounts) == 2
    for command in mounts:
        options = set(command[command.index("-o") + 1].split(","))
        assert options >= {"nosuid", "nodev", "noexec"}


def test_data_that_cannot_be_mounted_is_trouble(tools: Tools) -> None:
    tools.failing = {"mount"}
    with pytest.raises(StickError, match="/dev/sdc6 cannot be used"):
        mount_data(STICK)
    with pytest.raises(StickError, match="KALTSTART cannot be read"):
        mount_fat(STICK)


def test_a_full_stick_is_trouble(tools: Tools) -> None:
    with pytest.raises(StickError, match="data partition is full"):
        mount_data(STICK, min_free_bytes=1 << 70)
    mount_data(STICK, min_free_bytes=0)


@pytest.mark.usefixtures("tools")
def test_what_power_cut_off_does_not_keep_a_stick_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report's copy of the database takes as much room as there is."""
    module.DATA.mkdir()
    for name in ("copy.new", "report.sqlite.part", "kaltstart.sqlite"):
        (module.DATA / name).touch()

    def tell_room(_: Path) -> SimpleNamespace:
        is_free = len([*module.DATA.glob("*")]) == 1
        return SimpleNamespace(f_bavail=(1 << 30) * is_free, f_frsize=1, f_flag=0)

    monkeypatch.setattr(os, "statvfs", tell_room)
    mount_data(STICK, min_free_bytes=1 << 20)
    assert (module.DATA / "kaltstart.sqlite").exists()


def test_the_plans_partition_is_mounted_read_only(tools: Tools) -> None:
    mount_fat(STICK)
    (command,) = tools.commands
    assert "ro" in command[command.index("-o") + 1].split(",")
    assert command[-2:] == ["/dev/sdc1", str(module.FAT)]


def test_it_is_writable_only_for_as_long_as_needed(tools: Tools) -> None:
    def write() -> None:
        with writable_fat() as fat:
            assert fat == module.FAT
            assert [command[2] for command in tools.commands] == ["remount,rw"]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert [command[2] for command in tools.commands] == ["remount,rw", "remount,ro"]


def test_the_last_writer_makes_it_read_only_again(tools: Tools) -> None:
    """In a shell `kaltstart support` writes there while the engine writes a report."""
    engine, support = writable_fat(), writable_fat()
    with engine:
        support.__enter__()
    assert [command[2] for command in tools.commands] == ["remount,rw", "remount,rw"]
    support.__exit__(None, None, None)
    assert tools.commands[-1][2] == "remount,ro"


def test_a_shell_that_writes_a_report_to_its_top_keeps_no_one_waiting(
    tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`kaltstart report --out /run/kaltstart/fat`, stopped by Ctrl-Z for one: no key is heard."""

    def lock(descriptor: int, operation: int) -> None:
        flock(descriptor, operation | fcntl.LOCK_NB)  # or the test would wait for ever

    flock = fcntl.flock
    monkeypatch.setattr(fcntl, "flock", lock)
    module.FAT.mkdir()
    with held(module.FAT), writable_fat():
        pass
    assert [command[2] for command in tools.commands] == ["remount,rw", "remount,ro"]


def test_a_command_that_was_stopped_while_it_locks_kaltstart_keeps_no_one_waiting_for_ever(
    tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`kaltstart support`, by Ctrl-Z while it makes it read-only again."""
    monkeypatch.setattr(module, "_PATIENCE_S", 0.0)
    stopped = os.open(module.FAT.parent, os.O_RDONLY)
    try:
        fcntl.flock(stopped, fcntl.LOCK_EX)
        with pytest.raises(StickError, match="another command keeps it busy"), writable_fat():
            pytest.fail("the block must not run")
        assert tools.commands == []
        monkeypatch.setattr(module, "_PATIENCE_S", 60.0)
        monkeypatch.setattr(time, "sleep", lambda _: fcntl.flock(stopped, fcntl.LOCK_UN))
        with writable_fat():
            pass
    finally:
        os.close(stopped)


def test_what_cannot_be_made_writable_is_trouble(tools: Tools) -> None:
    tools.failing = {"mount"}
    with pytest.raises(StickError, match="cannot be written"), writable_fat():
        pytest.fail("the block must not run")


@pytest.mark.parametrize("made", ["exfat", "ntfs3"])
def test_plans_are_read_from_what_the_user_formatted_otherwise(
    tools: Tools, monkeypatch: pytest.MonkeyPatch, made: str
) -> None:
    def mount(command: Sequence[str], **options: object) -> Finished:
        if command[2] != made:
            raise StepFailedError("wrong fs type")
        return tools(command)

    monkeypatch.setattr(module, "run", mount)
    mount_fat(STICK)
    ((_mount, _t, kind, _o, options, path, _place),) = tools.commands
    assert (kind, path) == (made, "/dev/sdc1")
    assert "ro" in options.split(",")


@pytest.mark.parametrize("kind", ["vfat", "exfat", ""])
def test_what_kaltstart_is_mounted_as(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text("overlay / overlay rw 0 0\n/dev/sdc6 /var/lib/kaltstart ext4 rw 0 0\n")
    if kind:
        with mounts.open("a") as lines:
            lines.write(f"/dev/sdc1 /run/kaltstart/fat {kind} ro,nosuid 0 0\n")
    monkeypatch.setattr(module, "_MOUNTS", mounts)
    assert module.read_fat_type() == kind


def test_a_second_engine_is_refused(tmp_path: Path) -> None:
    lock = tmp_path / "run" / "engine.lock"
    descriptor = module.hold_alone(lock, held="at work already", hint="ask it")
    with pytest.raises(RefusedError, match="at work already"):
        module.hold_alone(lock, held="at work already", hint="ask it")
    os.close(descriptor)
    module.hold_alone(lock, held="at work already", hint="ask it")
