# SPDX-License-Identifier: Apache-2.0
"""Report how long a system's own start took to Kaltstart, and return to the stick.

One file for any Linux with systemd and Python 3.8 on a UEFI machine: copied from KALTSTART, it
needs nothing beside it and imports nothing of Kaltstart. Its unit does nothing unless Kaltstart has
left an order in the firmware, and removes that order before anything else: one order is one report
and one restart at most. Nothing is written to the stick.

The appliance takes the pure functions from here: there is one form of order and report.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import math
import os
import re
import select
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, NamedTuple, Sequence

_GUID = "0d6ff8a1-6d0b-4b6f-9a55-2f1f6e1c7a34"  # Kaltstart's own
_GLOBAL_GUID = "8be4df61-93ca-11d2-aa0d-00e098032b8c"
ORDER_VARIABLE = f"KaltstartOrder-{_GUID}"
REPORT_VARIABLE = f"KaltstartReport-{_GUID}"
VERSION = 1
PROPERTIES = (
    "FirmwareTimestampMonotonic",
    "LoaderTimestampMonotonic",
    "InitRDTimestampMonotonic",
    "UserspaceTimestampMonotonic",
    "FinishTimestampMonotonic",
)
"""Of org.freedesktop.systemd1.Manager, in microseconds; firmware and loader count back from the
kernel's start, the others forward from it; 0 is not known (org.freedesktop.systemd1(5))."""
MAX_REPORT_BYTES = 1024
"""Some firmware keeps no larger variable."""

_NOBODY = "-"
_EFIVARS = Path("/sys/firmware/efi/efivars")
_ATTRIBUTES = (7).to_bytes(4, "little")  # kept without power, for boot and system
_FS_IOC_SETFLAGS = 0x4008_6602  # linux/fs.h
_BY_PARTUUID = Path("/dev/disk/by-partuuid")
_BLOCKS = Path("/sys/class/block")
_MOUNTS = Path("/proc/self/mountinfo")
_VOLATILE_ROOT = Path("/run/systemd/volatile-root")
"""With systemd.volatile=, a link to what is below the root (systemd's volatile-root.c)."""
_RTC = Path("/sys/class/rtc/rtc0/since_epoch")
_KEYBOARDS = Path("/dev/input/by-path")
_KEY_EVENT = struct.Struct("llHHi")  # struct input_event, linux/input.h
_EV_KEY = 1
_COUNTDOWN_S = 10
_CLOCKS_APART_S = 2.5
"""The hardware clock counts full seconds, and the kernel reads it once, at its start."""
_KERNEL_TIMESTAMP = (
    *("busctl", "get-property", "org.freedesktop.systemd1", "/org/freedesktop/systemd1"),
    *("org.freedesktop.systemd1.Manager", "KernelTimestamp"),
)

UNIT = "kaltstart-report-boot.service"
_UNITS = Path("/etc/systemd/system")
_PROGRAM = Path("/etc/kaltstart-report-boot.py")
_LAST = Path("/etc/kaltstart-report-boot.last")
"""Token of the order that was followed last: firmware that forgets may bring an order back."""
_SYSTEMD = Path("/run/systemd/system")  # sd_booted(3)
_MIN_SYSTEMD = 240  # `is-system-running --wait`


class ReportError(Exception):
    """What is wrong, and what to do."""


class Order(NamedTuple):
    """What Kaltstart leaves for the next start: a report with this token, then the way back."""

    token: str
    option: int
    """Number of the boot entry that the firmware is to start."""
    back: int | None
    """Number of the entry the stick was started by; None where the firmware did not say."""
    esp_partuuid: str
    """Of the drive that is started."""


class BootReport(NamedTuple):
    """What a started system said of its start."""

    token: str
    error: str
    """Why there are no figures; empty where there are."""
    option: int | None
    """Number of the boot entry in the order."""
    booted: int | None
    """Number of the boot entry that the firmware started (BootCurrent)."""
    boot_id: str
    system: str
    """Its name, and a part of a hash of its machine ID."""
    times: str
    """`systemctl show`'s lines for PROPERTIES."""
    stat: str
    """The drive's line of counts from /sys/class/block/X/stat; empty where none is kept."""
    started_at_s: float | None
    """When the kernel started, by the hardware clock, in that clock's seconds since the epoch;
    None where that clock cannot be read, or was set since."""
    stopped: bool
    """Whether a key was pressed before the restart."""


