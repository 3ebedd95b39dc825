# SPDX-License-Identifier: Apache-2.0
"""The only caller of reboot and power-off; sets the next boot's entry and the wake-up alarm.

On a BIOS machine the clock is also a memory that the stick has no part in: a mark that tells how
many restarts were counted. It is the last digit of the alarm's second, 1 to 9 in turns: the alarm's
registers are kept by the clock's battery, set or not. A 0 is no mark: most firmware sets it. The
second begins with an even digit; the initrd of a measured boot makes it an odd one, so that a boot
that begins again uncounted does not restart the machine (note-kept-entry).

Must never act on its own: the campaign counts each action, in the database, before it asks for it
here.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import NoReturn
from uuid import UUID

from appliance import sysfs
from appliance.campaign import boot_option, boot_report, watchdog
from appliance.campaign.grubenv import format_grubenv, parse_grubenv
from appliance.campaign.this_boot import ThisBoot, read_loader_variable
from appliance.drives.own_loader import OwnLoader
from appliance.errors import StepFailedError, StickError
from appliance.phrases import N_, Phrase
from appliance.report_boot import BootReport, Order
from appliance.run import run
from appliance.stick.partitions import (
    FAT,
    RUN,
    SAVE_FIRST,
    read_fat_type,
    unmount_all,
    writable_fat,
)

_GRUBENV = FAT / "kaltstart/grubenv"
_GRUBENV_BYTES = 1 << 16
_SET_VARIABLE = Path("/sys/firmware/efi/efivars/KaltstartSet-0d6ff8a1-6d0b-4b6f-9a55-2f1f6e1c7a34")
"""What is passed to an initrd that UEFI starts: attributes, then the UUID's 16 bytes."""
_KEPT_VARIABLE = (7).to_bytes(4, "little")
"""Kept without power, for the boot loader and the system (UEFI specification 2.10, 8.2)."""
_NEED_UEFI = {
    "drive": N_(
        'path = "drive" needs UEFI firmware, and this machine was started by BIOS: start it '
        'from the stick\'s UEFI entry, or choose path = "stick"'
    ),
    "installed": N_(
        'path = "installed" needs UEFI firmware, and this machine was started by BIOS: start it '
        "from the stick's UEFI entry"
    ),
}
_RTC = Path("/sys/class/rtc/rtc0")
_ALARM_REGISTERS = Path("/proc/driver/rtc")
"""Shows the alarm's time, set or not, as it was found when the kernel started (drivers/rtc)."""
_MARK = RUN / "restart-mark"
_MARKS = 9
_MARK_S = 20
"""Seconds after which a second ends with the same digit behind an even one."""
_LATER_S = 3600
"""A time for an alarm that is never to come, within the day that each clock can be set to."""
_PANIC = Path("/proc/sys/kernel/panic")
_PANIC_S = 30
_SYSRQ = Path("/proc/sysrq-trigger")
_POWER_OFF_AT_ONCE = ["/usr/lib/kaltstart/poweroff", "--force", "--force", "--no-sync"]
"""systemctl by the name under which it need not write back all drives first."""


def arm_entry(
    this_boot: ThisBoot, entry: str, *, set_uuid: str = "", esp_partuuid: str = ""
) -> None:
    """Make the boot loader take `entry` at the next start, once.

    `set_uuid` is of the array it starts from; its initrd registers no other one, and without it
    none. With `esp_partuuid` the firmware is to start the loader on that ESP of a drive instead of
    the stick's. Raises StepFailedError when that did not take.
    """
    if esp_partuuid and (why := explain_no_entry(this_boot, path="drive")):
        raise StepFailedError(why)
    if this_boot.firmware == "bios":
        _write_grubenv({"next_entry": entry} | ({"set_uuid": set_uuid} if set_uuid else {}))
        stored_entry = _read_grubenv().get("next_entry", "")
    else:
        hand_over_set(set_uuid)
        if esp_partuuid:
            boot_option.arm(boot_option.read_esp_place(esp_partuuid))
        else:
            boot_option.disarm()
        run(["bootctl", "set-oneshot", f"{entry}.conf"])
        stored_entry = read_loader_variable("LoaderEntryOneShot").removesuffix(".conf")
    if stored_entry != entry:
        raise StepFailedError(
            Phrase(N_("the firmware did not keep the one-shot boot entry {entry}"), entry=entry)
        )


