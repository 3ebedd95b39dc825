# SPDX-License-Identifier: Apache-2.0
"""DRIVES.toml, and the nbdkit processes behind it. What QEMU must know is in `devices`."""

import json
import os
import re
import signal
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from appliance.units import slug
from tests.lab.drive_table import DrivesError, Table
from tests.lab.faults import Faults, parse_faults
from tests.lab.stick_faults import STICK_PORTS, StickFaults, new_seed, parse_stick_faults
from tests.lab.timing import SeekCurve, Timing, write_timing
from tests.lab.timing_keys import TIMING_KEYS, parse_timing

_REPO = Path(__file__).resolve().parents[2]
_MODELS = ("hdd", "sshd", "ssd")
_BUSES = ("sata", "ide", "nvme", "scsi", "raid", "sas", "usb")
_SECTORS = ("512n", "512e", "4Kn")
_IDE_DRIVES = 4
"""Two channels with two drives each."""
_SERIAL_LIMIT = {"sata": 20, "ide": 20, "nvme": 20, "scsi": 36, "raid": 36, "sas": 36, "usb": 36}
_KEYS = (
    "serial", "model", "bus", "size", "nand", "faults", "wwn", "product", "file",
    "seek_min_s", "seek_half_s", "seek_max_s", "sectors", "removable", "read_only", "namespaces",
    *TIMING_KEYS,
)  # fmt: skip
_STICK_KEYS = ("port", "faults", "seed")


@dataclass(frozen=True, slots=True)
class ModelledDrive:
    """One `[[drive]]` of DRIVES.toml."""

    serial: str
    """As the drive reports it; anything, even empty or twice."""
    model: str = "ssd"
    bus: str = "sata"
    size_bytes: int = 4 << 30
    nand_bytes: int = 512 << 20
    faults: Faults = field(default_factory=Faults)
    wwn: str = ""
    """`0x…`, 64 bits; sata and scsi only."""
    product: str = ""
    file: Path | None = None
    """What the drive holds at first; copied, never changed."""
    curve: SeekCurve = field(default_factory=SeekCurve)
    """Of hdd and sshd."""
    timing: Timing = field(default_factory=Timing)
    """What else decides about its time."""
    sectors: str = "512n"
    """512n | 512e | 4Kn"""
    removable: bool = False
    """Whether it calls its medium removable; scsi and usb only."""
    read_only: bool = False
    """Whether it refuses writes itself; scsi and usb only."""
    namespaces: int = 1
    """Into how many equal namespaces an NVMe drive is cut."""
    paths: int = 1
    """2: both its ports are connected, with a WWN; scsi only, and not by DRIVES.toml."""
    link_bytes_s: int = 0
    """All drives with this rate share it, as those behind a narrow link; 0: it shares nothing. Not
    by DRIVES.toml."""
    name: str = ""
    """Names its files in the out folder."""


DEFAULT_DRIVES: tuple[ModelledDrive, ...] = (
    ModelledDrive(serial="LAB-HDD-1", model="hdd", name="LAB-HDD-1"),
    ModelledDrive(serial="LAB-SSHD-1", model="sshd", name="LAB-SSHD-1"),
    ModelledDrive(serial="LAB-SSD-1", model="ssd", name="LAB-SSD-1"),
)


def parse_drives(text: str, *, folder: Path = Path()) -> tuple[ModelledDrive, ...]:
    """The drives in a DRIVES.toml; `folder` is where relative `file`s are looked up."""
    data = _load(text)
    unknown = sorted(set(data) - {"drive", "stick"})
    if unknown:
        raise DrivesError(f"unknown key {unknown[0]!r}; only [[drive]] and [stick] are allowed")
    tables = data.get("drive", [])
    if not isinstance(tables, list):
        raise DrivesError("drives are written as [[drive]]")
    drives = [_drive(table, number, folder) for number, table in enumerate(tables, 1)]
    ide = [drive for drive in drives if drive.bus == "ide"]
    if len(ide) > _IDE_DRIVES:
        raise DrivesError(f"{len(ide)} drives on ide; the chipset has room for {_IDE_DRIVES}")
    return name_drives(drives)