def format_order(order: Order) -> str:
    """One line. Pure."""
    back = _NOBODY if order.back is None else f"{order.back:04X}"
    return f"{VERSION} {order.token} {order.option:04X} {back} {order.esp_partuuid}"


def parse_order(text: str) -> Order:
    """What `format_order` made. Pure. Raises ReportError."""
    match = re.fullmatch(
        rf"{VERSION} ([0-9a-f]+) ([0-9A-F]{{4}}) ([0-9A-F]{{4}}|-) ([0-9a-f-]{{36}})", text
    )
    if not match:
        raise ReportError(f"this is no order of version {VERSION}: {text!r}")
    back = None if match[3] == _NOBODY else int(match[3], 16)
    return Order(match[1], int(match[2], 16), back, match[4])


def format_report(report: BootReport) -> str:
    """Lines of `key=value`. Pure."""
    option, booted = (
        "" if number is None else f"{number:04X}" for number in (report.option, report.booted)
    )
    started = "" if report.started_at_s is None else f"{report.started_at_s:.3f}"
    lines = [
        f"kaltstart={VERSION}",
        f"token={report.token}",
        f"error={_one_line(report.error)[:200]}",
        f"option={option}",
        f"booted={booted}",
        f"boot_id={report.boot_id}",
        f"system={_one_line(report.system)[:100]}",
        f"stat={_one_line(report.stat)}",
        f"started_at_s={started}",
        f"stopped={int(report.stopped)}",
        *report.times.split(),
    ]
    return "\n".join(lines)


def parse_report(text: str) -> BootReport:
    """What `format_report` made. Pure. Raises ReportError."""
    fields = dict(line.partition("=")[::2] for line in text.splitlines())
    if fields.get("kaltstart") != str(VERSION):
        raise ReportError(f"it is of version {fields.get('kaltstart', 'none')!r}, not {VERSION}")
    try:
        started = float(fields["started_at_s"]) if fields["started_at_s"] else None
        if started is not None and not math.isfinite(started):
            raise ReportError(f"started_at_s is no time: {started}")
        return BootReport(
            token=fields["token"],
            error=fields["error"],
            option=int(fields["option"], 16) if fields["option"] else None,
            booted=int(fields["booted"], 16) if fields["booted"] else None,
            boot_id=fields["boot_id"],
            system=fields["system"],
            times="\n".join(f"{name}={fields.get(name, '')}" for name in PROPERTIES),
            stat=fields["stat"],
            started_at_s=started,
            stopped=fields["stopped"] == "1",
        )
    except (KeyError, ValueError) as error:
        raise ReportError(f"a line is missing or spoilt: {error}") from error


def _one_line(text: str) -> str:
    return " ".join(text.split())


# On the machine whose start is reported -----------------------------------------------------------


def format_unit(python: str) -> str:
    """The unit that reports, with the interpreter of that path. Pure.

    Before start-up has finished only the shell runs, and that only if there is an order.
    """
    wait = "timeout 1800 systemctl is-system-running --wait > /dev/null"
    report = f"exec {python} {_PROGRAM} --report"
    return f"""\
[Unit]
Description=Kaltstart: report this start and return to the stick
ConditionPathExists={_EFIVARS / ORDER_VARIABLE}
[Service]
ExecStart=/bin/sh -c "{wait}; {report}"
[Install]
WantedBy=multi-user.target
"""


def _install() -> None:
    if os.geteuid():
        raise ReportError("this needs root: run it with sudo")
    if not _SYSTEMD.is_dir():
        raise ReportError("this machine does not run systemd")
    version = re.search(r"\d+", _run("systemctl", "--version"))
    if version is None or int(version[0]) < _MIN_SYSTEMD:
        raise ReportError(f"systemd is older than {_MIN_SYSTEMD}")
    if not _EFIVARS.is_dir():
        raise ReportError(
            "this system was not started by UEFI firmware: it cannot be told to return"
        )
    _PROGRAM.write_text(Path(__file__).read_text())
    (_UNITS / UNIT).write_text(format_unit(sys.executable or "/usr/bin/python3"))
    _run("systemctl", "daemon-reload")
    _run("systemctl", "enable", UNIT)
    print(f"{UNIT} is installed. It acts only in a start that Kaltstart has asked for.")
    print("To remove it: the same program with --remove.")