def arm_installed(this_boot: ThisBoot, loader: OwnLoader, token: str) -> None:
    """Have the firmware start the drive's own loader next, once, and its system report that boot.

    Raises StepFailedError when that did not take.
    """
    if why := explain_no_entry(this_boot, path="installed"):
        raise StepFailedError(why)
    place = boot_option.read_esp_place(loader.esp_partuuid)
    number = boot_option.arm(place, name=boot_option.OWN_SYSTEM, file=loader.file)
    back = boot_option.read_number("BootCurrent")
    boot_report.give_order(Order(token, number, back, loader.esp_partuuid))


def read_report(token: str) -> BootReport | None:
    """What the system that was started with this token has reported; None where nothing is.

    Raises StepFailedError where that cannot be read.
    """
    return boot_report.read(token)


def forget_report() -> None:
    """It is stored, or of no use. Raises StepFailedError."""
    boot_report.forget()


def explain_no_entry(this_boot: ThisBoot, *, path: str = "stick") -> str:
    """Why no boot entry can be set on this machine, with this stick; empty where one can.

    `path`: stick | drive | installed, what the firmware is to start.
    """
    if this_boot.firmware != "bios":
        return ""
    if path in _NEED_UEFI:
        return _NEED_UEFI[path]
    kind = read_fat_type()
    if not kind:
        return ""  # not mounted: a plan is only looked at
    if kind != "vfat":
        # grub.cfg reads and writes the block there, and GRUB writes to FAT alone.
        return Phrase(
            N_(
                "boot tests on a BIOS machine need KALTSTART as FAT32, and its file "
                "system is {kind}: format it as FAT32 on another computer"
            ),
            kind=kind,
        )
    try:
        _read_grubenv()
    except StickError as error:
        return error.message
    return ""


def disarm_entry(this_boot: ThisBoot) -> None:
    """Take a one-shot entry back. The next start is the appliance's.

    Raises StepFailedError when that did not take.
    """
    if this_boot.firmware == "bios":
        _write_grubenv({})
    else:
        try:
            boot_option.disarm()  # first: it needs no program of a stick that may be gone
            boot_report.cancel()
        finally:
            if read_loader_variable("LoaderEntryOneShot"):
                run(["bootctl", "set-oneshot", ""])
            hand_over_set("")
    if entry_is_armed(this_boot):
        raise StepFailedError(
            N_("the one-shot boot entry is still set: the next start may be from a drive")
        )


def hand_over_set(set_uuid: str) -> None:
    """Have UEFI's firmware keep which array the next initrd may register; empty: none.

    Raises StepFailedError when that did not take.
    """
    if not set_uuid:
        if _SET_VARIABLE.exists():
            sysfs.remove_variable(_SET_VARIABLE)
        return
    content = _KEPT_VARIABLE + UUID(set_uuid).bytes
    if sysfs.read_bytes(_SET_VARIABLE) == content:
        return  # each boot of a campaign says the same: flash memory wears out
    sysfs.write_variable(_SET_VARIABLE, content)
    if sysfs.read_bytes(_SET_VARIABLE) != content:
        raise StepFailedError(N_("the firmware did not keep which array the boot may start"))


def entry_is_armed(this_boot: ThisBoot) -> bool:
    """Whether a one-shot entry waits for the next start: after a boot it should be used up."""
    if this_boot.firmware == "bios":
        return bool(_read_grubenv().get("next_entry", ""))
    return bool(read_loader_variable("LoaderEntryOneShot")) or boot_option.is_armed()


