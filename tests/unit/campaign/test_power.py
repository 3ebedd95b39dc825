# SPDX-License-Identifier: Apache-2.0
"""What the boot loader and the clock are given, and the check that they accepted it."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import override
from uuid import UUID

import pytest

from appliance.campaign import power, this_boot
from appliance.campaign.grubenv import format_grubenv, parse_grubenv
from appliance.campaign.this_boot import ThisBoot
from appliance.errors import StepFailedError, StickError
from appliance.run import Finished

BIOS = ThisBoot(boot_id="boot-0", slot=None, charted=False, firmware="bios")
UEFI = ThisBoot(boot_id="boot-0", slot=None, charted=False, firmware="uefi")
SET = "6b616c74-0003-4001-8f04-0ff8d2b0786a"
RTC_NOW = 1_800_000_000


class Firmware:
    """UEFI's variables behind bootctl; one that is forgetful keeps nothing."""

    def __init__(self) -> None:
        self.one_shot = ""
        self.forgetful = False
        self.commands: list[list[str]] = []

    def run(self, command: Sequence[str], **_: object) -> Finished:
        """Set the one-shot entry, as bootctl does."""
        self.commands.append(list(command))
        if command[:2] == ["bootctl", "set-oneshot"] and not self.forgetful:
            self.one_shot = command[2]
        return Finished(tuple(command), 0, "", "")