def _remove() -> None:
    if (_UNITS / UNIT).exists():
        _run("systemctl", "disable", UNIT)
        (_UNITS / UNIT).unlink()
    for path in (_PROGRAM, _LAST):
        if path.exists():
            path.unlink()


def _report() -> None:
    """Take the order, report, and return: once, since the order is gone by then."""
    path = _EFIVARS / ORDER_VARIABLE
    order_text = path.read_bytes()[len(_ATTRIBUTES) :].decode(errors="replace")
    _remove_variable(path)
    if path.exists():
        raise ReportError("the firmware keeps the order: without a restart, which could be endless")
    order = parse_order(order_text)
    if _LAST.exists() and _LAST.read_text() == order.token:
        raise ReportError(
            "the firmware brought back an order that was followed: without a restart, which could "
            "be endless"
        )
    try:
        report = _collect(order)
    except (ReportError, OSError, ValueError) as error:
        report = BootReport(order.token, str(error), None, None, "", "", "", "", None, False)
    _write_variable(_EFIVARS / REPORT_VARIABLE, format_report(report).encode())
    if _is_key_pressed(_COUNTDOWN_S):
        report = report._replace(stopped=True)
        _write_variable(_EFIVARS / REPORT_VARIABLE, format_report(report).encode())
        _say("Kaltstart: a key was pressed. This system keeps running; the campaign pauses.")
        return
    with _LAST.open("w") as file:
        file.write(order.token)
        file.flush()
        os.fsync(file.fileno())  # before the restart it is to be known after
    if order.back is not None and (_EFIVARS / f"Boot{order.back:04X}-{_GLOBAL_GUID}").exists():
        _write_variable(_EFIVARS / f"BootNext-{_GLOBAL_GUID}", order.back.to_bytes(2, "little"))
    try:
        _run("systemctl", "reboot")
    except ReportError:
        _say("Kaltstart: this system does not restart: restart it by hand. Its report is kept.")
        raise


def _collect(order: Order) -> BootReport:
    """The figures of this start. Raises ReportError, OSError, ValueError."""
    started_at_s = _find_start_s()
    part = (_BY_PARTUUID / order.esp_partuuid).resolve(strict=True)
    disk = (_BLOCKS / part.name).resolve(strict=True).parent
    below = _find_root_disks()
    if below and disk.name not in below:
        raise ReportError(
            f"its root file system is on {' and '.join(sorted(below))}, another drive than "
            f"{disk.name}, whose loader was started: they carry the same UUID or name"
        )
    times = _run("systemctl", "show", *(f"--property={name}" for name in PROPERTIES))
    if not re.search(r"^FinishTimestampMonotonic=[1-9]", times, re.MULTILINE):
        raise ReportError("start-up did not finish within half an hour")
    current = (_EFIVARS / f"BootCurrent-{_GLOBAL_GUID}").read_bytes()
    return BootReport(
        token=order.token,
        error="",
        option=order.option,
        booted=int.from_bytes(current[4:6], "little"),
        boot_id=Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        system=_name_system(),
        times=times,
        stat=(disk / "stat").read_text(),
        started_at_s=started_at_s,
        stopped=False,
    )


def _find_root_disks() -> set[str]:
    """Kernel names of the disks that the root lies on; empty where that is not known (ZFS)."""
    # proc_pid_mountinfo(5): the fifth field is the mount point, the second behind " - " the source.
    sources = [
        line.partition(" - ")[2].split()[1]
        # Names have what bytes they like but spaces and line ends.
        for line in _MOUNTS.read_text(errors="replace").split("\n")
        if line.split(" ")[4:5] == ["/"]
    ]
    try:
        # By the source: the device number of btrfs is none of a disk.
        root = _VOLATILE_ROOT if _VOLATILE_ROOT.exists() else Path(sources[-1])
        return _find_disks((_BLOCKS / root.resolve().name).resolve(strict=True))
    except (IndexError, OSError):
        return set()