def parse_stick(text: str) -> tuple[str, StickFaults | None]:
    """What the table [stick] of a DRIVES.toml says: its port and its faults, None without any.

    Without `seed` a new one is chosen.
    """
    table = _load(text).get("stick", {})
    if not isinstance(table, dict):
        raise DrivesError("the stick is written as [stick]")
    if unknown := sorted(set(table) - set(_STICK_KEYS)):
        raise DrivesError(f"stick: unknown key {unknown[0]!r}; allowed: {', '.join(_STICK_KEYS)}")
    port, texts = table.get("port", STICK_PORTS[0]), table.get("faults", [])
    if port not in STICK_PORTS:
        raise DrivesError(f"stick: port = {port!r} is none of {', '.join(STICK_PORTS)}")
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        raise DrivesError("stick: faults must be a list of texts")
    seed = table.get("seed", new_seed())
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise DrivesError("stick: seed must be a number")
    try:
        faults = parse_stick_faults(texts, seed=seed)
    except ValueError as error:
        raise DrivesError(f"stick: {error}") from None
    return port, faults if texts else None


def _load(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DrivesError(f"not TOML: {error}") from None


def name_drives(drives: Sequence[ModelledDrive]) -> tuple[ModelledDrive, ...]:
    """Give each drive a file name of its own, whatever its serial is."""
    named: list[ModelledDrive] = []
    for number, drive in enumerate(drives, 1):
        name = slug(drive.serial)
        if name in {other.name for other in named}:
            name = f"{name}-{number}"
        named.append(replace(drive, name=name))
    return tuple(named)


class _Table(Table):
    """With what depends on the bus."""

    def curve(self) -> SeekCurve:
        usual = SeekCurve()
        return SeekCurve(
            min_s=self.seconds("seek_min_s", usual.min_s),
            half_s=self.seconds("seek_half_s", usual.half_s),
            max_s=self.seconds("seek_max_s", usual.max_s),
        )

    def size_of(self, sectors: str) -> int:
        size_bytes, block_bytes = self.size("size", "4G"), 4096 if sectors == "4Kn" else 512
        if not size_bytes or size_bytes % block_bytes:
            raise self.problem(f"size must be some blocks of {block_bytes} bytes, such as 4G")
        return size_bytes

    def faults(self, bus: str, size_bytes: int) -> Faults:
        texts = self.values.get("faults", [])
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise self.problem("faults must be a list of texts")
        try:
            faults = parse_faults(texts)
        except ValueError as error:
            raise self.problem(str(error)) from None
        # On all others Linux resets the controller after half a minute, and QEMU then waits for the
        # request itself: the whole machine would stand still.
        if faults.can_stall and bus != "scsi":
            raise self.problem("stall is for scsi only")
        for text in texts:
            one = parse_faults([text])
            if any(each.offset >= size_bytes for each in (*one.read_errors, *one.slow)):
                told = f"begins behind the last of its {size_bytes} bytes"
                raise self.problem(f"fault {text!r} {told}")
            if one.real_bytes is not None and one.real_bytes >= size_bytes:
                raise self.problem(f"fault {text!r} is none: the drive is no larger")
        return faults

    def sectors(self, bus: str) -> str:
        sectors = self.text("sectors", "512n", _SECTORS)
        # QEMU's IDE disks know no other logical sector, and its NVMe no physical one of its own.
        if (bus, sectors) in {("sata", "4Kn"), ("nvme", "512e")}:
            raise self.problem(f"QEMU has no {sectors} drives on {bus}; scsi and usb have all")
        return sectors

    def flag(self, key: str, bus: str) -> bool:
        value = self.truth(key, default=False)
        if value and bus not in {"scsi", "usb"}:
            raise self.problem(f"{key} is for scsi and usb only")
        return value

    def namespaces(self, bus: str) -> int:
        value = self.values.get("namespaces", 1)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 9:
            raise self.problem("namespaces must be a number from 1 to 9")
        if value > 1 and bus != "nvme":
            raise self.problem("namespaces is for nvme only")
        return value

    def wwn(self, bus: str) -> str:
        wwn = self.text("wwn", "")
        if wwn and bus not in {"sata", "scsi"}:
            raise self.problem("wwn is for sata and scsi only")
        if wwn and not re.fullmatch("0x[0-9a-fA-F]{1,16}", wwn):
            raise self.problem("wwn must be hexadecimal, such as 0x5000c50012345678")
        return wwn


def _drive(values: dict[str, Any], number: int, folder: Path) -> ModelledDrive:
    table = _Table(values, number)
    unknown = sorted(set(values) - set(_KEYS))
    if unknown:
        raise table.problem(f"unknown key {unknown[0]!r}; allowed: {', '.join(_KEYS)}")
    if "serial" not in values:
        raise table.problem("serial is missing")
    model = table.text("model", "ssd", _MODELS)
    bus = table.text("bus", "sata", _BUSES)
    serial = table.text("serial", "")
    if len(serial) > _SERIAL_LIMIT[bus]:
        raise table.problem(f"a serial on {bus} has {_SERIAL_LIMIT[bus]} characters at most")
    if "nand" in values and model != "sshd":
        raise table.problem("nand is for model sshd only")
    file = table.text("file", "")
    nand_bytes = table.size("nand", "512M")
    sectors = table.sectors(bus)
    size_bytes = table.size_of(sectors)
    return ModelledDrive(
        serial=serial,
        model=model,
        bus=bus,
        size_bytes=size_bytes,
        nand_bytes=nand_bytes,
        faults=table.faults(bus, size_bytes),
        wwn=table.wwn(bus),
        product=table.text("product", ""),
        file=folder / file if file else None,
        curve=table.curve(),
        timing=parse_timing(table, model=model, nand_bytes=nand_bytes),
        sectors=sectors,
        removable=table.flag("removable", bus),
        read_only=table.flag("read_only", bus),
        namespaces=table.namespaces(bus),
    )


def clock_of(socket: Path) -> Path:
    """Where a machine with a time of its own tells it to the drive that is served at `socket`."""
    return socket.with_suffix(".clock")


def nbdkit_command(drive: ModelledDrive, *, socket_path: Path, folder: Path) -> list[str]:
    """The command that serves `drive` from `folder` until it is stopped."""
    return [
        "nbdkit", "-f", "--exit-with-parent", "-U", str(socket_path), "--filter=log",
        "python", str(_REPO / "tests/lab/model.py"),
        f"logfile={folder / drive.name}.log",
        f"file={folder / drive.name}.raw",
        f"stats={folder / drive.name}.stats.json",
        f"clock={clock_of(socket_path)}",
        f"model={drive.model}",
        f"nand={drive.nand_bytes}",
        f"seek_min={drive.curve.min_s}",
        f"seek_half={drive.curve.half_s}",
        f"seek_max={drive.curve.max_s}",
        f"timing={write_timing(drive.timing)}",
        *(f"fault={fault}" for fault in drive.faults.texts),
    ]  # fmt: skip


_STARTED_S = 600
"""For a process to serve its drive: a guard test has 25 of them, beside other machines."""
_ENDED_S = 60
_FIRST = ("nice", "-n", "-15")
"""What drives do takes little, and other machines on a busy host are no reason to be late with it:
where a machine's own time is counted, its drives' delays are part of it."""


class DriveBay:
    """The modelled drives of one lab run, alive while it lasts, whatever the machine does."""

    def __init__(self, drives: Sequence[ModelledDrive], *, folder: Path) -> None:
        self.drives = name_drives(drives)
        self.folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self._sockets = tempfile.TemporaryDirectory(prefix="kaltlab-", dir="/tmp")
        self._first_power_on: float | None = None

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            for drive in self.drives:
                self._start(drive)
            for drive, process in zip(self.drives, self._processes, strict=True):
                self._wait_until_served(drive, process)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop()

    def attached(self, *, power_on: int) -> list[tuple[ModelledDrive, Path]]:
        """Drives to be plugged in at this power-on (counted from 1), and their sockets."""
        if self._first_power_on is None:
            self._first_power_on = time.monotonic()
        for process in self._processes:
            process.send_signal(signal.SIGCONT)
        age_s = time.monotonic() - self._first_power_on
        return [
            (drive, self.socket(drive))
            for drive in self.drives
            if not drive.faults.vanished(
                age_s=age_s, read_bytes=self._count_read_bytes(drive), power_on=power_on
            )
        ]

    def _count_read_bytes(self, drive: ModelledDrive) -> int:
        if drive.faults.vanish_after_read_bytes is None or not self._stats_file(drive).exists():
            return 0
        return int(sum(each["read_bytes"] for each in self.stats(drive)))

    def stop_answering(self, drive: ModelledDrive | str) -> None:
        """From now on a drive leaves every request without an answer, until the power has gone.

        For drives with a fault `stall`, which are made so that the machine can go off then.
        """
        found = self.by_serial(drive) if isinstance(drive, str) else drive
        self._processes[self.drives.index(found)].send_signal(signal.SIGSTOP)

    def waits_for_cut(self) -> bool:
        """Whether a drive has come to where the power is to be cut. It waits for that."""
        return any(
            process.poll() is None
            and os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
            for drive, process in zip(self.drives, self._processes, strict=True)
            if drive.faults.cuts
        )

    def answer_again(self) -> None:
        """All drives that had stopped do."""
        for process in self._processes:
            process.send_signal(signal.SIGCONT)

    def moved_bytes(self, serial: str) -> int:
        """What was read from a drive and written to it until now; see `stats`."""
        if not self._stats_file(self.by_serial(serial)).exists():
            return 0
        return int(sum(each["read_bytes"] + each["write_bytes"] for each in self.stats(serial)))

    def stats(self, drive: ModelledDrive | str) -> list[dict[str, float]]:
        """What reached a drive (by serial or itself), one element per QEMU process.

        Up to two seconds behind while a machine runs; exact after it has ended.
        """
        found = self.by_serial(drive) if isinstance(drive, str) else drive
        power_ons: list[dict[str, float]] = json.loads(self._stats_file(found).read_text())[
            "power_ons"
        ]
        return power_ons

    def _stats_file(self, drive: ModelledDrive) -> Path:
        return self.folder / f"{drive.name}.stats.json"

    def by_serial(self, serial: str) -> ModelledDrive:
        """The first drive with this serial."""
        return next(drive for drive in self.drives if drive.serial == serial)

    def socket(self, drive: ModelledDrive) -> Path:
        """Where the drive is served; also names it to `plug`."""
        return Path(self._sockets.name) / f"{self.drives.index(drive)}.sock"

    def _start(self, drive: ModelledDrive) -> None:
        raw = self.folder / f"{drive.name}.raw"
        raw.unlink(missing_ok=True)
        if drive.file is not None:
            subprocess.run(["cp", "--sparse=always", drive.file, raw], check=True)
        with raw.open("ab") as file:
            file.truncate(drive.size_bytes)
        with (self.folder / f"{drive.name}.err").open("wb") as errors:
            self._processes.append(
                subprocess.Popen(
                    [
                        *_FIRST,
                        *nbdkit_command(drive, socket_path=self.socket(drive), folder=self.folder),
                    ],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    env=os.environ | {"PYTHONPATH": str(_REPO), "PYTHONDONTWRITEBYTECODE": "1"},
                )
            )

    def _wait_until_served(self, drive: ModelledDrive, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _STARTED_S
        while time.monotonic() < deadline and process.poll() is None:
            # Not by connecting: that would count as a power-on.
            if listens(self.socket(drive)):
                return
            time.sleep(0.05)
        errors = (self.folder / f"{drive.name}.err").read_text(errors="replace").strip()
        raise RuntimeError(f"nbdkit for drive {drive.name} did not start: {errors}")

    def _stop(self) -> None:
        for process in self._processes:
            process.terminate()
            # One that has stopped would hear nothing of it.
            process.send_signal(signal.SIGCONT)
        for process in self._processes:
            try:
                process.wait(_ENDED_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()
        self._sockets.cleanup()


def listens(path: Path) -> bool:
    """Whether a process listens at this unix socket; does not connect."""
    # /proc/net/unix lists bound sockets; flag 00010000 marks one that listens.
    for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
        words = line.split()
        if len(words) == 8 and words[7] == str(path):
            return words[3] == "00010000"
    return False
