# SPDX-License-Identifier: Apache-2.0
"""A measured boot's sample, saved on KALTSTART if the database does not accept it.

The data partition may be full, read-only or damaged at the one moment when a sample exists. Then
the sample, or at least the true reason why there is none, goes to a file that the appliance imports
at its next start. Nothing proves who wrote a file on KALTSTART: it is imported once, and only for
the boot that was armed last, of the drives and the installation it was armed for. The same file
holds the sample of a boot in replay mode (`pending_replay`).
"""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from typing import Self

from appliance.drives.facts.power_cycles import PowerCycles
from appliance.drives.model import Drive
from appliance.errors import StickError
from appliance.flush import sync_path
from appliance.phrases import N_, Phrase
from appliance.record_boot import MAX_READS
from appliance.stick.partitions import FAT, is_on_fat, writable_fat
from appliance.store.tables.boots import BootSample
from appliance.store.tables.replays import ReplaySample
from appliance.workloads.raw_files import seal, unseal, write_durably

_NAME = "kaltstart/kept-sample.json"
_MAX_TEXT_BYTES = 1 << 16
"""Of everything except the times of a replay's reads."""
_MAX_TIME_BYTES = 21
"""In JSON, with comma and space, of a time that fits a column of the database."""
_MAX_BYTES = _MAX_TEXT_BYTES + MAX_READS * _MAX_TIME_BYTES
_TIMES = "times_ns"
_MAY_BE_MISSING = frozenset(
    {
        *("firmware_s", "loader_s", "io_quiet_s", "wake_skew_s", "drive_celsius", "cpu_celsius"),
        *("session_wait_s", "off_s"),
    }
)
_PARTS = frozenset({"kernel_s", "initrd_s", "userspace_s", "session_s"})
"""Of a start-up: a replay has none."""
_TEXTS = frozenset({"boot_id", "kernel_errors", "path"})
_MAY_BE_NEGATIVE = frozenset({"wake_skew_s", "drive_celsius", "cpu_celsius"})
_WHOLE = frozenset({"read_bytes", "read_ios"})
_TOO_LARGE = 1 << 63
"""A whole number of that size fits no column of the database."""


@dataclass(frozen=True, slots=True)
class SourceDrive:
    """A drive that the boot came from: everything that a release names."""

    serial: str
    wwn: str
    model: str
    bare_model: str
    size_bytes: int

    @classmethod
    def of(cls, drive: Drive) -> Self:
        """As it is here now."""
        return cls(drive.serial, drive.wwn, drive.model, drive.bare_model, drive.size_bytes)


@dataclass(frozen=True, slots=True)
class BootSource:
    """What the boot came from: a single drive, or an array of a backing and a cache drive."""

    table_uuid: str
    """GUID of the partition table, a new one for each installation."""
    drive: SourceDrive
    cache: SourceDrive | None = None
    set_uuid: str = ""
    settings: dict[str, str] = field(default_factory=dict)
    """What the array ran with, by the name of bcache's control file; empty without an array."""


@dataclass(frozen=True, slots=True)
class PendingReplay:
    """What a boot in replay mode has in addition to its sample."""

    cycle_id: int
    """Its row in the database."""
    power_cycles: PowerCycles | None
    """What the drive answered in that boot; None if it was not asked."""
    reads: ReplaySample
    """Last in the file, for the sake of `read_pending_text`."""


@dataclass(frozen=True, slots=True)
class PendingSample:
    """What a measured boot left outside the database."""

    boot_id: str
    entry: str
    """The boot entry it was started from; empty for a replay."""
    reason: str
    """Why the database did not accept it, or why there is no sample."""
    root: BootSource | None
    """None if it is not known."""
    sample: BootSample | None
    """None if there was none."""
    replay: PendingReplay | None = None
    """None for a boot that was not a replay."""

    def describe(self) -> str:
        """All of it as JSON, except the times of a replay's reads: too many for a log."""
        data = asdict(self)
        if self.replay is not None:
            del data["replay"]["reads"][_TIMES]
        return json.dumps(data)


def save_pending(pending: PendingSample) -> None:
    """Write it durably. Raises StickError."""
    try:
        with writable_fat() as fat:
            path = fat / _NAME
            path.parent.mkdir(exist_ok=True)
            write_durably(path, seal(asdict(pending)))
    except OSError as error:
        raise StickError(
            Phrase(N_("KALTSTART does not accept the sample either: {what}"), what=str(error))
        ) from error


def read_pending() -> PendingSample | None:
    """What the last measured boot left; None if there is nothing, or not what was written."""
    try:
        with (FAT / _NAME).open("rb") as file:
            content = unseal(file.read(_MAX_BYTES))
        return _parse(content)
    except (OSError, ValueError, TypeError, KeyError, RecursionError, MemoryError):
        return None