def _find_disks(device: Path) -> set[str]:
    """The disks below a block device's folder in /sys: below LVM, md and LUKS as well."""
    if (device / "partition").exists():
        # That of an array has no `slaves` of its own (md126p2).
        device = device.parent
    below = device / "slaves"
    slaves = [link.resolve() for link in below.iterdir()] if below.is_dir() else []
    return {disk for slave in slaves for disk in _find_disks(slave)} or {device.name}


def _find_start_s() -> float | None:
    """See BootReport.

    A system that asks the network for the time sets the hardware clock by it (sync_cmos_clock in
    kernel/time/ntp.c). systemd has noted before when the kernel started.
    """
    try:
        started_s = int(_RTC.read_text()) - time.monotonic()
        noted_s = int(_run(*_KERNEL_TIMESTAMP).split()[-1]) / 1e6  # "t 1732576000250000"
    except (OSError, ValueError, IndexError, ReportError):
        return None
    return started_s if abs(started_s - noted_s) <= _CLOCKS_APART_S else None


def _name_system() -> str:
    release = Path("/etc/os-release").read_text()
    name = re.search(r'^PRETTY_NAME="?([^"\n]*)', release, re.MULTILINE)
    machine = hashlib.sha256(Path("/etc/machine-id").read_bytes()).hexdigest()[:12]
    return f"{name[1] if name else 'Linux'}, Linux {os.uname().release}, machine {machine}"


def _is_key_pressed(within_s: int) -> bool:
    """Whether a key of a keyboard is pressed before the restart."""
    devices = []
    for path in sorted(_KEYBOARDS.glob("*-kbd")):
        try:
            devices.append(os.open(str(path), os.O_RDONLY | os.O_NONBLOCK))
        except OSError:
            continue
    try:
        for left_s in range(within_s, 0, -1):
            _say(f"Kaltstart: reported. Back to the stick in {left_s} s. Any key stops it.")
            end_s = time.monotonic() + 1
            while (wait_s := end_s - time.monotonic()) > 0:
                ready, _, _ = select.select(devices, [], [], wait_s)
                if any(_has_key(device) for device in ready):
                    return True
    finally:
        for device in devices:
            os.close(device)
    return False


def _has_key(device: int) -> bool:
    try:
        events = os.read(device, 64 * _KEY_EVENT.size)
    except OSError:
        return False
    whole = len(events) - len(events) % _KEY_EVENT.size
    return any(
        kind == _EV_KEY and value for _, _, kind, _, value in _KEY_EVENT.iter_unpack(events[:whole])
    )


def _say(text: str) -> None:
    try:
        with Path("/dev/console").open("w") as console:
            console.write(f"{text}\r\n")
    except OSError:
        pass
    print(text, flush=True)


def _write_variable(path: Path, content: bytes) -> None:
    _unprotect(path)
    # In one write(): each is a SetVariable() of its own (fs/efivarfs/file.c).
    fd = os.open(str(path), os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        os.write(fd, _ATTRIBUTES + content)
    finally:
        os.close(fd)


def _remove_variable(path: Path) -> None:
    _unprotect(path)
    path.unlink()


def _unprotect(path: Path) -> None:
    """The kernel marks variables that it does not know as immutable."""
    try:
        fd = os.open(str(path), os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        fcntl.ioctl(fd, _FS_IOC_SETFLAGS, struct.pack("l", 0))
    finally:
        os.close(fd)


def _run(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except FileNotFoundError as error:
        raise ReportError(f"{command[0]} is not on this machine") from error
    except subprocess.CalledProcessError as error:
        raise ReportError(f"{' '.join(command)}: {error.stderr.strip()}") from error
    return done.stdout


def main(arguments: Sequence[str] | None = None) -> int:
    """Install the unit, remove it, or, started by the unit, report."""
    parser = argparse.ArgumentParser(
        prog="report-boot.py",
        description="Let this system report its own start to Kaltstart ([boot] path ="
        ' "installed") and return to the stick. Exit codes: 0 done, 1 it cannot be done.',
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--install", action="store_const", const=_install, dest="do")
    what.add_argument("--remove", action="store_const", const=_remove, dest="do")
    what.add_argument(
        "--report", action="store_const", const=_report, dest="do", help=argparse.SUPPRESS
    )
    do: Callable[[], None] = parser.parse_args(arguments).do
    try:
        do()
    except (ReportError, OSError) as error:
        print(f"report-boot.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