def remove_boot_option() -> None:
    """Leave no entry for a drive in the firmware: the appliance runs, and none is due.

    Raises StepFailedError.
    """
    boot_option.disarm()
    boot_report.cancel()


def read_selected_entry() -> str:
    """Which entry the boot loader started; empty where it does not say."""
    return read_loader_variable("LoaderEntrySelected")


def _write_grubenv(values: dict[str, str]) -> None:
    with writable_fat():
        try:
            descriptor = os.open(_GRUBENV, os.O_WRONLY)
            try:
                os.pwrite(descriptor, format_grubenv(values), 0)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise _no_grubenv(error) from error


def _read_grubenv() -> dict[str, str]:
    try:
        descriptor = os.open(_GRUBENV, os.O_RDONLY)
        try:
            # What the stick has, not what RAM still holds of what was written to it.
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            return parse_grubenv(os.read(descriptor, _GRUBENV_BYTES))
        finally:
            os.close(descriptor)
    except OSError as error:
        raise _no_grubenv(error) from error


def _no_grubenv(error: OSError) -> StickError:
    return StickError(
        Phrase(N_("kaltstart/grubenv on KALTSTART cannot be used: {error}"), error=error.strerror),
        hint=Phrase(N_("BIOS machines need this file; {hint}"), hint=SAVE_FIRST),
    )


def can_wake() -> bool:
    """Whether the clock can switch the machine on again."""
    return (_RTC / "wakealarm").exists()


def arm_alarm(after_s: int) -> float:
    """Have the clock wake the machine in `after_s` seconds; return that time since the epoch.

    The time is the hardware clock's own, whatever its zone or error. Cleared first, set relative
    to that clock, and read back. Raises StepFailedError when the clock did not take it.
    """
    alarm = _RTC / "wakealarm"
    mark = _read_mark()
    rtc_now = int(read_rtc_s())
    if mark.is_of_this_boot:
        after_s += (mark.digit - rtc_now - after_s) % _MARK_S
    sysfs.write_text(alarm, "0")
    sysfs.write_text(alarm, str(rtc_now + after_s) if mark.is_of_this_boot else f"+{after_s}")
    set_to = alarm.read_text().strip()
    rtc_now = int(read_rtc_s())
    if not set_to.isdigit() or not 0 <= int(set_to) - rtc_now <= after_s + 1:
        raise StepFailedError(
            Phrase(
                N_("the clock did not accept an alarm in {seconds} s: it reports {what}"),
                seconds=after_s,
                what=set_to or N_("nothing"),
            )
        )
    return float(set_to)


def read_rtc_s() -> float:
    """What the hardware clock says, in its own seconds since the epoch. Raises StepFailedError."""
    try:
        return float((_RTC / "since_epoch").read_text())
    except (OSError, ValueError) as error:
        raise StepFailedError(
            Phrase(N_("the hardware clock cannot be read: {error}"), error=error)
        ) from error


def clear_alarm() -> None:
    """Cancel the wake-up alarm."""
    if can_wake():
        _read_mark()  # what the kernel shows afterwards is not what the clock keeps
        sysfs.write_text(_RTC / "wakealarm", "0")


@dataclass(frozen=True, slots=True)
class _Mark:
    digit: int
    """Of how many restarts were counted; 0: the clock has none."""
    is_of_this_boot: bool = False
    is_proven: bool = False
    """The clock has kept one over the last restart: it was found to be the right one."""


def find_unmarked(this_boot: ThisBoot, count: int) -> int:
    """How many restarts beyond `count` the clock knows of; 0 where it has no mark.

    One that is behind was not set: power went right before that.
    """
    mark = _read_mark()
    if this_boot.firmware != "bios" or not mark.digit:
        return 0
    more = (mark.digit - 1 - count) % _MARKS
    if not more and not mark.is_of_this_boot:
        _note_mark(replace(mark, is_proven=True))
    return more if more <= _MARKS // 2 else 0


