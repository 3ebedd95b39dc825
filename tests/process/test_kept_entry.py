# SPDX-License-Identifier: Apache-2.0
"""A measured boot whose one-shot entry the firmware kept: the initrd's script, in our folders."""

import re
import subprocess
from pathlib import Path

import pytest

from appliance.campaign import this_boot

_REPO = Path(__file__).parents[2]
_SCRIPT = _REPO / "mkosi.images/initrd/mkosi.extra/usr/lib/kaltstart/note-kept-entry"
_ENTRY = f"LoaderEntryOneShot-{this_boot._LOADER_GUID}"
_BOOT_NEXT = f"BootNext-{this_boot._GLOBAL_GUID}"
_NOW_S = 1795000008
_DROP_INS = {
    "kaltstart-deadline.service.d": "[Service]\nExecStart=\n"
    "ExecStart=/usr/bin/systemctl --force poweroff\n",
    "kaltstart-measure.service.d": "[Unit]\nFailureAction=poweroff-force\n",
    "system.conf.d": "[Manager]\nCrashAction=poweroff\n",
}


@pytest.mark.parametrize(
    ("options", "variables", "is_kept"),
    [
        ("quiet kaltstart.slot=1", [_ENTRY], True),
        ("quiet kaltstart.slot=1", [_BOOT_NEXT], True),
        ("kaltstart.slot=1", ["LoaderInfo-1"], False),
        ("kaltstart.slot=1", [], True),  # they cannot be read: unknown
        ("quiet", [_ENTRY], False),  # the appliance: it counts
    ],
)
def test_what_ends_a_boot_that_would_come_again(
    tmp_path: Path, options: str, variables: list[str], *, is_kept: bool
) -> None:
    (tmp_path / "efivars").mkdir()
    for name in variables:
        (tmp_path / "efivars" / name).touch()
    assert _run(tmp_path, options) == is_kept


def _run(folder: Path, options: str) -> bool:
    """Whether this boot ends in a power-off, whatever happens."""
    (folder / "cmdline").write_text(f"{options}\n")
    (folder / "panic").write_text("0\n")
    script = _SCRIPT.read_text()
    for was, now in (
        ("/sys/firmware/efi/efivars", "efivars"),
        ("/proc/sys/kernel/panic", "panic"),
        ("/proc/cmdline", "cmdline"),
        ("/proc/driver/rtc", "registers"),
        ("/sys/class/rtc/rtc0", "rtc0"),
        ("/run/kaltstart", "run"),
        ("/run/systemd", "units"),
    ):
        assert was in script
        script = script.replace(was, str(folder / now))
    # Each of them is kept.
    script = script.replace('> "$clock/wakealarm"', '>> "$clock/wakealarm"')
    subprocess.run(["sh", "-c", script], check=True)
    made = {path.parent.name: path.read_text() for path in folder.glob("units/**/kept-entry.conf")}
    assert made in ({}, _DROP_INS)
    restarts = not made and "kaltstart.slot=" in options  # the engine says it in the appliance
    assert (folder / "panic").read_text() == ("30\n" if restarts else "0\n")
    return bool(made)


def _make_clock(folder: Path, second: int) -> Path:
    """One that keeps an alarm with that second; what alarms it is given."""
    (folder / "rtc0").mkdir(exist_ok=True)
    (folder / "rtc0/since_epoch").write_text(f"{_NOW_S}\n")
    (folder / "rtc0/wakealarm").write_text("")
    (folder / "registers").write_text(
        f"rtc_time\t: 11:02:07\nrtc_date\t: 2026-11-25\nalrm_time\t: 12:40:{second:02}\n"
        "alrm_date\t: 2026-11-25\nalarm_IRQ\t: no\n"
    )
    return folder / "rtc0/wakealarm"


@pytest.mark.parametrize(
    ("second", "ends_off"),
    [(1, False), (8, False), (9, False), (28, False), (45, False), (11, True), (39, True),
     (0, True), (10, True), (20, True), (50, True)],
)  # fmt: skip
def test_on_a_bios_machine_a_boot_that_no_one_counted_restarts_once(
    tmp_path: Path, second: int, *, ends_off: bool
) -> None:
    """The clock keeps that it has begun: where the stick forgets it, the next one ends off."""
    alarms = _make_clock(tmp_path, second)
    assert _run(tmp_path, "quiet kaltstart.slot=1") == ends_off
    if ends_off:
        assert alarms.read_text() == ""
        return
    # What this boot reads is the count that was there.
    assert (tmp_path / "run/restart-mark").read_text() == f"{second % 10} 0 0\n"
    off, given, off_again = map(int, alarms.read_text().split())
    assert (off, off_again) == (0, 0)
    assert 3600 <= given - _NOW_S < 3620
    # Beside it the count stays, and a boot after this one finds both.
    assert given % 10 == second % 10
    _make_clock(tmp_path, given % 60)
    assert _run(tmp_path, "kaltstart.slot=1")


def test_without_a_clock_it_ends_off(tmp_path: Path) -> None:
    assert _run(tmp_path, "kaltstart.slot=1")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("shown", ["**:**:**", "12:40:", "12:40:-1", "none"])
def test_with_a_time_that_is_none_it_ends_off(tmp_path: Path, shown: str) -> None:
    """What the shell cannot count with would end the script, and nothing would hold the boot."""
    alarms = _make_clock(tmp_path, 1)
    (tmp_path / "registers").write_text(f"alrm_time\t: {shown}\n")
    assert _run(tmp_path, "kaltstart.slot=1")
    assert alarms.read_text() == ""


@pytest.mark.parametrize("root", ["mkosi.extra", "mkosi.images/initrd/mkosi.extra"])
@pytest.mark.parametrize(
    ("kept", "action"),
    [(_ENTRY, "poweroff"), (_BOOT_NEXT, "poweroff"), ("", "reboot")],
)
def test_an_emergency_is_no_loop(tmp_path: Path, root: str, kept: str, action: str) -> None:
    unit = _REPO / root / "usr/lib/systemd/system/emergency.service.d/kaltstart.conf"
    (command,) = re.findall(
        r"^ExecStart=/bin/sh -c '(.*?)'$", unit.read_text(), re.MULTILINE | re.DOTALL
    )
    (tmp_path / "cmdline").write_text("kaltstart.slot=1\n")
    (tmp_path / "efivars").mkdir()
    if kept:
        (tmp_path / "efivars" / kept).touch()
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "systemctl").write_text('#!/bin/sh\necho "$@"\n')
    (tools / "systemctl").chmod(0o755)
    command = (
        command.replace("\\\n", "")
        .replace("/proc/cmdline", str(tmp_path / "cmdline"))
        .replace("/sys/firmware/efi/efivars", str(tmp_path / "efivars"))
    )
    done = subprocess.run(
        ["sh", "-c", command],
        env={"PATH": f"{tools}:/usr/bin:/bin"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["--force", action]


def test_the_script_is_run_before_the_first_device_is_looked_for() -> None:
    unit = _REPO / "mkosi.images/initrd/mkosi.extra/usr/lib/systemd/system"
    text = (unit / "systemd-udev-trigger.service.d/kaltstart.conf").read_text()
    assert "ExecStartPre=-/usr/lib/kaltstart/note-kept-entry" in text.splitlines()
    assert _SCRIPT.stat().st_mode & 0o111