@pytest.fixture
def firmware(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Firmware:
    firmware = Firmware()
    monkeypatch.setattr(power, "_SET_VARIABLE", tmp_path / "set")
    monkeypatch.setattr(power, "run", firmware.run)
    monkeypatch.setattr(
        power,
        "read_loader_variable",
        lambda name: {"LoaderEntryOneShot": firmware.one_shot}[name],
    )
    return firmware


@pytest.fixture
def grubenv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """GRUB's block on KALTSTART, which can be written only while it is asked for."""
    block = tmp_path / "grubenv"
    block.write_bytes(format_grubenv({}))
    block.chmod(0o444)

    @contextmanager
    def writable_fat() -> Iterator[Path]:
        if block.exists():
            block.chmod(0o644)
        yield tmp_path
        block.chmod(0o444)

    monkeypatch.setattr(power, "_GRUBENV", block)
    monkeypatch.setattr(power, "writable_fat", writable_fat)
    return block


def test_uefi_keeps_one_entry_once(firmware: Firmware) -> None:
    power.arm_entry(UEFI, "measure-01")
    assert firmware.one_shot == "measure-01.conf"
    assert power.entry_is_armed(UEFI)
    power.disarm_entry(UEFI)
    assert not power.entry_is_armed(UEFI)


def test_what_is_not_armed_is_not_touched(firmware: Firmware) -> None:
    power.disarm_entry(UEFI)
    assert firmware.commands == []


def test_firmware_that_forgets_at_once_is_found_out(firmware: Firmware) -> None:
    firmware.forgetful = True
    with pytest.raises(StepFailedError, match="did not keep the one-shot boot entry measure-01"):
        power.arm_entry(UEFI, "measure-01")


def test_an_entry_the_firmware_keeps_although_it_was_taken_back_is_found_out(
    firmware: Firmware,
) -> None:
    power.arm_entry(UEFI, "measure-01")
    firmware.forgetful = True
    with pytest.raises(StepFailedError, match="is still set"):
        power.disarm_entry(UEFI)


def test_uefi_hands_over_which_array_may_be_registered(firmware: Firmware, tmp_path: Path) -> None:
    power.arm_entry(UEFI, "measure-01", set_uuid=SET)
    assert (tmp_path / "set").read_bytes() == b"\x07\0\0\0" + UUID(SET).bytes
    power.arm_entry(UEFI, "measure-02")
    assert not (tmp_path / "set").exists(), "a drive that boots on its own: no array"
    power.arm_entry(UEFI, "measure-01", set_uuid=SET)
    power.disarm_entry(UEFI)
    assert not (tmp_path / "set").exists()
    assert firmware.one_shot == ""


def test_grubs_block_hands_over_which_array_may_be_registered(grubenv: Path) -> None:
    power.arm_entry(BIOS, "measure-01", set_uuid=SET)
    assert parse_grubenv(grubenv.read_bytes()) == {"next_entry": "measure-01", "set_uuid": SET}


def test_bios_has_grubs_block(grubenv: Path) -> None:
    inode = grubenv.stat().st_ino
    assert not power.entry_is_armed(BIOS)
    power.arm_entry(BIOS, "measure-01-chart")
    assert power.entry_is_armed(BIOS)
    assert parse_grubenv(grubenv.read_bytes()) == {"next_entry": "measure-01-chart"}
    power.disarm_entry(BIOS)
    assert not power.entry_is_armed(BIOS)
    # GRUB writes to the place on the disk, so it must stay there.
    assert (grubenv.stat().st_ino, grubenv.stat().st_size) == (inode, 1024)


def test_a_block_that_keeps_the_entry_although_it_was_taken_back_is_found_out(
    grubenv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    power.arm_entry(BIOS, "measure-01")
    monkeypatch.setattr(power, "_write_grubenv", lambda _: None)
    with pytest.raises(StepFailedError, match="is still set"):
        power.disarm_entry(BIOS)
    assert grubenv.exists()


@pytest.mark.parametrize(
    ("this_boot", "kind", "said"),
    [
        (BIOS, "vfat", ""),
        (BIOS, "exfat", "its file system is exfat"),
        (BIOS, "ntfs3", "its file system is ntfs3"),
        (BIOS, "", ""),  # not mounted: nothing is known
        (UEFI, "exfat", ""),
    ],
)
def test_where_no_entry_can_be_kept(
    grubenv: Path, monkeypatch: pytest.MonkeyPatch, this_boot: ThisBoot, kind: str, said: str
) -> None:
    monkeypatch.setattr(power, "read_fat_type", lambda: kind)
    told = power.explain_no_entry(this_boot)
    assert said in told
    assert bool(said) == bool(told)
    grubenv.unlink()
    assert bool(power.explain_no_entry(this_boot)) == (this_boot is BIOS and bool(kind))


def test_grubs_block_is_read_from_the_stick_and_not_from_memory(
    grubenv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stick that forgets, or takes no writes, is found out only there."""
    asked: list[tuple[str, int, int, int]] = []
    advise, read = os.posix_fadvise, os.read

    def note(descriptor: int, offset: int, length: int, advice: int) -> None:
        asked.append((str(Path(f"/proc/self/fd/{descriptor}").readlink()), offset, length, advice))
        advise(descriptor, offset, length, advice)

    def read_after(descriptor: int, length: int) -> bytes:
        assert asked, "read before what memory holds was dropped"
        return read(descriptor, length)

    monkeypatch.setattr(os, "posix_fadvise", note)
    monkeypatch.setattr(os, "read", read_after)
    assert not power.entry_is_armed(BIOS)
    assert asked == [(str(grubenv), 0, 0, os.POSIX_FADV_DONTNEED)]


def test_an_entry_grub_has_taken_is_no_longer_armed(grubenv: Path) -> None:
    grubenv.chmod(0o644)
    grubenv.write_bytes(format_grubenv({"next_entry": ""}))
    assert not power.entry_is_armed(BIOS)


def test_a_stick_without_grubs_block_is_trouble_with_a_hint(grubenv: Path) -> None:
    grubenv.unlink()
    for action in (
        lambda: power.arm_entry(BIOS, "measure-01"),
        lambda: power.disarm_entry(BIOS),
        lambda: power.entry_is_armed(BIOS),
    ):
        with pytest.raises(StickError, match="grubenv on KALTSTART cannot be used") as caught:
            action()
        assert caught.value.hint


class Clock:
    """The kernel's files of rtc0: an alarm is written as +seconds and read as a time."""

    def __init__(self, folder: Path) -> None:
        self.written: list[str] = []
        self.late_s = 0
        self.folder = folder
        (folder / "wakealarm").write_text("")
        (folder / "since_epoch").write_text(f"{RTC_NOW}\n")

    def write_text(self, path: Path, text: str) -> None:
        """Take an alarm, as drivers/rtc/sysfs.c does; 0 clears it."""
        assert path == self.folder / "wakealarm"
        self.written.append(text)
        alarm = f"{RTC_NOW + int(text) + self.late_s}\n" if text.startswith("+") else ""
        path.write_text(alarm)


class KeepingClock(Clock):
    """One whose alarm's registers keep what was set last, as a machine's do over a restart."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(folder)
        self.second = 0
        monkeypatch.setattr(power, "_ALARM_REGISTERS", folder / "rtc")

    @override
    def write_text(self, path: Path, text: str) -> None:
        """Take an alarm; clearing it leaves the registers as they are (mc146818rtc)."""
        at_s = RTC_NOW + int(text) if text.startswith("+") else int(text)
        path.write_text(f"{at_s}\n" if at_s else "")
        if at_s:
            self.second = at_s % 60
        self.show(300)  # what rtc0 shows from here on: drivers/rtc/sysfs.c, wakealarm_store()

    def show(self, second: int) -> None:
        """In /proc/driver/rtc."""
        (self.folder / "rtc").write_text(
            f"rtc_time\t: 11:22:33\nalrm_time\t: 12:34:{second % 60:02}\nalarm_IRQ\t: no\n"
        )

    def restart(self) -> None:
        """The kernel starts again, with an empty /run."""
        power._MARK.unlink(missing_ok=True)
        self.show(self.second)


@pytest.fixture(autouse=True)
def own_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine's clock."""
    monkeypatch.setattr(power, "_MARK", tmp_path / "run/restart-mark")
    monkeypatch.setattr(power, "_ALARM_REGISTERS", tmp_path / "no-rtc")


@pytest.fixture
def keeping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KeepingClock:
    """A clock that remembers."""
    clock = KeepingClock(tmp_path, monkeypatch)
    clock.restart()
    monkeypatch.setattr(power, "_RTC", tmp_path)
    monkeypatch.setattr("appliance.sysfs.write_text", clock.write_text)
    return clock


def test_a_bios_machines_clock_keeps_how_many_restarts_were_counted(keeping: KeepingClock) -> None:
    for count in range(1, 25):
        power.mark_count(BIOS, count)
        assert not power.is_mark_kept(BIOS) or count > 1
        keeping.restart()
        power.clear_alarm()
        assert [power.find_unmarked(BIOS, known) for known in (count - 1, count, count + 1)] == [
            1,
            0,
            0,
        ]
        assert power.is_mark_kept(BIOS)
        power.mark_count(BIOS, count)
        assert power.find_unmarked(BIOS, count) == 0
        assert power.is_mark_kept(BIOS), "in this boot it stays so"
        assert not (keeping.folder / "wakealarm").read_text(), "it wakes no one"


@pytest.mark.parametrize("count", range(9))
def test_that_a_measured_boot_began_is_kept_beside_the_mark(
    keeping: KeepingClock, count: int
) -> None:
    """The initrd's script sets it: see tests/process/test_kept_entry.py."""
    power.mark_count(BIOS, count)
    assert 0 < keeping.second % 20 < 10
    keeping.second = (keeping.second + 10) % 60
    keeping.restart()
    assert power.find_unmarked(BIOS, count) == 0
    power.mark_count(BIOS, count)
    assert 0 < keeping.second % 20 < 10, "the next boot may restart again"


def test_what_firmware_sets_is_no_mark(keeping: KeepingClock) -> None:
    power.mark_count(BIOS, 7)
    keeping.second = 30
    keeping.restart()
    assert power.find_unmarked(BIOS, 6) == 0
    assert not power.is_mark_kept(BIOS)


def test_an_alarm_carries_the_mark(keeping: KeepingClock) -> None:
    """It comes a few seconds later, and is reported as it is."""
    power.mark_count(BIOS, 4)
    at_s = power.arm_alarm(90)
    assert 90 <= at_s - RTC_NOW < 110
    power.mark_count(BIOS, 4)
    assert float((keeping.folder / "wakealarm").read_text()) == at_s
    keeping.restart()
    assert power.find_unmarked(BIOS, 3) == 1


def test_with_uefi_the_clock_is_left_alone(keeping: KeepingClock) -> None:
    power.mark_count(UEFI, 4)
    assert power.arm_alarm(90) == RTC_NOW + 90
    keeping.second = 5
    keeping.restart()
    assert power.find_unmarked(UEFI, 3) == 0


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock(tmp_path)
    monkeypatch.setattr(power, "_RTC", tmp_path)
    monkeypatch.setattr("appliance.sysfs.write_text", clock.write_text)
    return clock


def test_an_alarm_is_cleared_set_and_read_back(clock: Clock) -> None:
    """What is returned is the clock's own time, whatever its zone."""
    assert power.arm_alarm(90) == power.read_rtc_s() + 90 == RTC_NOW + 90
    assert clock.written == ["0", "+90"]


@pytest.mark.parametrize("late_s", [-1000, 86400])
def test_an_alarm_at_another_time_is_found_out(clock: Clock, late_s: int) -> None:
    clock.late_s = late_s
    with pytest.raises(StepFailedError, match="did not accept an alarm in 90 s"):
        power.arm_alarm(90)


def test_an_alarm_that_vanishes_is_found_out(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("appliance.sysfs.write_text", lambda *_: None)
    with pytest.raises(StepFailedError, match="it reports nothing"):
        power.arm_alarm(90)


def test_a_machine_without_a_waking_clock(clock: Clock) -> None:
    assert power.can_wake()
    (clock.folder / "wakealarm").unlink()
    assert not power.can_wake()
    power.clear_alarm()
    assert clock.written == []


@pytest.mark.parametrize("action", ["power_off", "reboot"])
def test_the_stick_is_released_before_power_goes(
    firmware: Firmware, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    monkeypatch.setattr(power, "unmount_all", lambda: firmware.commands.append(["unmount"]))
    getattr(power, action)()
    verb = {"power_off": "poweroff", "reboot": "reboot"}[action]
    assert firmware.commands == [["unmount"], ["systemctl", "--force", verb]]


AT_ONCE = ["/usr/lib/kaltstart/poweroff", "--force", "--force", "--no-sync"]


@pytest.mark.parametrize(
    ("abrupt", "command"), [(True, AT_ONCE), (False, ["systemctl", "--force", "poweroff"])]
)
def test_the_last_write_comes_right_before_the_power_goes(
    firmware: Firmware, monkeypatch: pytest.MonkeyPatch, *, abrupt: bool, command: list[str]
) -> None:
    monkeypatch.setattr(power, "unmount_all", lambda: firmware.commands.append(["unmount"]))
    power.cut_power(lambda: firmware.commands.append(["last"]), abrupt=abrupt)
    assert firmware.commands[0] == ["unmount"]
    assert firmware.commands[-2:] == [["last"], command]


def test_the_program_that_does_so_is_systemctl_by_another_name() -> None:
    """It takes --no-sync by the names of halt(8) only, and sync(2) waits for all drives."""
    program = Path(__file__).parents[3] / "mkosi.extra" / AT_ONCE[0].removeprefix("/")
    assert program.readlink() == Path("../../bin/systemctl")


def test_power_stays_on_where_the_last_write_fails(
    firmware: Firmware, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(power, "unmount_all", lambda: None)
    with pytest.raises(OSError, match="Input/output error"):
        power.cut_power(fail, abrupt=True)
    assert not any("poweroff" in command for command in firmware.commands)


@pytest.mark.parametrize(
    ("told", "machine"),
    [
        ("4C4C4544-0043-4A10-8056-B2C04F4B5232\n", "4c4c4544-0043-4a10-8056-b2c04f4b5232"),
        ("03000200-0400-0500-0006-000700080009\n", ""),  # of every board of that maker
        (None, ""),
    ],
)
def test_a_machine_is_known_by_its_uuid_if_that_is_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str | None, machine: str
) -> None:
    file = tmp_path / "product_uuid"
    if told is not None:
        file.write_text(told)
    monkeypatch.setattr(this_boot, "_MACHINE_UUID", file)
    assert this_boot.read_this_boot().machine == machine