def is_mark_kept(this_boot: ThisBoot) -> bool:
    """Whether this machine's clock has shown, over the last restart, that it keeps a mark."""
    return this_boot.firmware == "bios" and _read_mark().is_proven


def mark_count(this_boot: ThisBoot, count: int) -> None:
    """Have a BIOS machine's clock keep how many restarts were counted. Raises StepFailedError."""
    if this_boot.firmware != "bios" or not can_wake():
        return
    mark = replace(_read_mark(), digit=count % _MARKS + 1, is_of_this_boot=True)
    alarm = _RTC / "wakealarm"
    armed = sysfs.read_text(alarm)
    at_s = int(armed) if armed.isdigit() else int(read_rtc_s()) + _LATER_S
    later_s = (mark.digit - at_s) % _MARK_S
    if later_s or not armed.isdigit():
        sysfs.write_text(alarm, "0")
        sysfs.write_text(alarm, str(at_s + later_s))
    if not armed.isdigit():
        sysfs.write_text(alarm, "0")
    _note_mark(mark)


def _read_mark() -> _Mark:
    """As this boot has left it; at first as the one before did."""
    if noted := sysfs.read_text(_MARK).split():
        digit, is_of_this_boot, is_proven = map(int, noted)
        return _Mark(digit, bool(is_of_this_boot), bool(is_proven))
    lines = sysfs.read_text(_ALARM_REGISTERS).splitlines()
    second = next((line.rstrip()[-1] for line in lines if line.startswith("alrm_time")), "")
    mark = _Mark(int(second) if second.isdigit() else 0)
    _note_mark(mark)
    return mark


def _note_mark(mark: _Mark) -> None:
    with suppress(OSError):  # /run may be full
        _MARK.parent.mkdir(parents=True, exist_ok=True)
        _MARK.write_text(" ".join(str(int(value)) for value in astuple(mark)))


def restart_after_panic(*, wanted: bool) -> None:
    """Whether a kernel that panics restarts the machine; otherwise it stops there.

    Only for a boot whose restart is counted already: the appliance's command line has panic=0.
    """
    sysfs.write_text(_PANIC, str(_PANIC_S if wanted else 0))


def power_off() -> None:
    """Switch off at once.

    systemd ends all processes and unmounts before it does (systemctl(1), --force). Where that
    hangs, the machine's watchdog restarts it.
    """
    unmount_all()
    with _watched():
        run(["systemctl", "--force", "poweroff"])


def switch_off_without_programs() -> None:
    """Switch off where no program can be started: the kernel shuts the devices down, no more.

    Nothing is unmounted. Raises StepFailedError.
    """
    sysfs.write_text(_SYSRQ, "o")  # Documentation/admin-guide/sysrq.rst


def cut_power(last: Callable[[], None], *, abrupt: bool) -> None:
    """Switch off right after `last`, which is called when the stick is released.

    `abrupt`: no process ends and nothing is unmounted first (halt(8), --force twice), nor are other
    drives waited for, of which one may hang. Raises what `last` raises; the machine stays on then.
    """
    unmount_all()
    command = _POWER_OFF_AT_ONCE if abrupt else ["systemctl", "--force", "poweroff"]
    # Read from the stick beforehand: what comes between the last flush and the end is lost time.
    run(["systemctl", "--version"])
    with _watched():
        last()
        run(command)


@contextmanager
def _watched() -> Iterator[None]:
    watchdog.start()
    try:
        yield
    except BaseException:
        watchdog.stop()
        raise


def reboot() -> None:
    """Restart at once, through the firmware."""
    unmount_all()
    run(["systemctl", "--force", "reboot"])


def wait_for_the_end() -> NoReturn:
    """Power is about to go, or nothing can be done before it has gone; the database is closed."""
    while True:
        time.sleep(1)