def read_pending_text() -> str:
    """The file's text, whatever it is, up to the times of a replay's reads.

    Empty if it cannot be read.
    """
    try:
        with (FAT / _NAME).open("rb") as file:
            text = file.read(_MAX_TEXT_BYTES).decode(errors="replace")
            return text.partition(f'"{_TIMES}"')[0]
    except OSError:
        return ""


def has_pending() -> bool:
    """Whether there is such a file that can be reached, whatever it contains."""
    with suppress(StickError):
        return is_on_fat(FAT / _NAME)
    return False


def remove_pending() -> None:
    """Remove the file: it was imported, or is of no use. Raises StickError."""
    if not has_pending():
        return
    try:
        with writable_fat() as fat:
            (fat / _NAME).unlink(missing_ok=True)
            with suppress(OSError):
                sync_path((fat / _NAME).parent)
    except OSError as error:
        raise StickError(
            Phrase(N_("{file} cannot be removed from KALTSTART: {error}"), file=_NAME, error=error)
        ) from error


def _parse(found: dict[str, object]) -> PendingSample:
    root, sample, replay = found["root"], found["sample"], found.get("replay")
    return PendingSample(
        boot_id=_text(found["boot_id"]),
        entry=_text(found["entry"]),
        reason=_text(found["reason"]),
        root=None if root is None else _parse_root(root),
        sample=None if sample is None else _parse_sample(sample, is_replay=replay is not None),
        replay=None if replay is None else _parse_replay(replay),
    )


def _parse_root(found: object) -> BootSource:
    if not isinstance(found, dict):
        raise ValueError(_NAME)
    cache = found["cache"]
    return BootSource(
        table_uuid=_text(found["table_uuid"]),
        drive=_parse_drive(found["drive"]),
        cache=None if cache is None else _parse_drive(cache),
        set_uuid=_text(found["set_uuid"]),
        settings={_text(name): _text(text) for name, text in dict(found["settings"]).items()},
    )


def _parse_drive(found: object) -> SourceDrive:
    if not isinstance(found, dict) or type(found["size_bytes"]) is not int:
        raise ValueError(_NAME)
    texts = {name: _text(found[name]) for name in ("serial", "wwn", "model", "bare_model")}
    return SourceDrive(size_bytes=found["size_bytes"], **texts)


def _text(found: object) -> str:
    if not isinstance(found, str):
        raise ValueError(_NAME)
    found.encode()  # half a character (a lone surrogate) cannot be stored
    return found


def _parse_sample(found: object, *, is_replay: bool) -> BootSample:
    may_be_missing = _MAY_BE_MISSING | _PARTS if is_replay else _MAY_BE_MISSING
    if not isinstance(found, dict) or set(found) != {field.name for field in fields(BootSample)}:
        raise ValueError(_NAME)
    for name, value in found.items():
        if name in _TEXTS:
            _text(value)
        elif not (value is None and name in may_be_missing):
            _check_number(name, value)
    return BootSample(**found)


def _parse_replay(found: object) -> PendingReplay:
    if not isinstance(found, dict) or not isinstance(reads := found["reads"], dict):
        raise ValueError(_NAME)
    counted, times_ns = found["power_cycles"], reads[_TIMES]
    if not isinstance(times_ns, list) or not 0 < len(times_ns) <= MAX_READS:
        raise ValueError(_NAME)
    _check_number("started_s", reads["started_s"])
    for name in ("before_read_ios", "before_read_bytes"):
        _check_number(name, reads[name], is_whole=True)
    for time_ns in times_ns:
        _check_number(_TIMES, time_ns, is_whole=True)
    _check_number("cycle_id", found["cycle_id"], is_whole=True)
    return PendingReplay(
        cycle_id=found["cycle_id"],
        power_cycles=None if counted is None else _parse_power_cycles(counted),
        reads=ReplaySample(
            list_sha256=_text(reads["list_sha256"]),
            started_s=reads["started_s"],
            before_read_ios=reads["before_read_ios"],
            before_read_bytes=reads["before_read_bytes"],
            times_ns=tuple(times_ns),
        ),
    )


def _parse_power_cycles(found: object) -> PowerCycles:
    if not isinstance(found, dict):
        raise ValueError(_NAME)
    if found["count"] is not None:
        _check_number("count", found["count"], is_whole=True)
    return PowerCycles(found["count"], _text(found["source"]), _text(found["reason"]))


def _check_number(name: str, value: object, *, is_whole: bool = False) -> None:
    is_right = (
        isinstance(value, int if is_whole or name in _WHOLE else int | float)
        and not isinstance(value, bool)
        and abs(value) < _TOO_LARGE
        and (value >= 0 or name in _MAY_BE_NEGATIVE)
    )
    if not is_right:
        raise ValueError(f"{_NAME}: {name}")
