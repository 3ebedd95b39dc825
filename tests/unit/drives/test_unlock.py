# SPDX-License-Identifier: Apache-2.0
"""Unlocking: what is asked of the machine, in which order, and that it always ends read-only."""

import fcntl
import os
import struct
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from appliance.drives import probe
from appliance.drives import unlock as writable
from appliance.drives.identity import compare_identity
from appliance.drives.identity_query import AskedIdentity
from appliance.drives.model import Drive
from appliance.drives.unlock import Unlocked, close_guard, is_unguarded, unlocked
from appliance.errors import RefusedError, StepFailedError, UnreadableProgramError
from appliance.run import Finished

Drives = dict[str, Drive]


@dataclass
class Machine:
    """A machine whose one disk is a file; notes the commands it is given."""

    drive: Drive
    stick: Drive
    commands: list[str] = field(default_factory=list)
    locked_during: list[bool] = field(default_factory=list)
    failing: str = ""
    ro: Path = Path("ro")
    """What the kernel says of the disk."""
    answer: AskedIdentity | None = None
    """Who it says it is."""
    is_protected: bool = False
    """Whether the disk itself forbids writing."""
    is_stick_gone: bool = False
    """Then no program can be started."""

    def run(self, command: Sequence[str], **_: object) -> Finished:
        """Stand in for `appliance.run.run`."""
        words = " ".join(command).replace(self.drive.path, "DISK")
        self.note(words)
        if self.is_stick_gone:
            raise UnreadableProgramError(f"{words} cannot be started")
        if words == self.failing:
            raise StepFailedError(f"{words} failed")
        return Finished(tuple(command), 0, "", "")

    def ioctl(self, fd: int, request: int, argument: bytes) -> int:
        """Stand in for BLKROSET, which the kernel takes for a block device only."""
        assert request == 0x12 << 8 | 93, "_IO(0x12, 93) of linux/fs.h"
        assert os.path.samestat(os.fstat(fd), Path(self.drive.path).stat())
        words = SETRO if struct.unpack("i", argument)[0] else SETRW
        self.note(words)
        if words == self.failing:
            raise OSError(5, "Input/output error")
        # As include/linux/blkdev.h, get_disk_ro: our mark or the driver's.
        self.ro.write_text(f"{int(words == SETRO or self.is_protected)}\n")
        return 0

    def note(self, words: str) -> None:
        """What is done, and whether udev is kept away meanwhile."""
        self.commands.append(words)
        self.locked_during.append(self.locked())

    def locked(self) -> bool:
        """Whether udev would have to leave the disk alone now."""
        fd = os.open(self.drive.path, os.O_RDONLY)
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False


def unlocked_disk(machine: Machine) -> AbstractContextManager[Unlocked]:
    """The machine's disk unlocked, by its serial number; it answered nothing when released."""
    return unlocked(
        machine.drive, stick=machine.stick, released_identity=machine.drive.serial, noted=None
    )


@pytest.fixture
def machine(zoo: Drives, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    disk = tmp_path / "disk"
    disk.write_bytes(bytes(4096))
    folder = tmp_path / "kernel" / disk.name
    folder.mkdir(parents=True)
    machine = Machine(replace(zoo["sdn"], path=str(disk)), zoo["sdu"], ro=folder / "ro")
    machine.ro.write_text("1\n")
    monkeypatch.setattr(writable, "_BLOCK", tmp_path / "kernel")
    monkeypatch.setattr(writable, "run", machine.run)
    monkeypatch.setattr(fcntl, "ioctl", machine.ioctl)
    monkeypatch.setattr(
        writable, "check_identity", lambda drive: compare_identity(drive, (machine.drive,))
    )
    monkeypatch.setattr(writable, "ask_identity", lambda _, **__: machine.answer)
    monkeypatch.setattr(writable, "_LOCK_PAUSE_S", 0)
    return machine


SETRW, SETRO = "writable", "read-only"
LOOK = "udevadm trigger --settle --action=change --subsystem-match=block --parent-match=DISK"


def test_unlocks_locks_and_leaves_it_read_only(machine: Machine) -> None:
    with unlocked(
        machine.drive, stick=machine.stick, released_identity=machine.drive.serial, noted=None
    ) as disk:
        assert machine.commands == [SETRW]
        assert machine.locked()
        assert disk.path == machine.drive.path
        os.pwrite(disk.fd, b"written", 0)
    assert machine.commands == [SETRW, SETRO, LOOK]
    # udev is asked to look again only when it can: after the lock has gone.
    assert machine.locked_during == [True, True, False]
    assert Path(machine.drive.path).read_bytes().startswith(b"written")


def test_udev_is_not_waited_for_while_a_drive_is_locked_against_it(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[str] = []

    def run(command: list[str], *, check: bool, timeout_s: float) -> Finished:
        assert not check
        assert timeout_s > 0
        waits.append(command[-1])
        return Finished(tuple(command), returncode=int(len(waits) == 2), stdout="", stderr="")

    monkeypatch.setattr(probe, "run", run)
    monkeypatch.setattr(probe, "find_drives", tuple)
    held = [probe.is_udev_held()]
    probe.find_settled_drives()
    with unlocked_disk(machine):
        probe.find_settled_drives()
        held.append(probe.is_udev_held())
    probe.find_settled_drives()
    held.append(probe.is_udev_held())
    assert held == [False, True, False]
    assert waits == ["--timeout=60", "--timeout=5", "--timeout=60"]


def test_a_drive_that_protects_itself_is_refused_before_anything_is_written(
    machine: Machine,
) -> None:
    machine.is_protected = True
    with (
        pytest.raises(RefusedError, match="write-protected by the drive itself") as refused,
        unlocked(
            machine.drive, stick=machine.stick, released_identity=machine.drive.serial, noted=None
        ),
    ):
        pytest.fail("unlocked")
    assert refused.value.blame == "other"  # mostly a switch
    assert machine.commands == [SETRW, SETRO, LOOK]
    assert not machine.locked()


def test_read_only_again_after_an_error_inside(machine: Machine) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        unlocked(
            machine.drive, stick=machine.stick, released_identity=machine.drive.serial, noted=None
        ),
    ):
        raise ZeroDivisionError
    assert machine.commands == [SETRW, SETRO, LOOK]
    assert not machine.locked()


def test_read_only_again_when_the_flush_fails(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with (
        pytest.raises(StepFailedError, match="did not accept the write"),
        unlocked(
            machine.drive, stick=machine.stick, released_identity=machine.drive.serial, noted=None
        ),
    ):
        pass
    assert machine.commands == [SETRW, SETRO, LOOK]


def test_a_failed_look_is_not_a_failed_write(machine: Machine) -> None:
    machine.failing = LOOK
    with unlocked(
        machine.drive, stick=machine.stick, released_identity=machine.drive.serial, noted=None
    ):
        pass


def test_a_drive_that_stays_writable_is_a_failed_step(machine: Machine) -> None:
    machine.failing = SETRO
    with (
        pytest.raises(StepFailedError),
        unlocked(
            machine.drive, stick=machine.stick, released_identity=machine.drive.serial, noted=None
        ),
    ):
        pass
    assert not machine.locked()


@pytest.mark.parametrize(
    ("now", "released", "message"),
    [
        ({"serial": "OTHER"}, "WD-WX41A1234567", "is another drive than before"),
        ({"mountpoints": ("/mnt",)}, "WD-WX41A1234567", "is in use: mounted at /mnt"),
        ({}, "TYPO", "released was 'TYPO'"),
        ({}, "", "is not released for writing"),
    ],
)
def test_refused_before_anything_is_touched(
    machine: Machine, now: dict[str, str], released: str, message: str
) -> None:
    before = machine.drive
    machine.drive = replace(before, **now)  # type: ignore[arg-type]
    with (
        pytest.raises(RefusedError, match=message) as refused,
        unlocked(before, stick=machine.stick, released_identity=released, noted=None),
    ):
        pytest.fail("unlocked")
    assert refused.value.blame == "other"
    assert machine.commands == []


def test_a_name_that_passes_to_another_disk_while_it_is_opened_is_refused(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = machine.drive
    real = os.open

    def swap(path: str, flags: int) -> int:
        machine.drive = replace(before, serial="OTHER")
        return real(path, flags)

    monkeypatch.setattr(os, "open", swap)
    with (
        pytest.raises(RefusedError, match="is another drive than before"),
        unlocked(before, stick=machine.stick, released_identity=before.serial, noted=None),
    ):
        pytest.fail("unlocked")
    assert machine.commands == [LOOK]


def test_a_disk_that_another_program_has_locked_is_refused(machine: Machine) -> None:
    fd = os.open(machine.drive.path, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    with (
        pytest.raises(RefusedError, match="locked by another program"),
        unlocked(
            machine.drive, stick=machine.stick, released_identity=machine.drive.serial, noted=None
        ),
    ):
        pytest.fail("unlocked")
    os.close(fd)
    assert SETRW not in machine.commands


def test_a_disk_the_kernel_holds_is_refused(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def busy(path: str, flags: int) -> int:
        if flags & os.O_EXCL:
            raise OSError(16, "Device or resource busy")
        return real(path, flags)

    monkeypatch.setattr(os, "open", busy)
    with (
        pytest.raises(RefusedError, match="in use by the kernel: Device or resource busy"),
        unlocked(
            machine.drive, stick=machine.stick, released_identity=machine.drive.serial, noted=None
        ),
    ):
        pytest.fail("unlocked")
    assert SETRW not in machine.commands


def test_a_disk_that_has_gone_is_a_failed_step(machine: Machine) -> None:
    Path(machine.drive.path).unlink()
    with (
        pytest.raises(StepFailedError, match="cannot be opened"),
        unlocked(
            machine.drive, stick=machine.stick, released_identity=machine.drive.serial, noted=None
        ),
    ):
        pytest.fail("unlocked")


def test_a_drive_is_read_only_again_although_the_stick_was_pulled_out(machine: Machine) -> None:
    with pytest.raises(UnreadableProgramError), unlocked_disk(machine):
        machine.is_stick_gone = True
    assert machine.commands[:2] == [SETRW, SETRO]
    assert machine.ro.read_text() == "1\n"


def test_what_the_rule_missed_is_read_only_then(zoo: Drives, machine: Machine) -> None:
    stick, drive = replace(zoo["sdu"], read_only=False), replace(machine.drive, read_only=False)
    missed = [
        stick,
        drive,
        replace(drive, path="/dev/guarded", read_only=True),
        replace(drive, path="/dev/mounted", mountpoints=("/mnt",)),
        replace(drive, path="/dev/held", holders=("bcache0 (bcache)",)),
        replace(drive, path="/dev/empty", size_bytes=0),
    ]
    assert [each for each in missed if is_unguarded(each, spared={stick.name})] == [drive]
    machine.ro.write_text("0\n")
    machine.is_stick_gone = True
    close_guard(drive)
    assert machine.ro.read_text() == "1\n"


def test_a_twin_that_comes_while_it_is_opened_is_refused(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = machine.drive
    real = os.open

    def plug(path: str, flags: int) -> int:
        machine.drive = replace(before, twins=("/dev/sdz",))
        return real(path, flags)

    monkeypatch.setattr(os, "open", plug)
    with (
        pytest.raises(RefusedError, match="shows the same identity as /dev/sdz"),
        unlocked(before, stick=machine.stick, released_identity=before.serial, noted=None),
    ):
        pytest.fail("unlocked")
    assert SETRW not in machine.commands


@pytest.mark.parametrize("mark", ["1", "0", ""])
def test_a_drive_is_written_to_over_one_path_only(machine: Machine, mark: str) -> None:
    other = Path(machine.drive.path).with_name("other")
    other.write_bytes(bytes(4096))
    folder = machine.ro.parents[1] / other.name
    folder.mkdir()
    (folder / "ro").write_text(f"{mark}\n")
    machine.drive = replace(machine.drive, other_paths=(str(other),))
    if mark == "1":
        with unlocked_disk(machine) as disk:
            os.pwrite(disk.fd, b"written", 0)
        assert other.read_bytes() == bytes(4096)
        return
    with (
        pytest.raises(RefusedError, match=r"a second path to .* is not read-only"),
        unlocked_disk(machine),
    ):
        pytest.fail("unlocked")
    assert SETRW not in machine.commands


def test_the_other_path_is_never_unlocked(machine: Machine) -> None:
    machine.drive = replace(machine.drive, main_path="/dev/sda")
    with pytest.raises(RefusedError, match="is a second path to"), unlocked_disk(machine):
        pytest.fail("unlocked")
    assert machine.commands == []


NOTED = AskedIdentity("WD-WX41A1234567", "0x50014ee2b1234567", "WDC WD10EZEX", 67_108_864)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (replace(NOTED, serial="WD-WX41A7654321"), "its serial number was"),
        (replace(NOTED, wwn="0x50014ee2b7654321"), "its WWN was"),
        (replace(NOTED, model="ST500"), "its model was"),
        (replace(NOTED, size_bytes=67_109_376), "its size was"),
        (None, "no longer reports its identity"),
    ],
)
def test_a_drive_that_answers_as_another_one_is_not_unlocked(
    machine: Machine, answer: AskedIdentity | None, said: str
) -> None:
    """What the kernel keeps of it, serial number and size, is as before."""
    machine.answer = answer
    with (
        pytest.raises(RefusedError, match=said) as refused,
        unlocked(
            machine.drive,
            stick=machine.stick,
            released_identity=machine.drive.serial,
            noted=NOTED,
        ),
    ):
        pytest.fail("unlocked")
    # A changed disk is a person's doing; one that falls silent is the drive's.
    assert refused.value.blame == ("other" if answer else "drive")
    assert SETRW not in machine.commands
    assert not machine.locked()


def test_a_drive_that_answers_as_it_did_is_unlocked(machine: Machine) -> None:
    machine.answer = NOTED
    with unlocked(
        machine.drive, stick=machine.stick, released_identity=machine.drive.serial, noted=NOTED
    ):
        assert SETRW in machine.commands
