# SPDX-License-Identifier: Apache-2.0
"""Preventing the kernel from flushing and parking one drive at power-off.

A drive that says it has flushed and has not is found out only where nothing asks it again before
the power goes. Linux asks at each power-off: sd_shutdown() in drivers/scsi/sd.c (6.12) sends
SYNCHRONIZE CACHE where it believes in a write cache, then START STOP UNIT where one of the
manage_* switches is set. All of them are switches of this boot only. NVMe drives are always
notified (nvme_shutdown), and USB bridges may keep their power: neither can be powered off this way.

How the switches were is noted in RAM before the first is moved: an engine that is killed in between
leaves a drive that nothing flushes, and the next one puts it right. Both last as long as the boot.
"""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from appliance import sysfs
from appliance.drives.model import Drive
from appliance.errors import StepFailedError

_BLOCK = Path("/sys/class/block")
_NOTES = Path("/run/kaltstart/flush-switches")
"""One file per drive."""
_STOPS = ("manage_system_start_stop", "manage_runtime_start_stop", "manage_shutdown")
_CACHE = "cache_type"
# "temporary": for the kernel alone, no MODE SELECT goes to the drive (cache_type_store).
_TEMPORARY = "temporary"
_ABRUPT = frozenset({"sata", "scsi", "sas"})


@dataclass(frozen=True, slots=True)
class FlushSwitches:
    """The switches of one drive as they were."""

    folder: str
    inode: int
    """The folder's: another one once the drive was plugged in again, with switches of its own
    (fs/kernfs takes the next number for each)."""
    stops: tuple[tuple[str, str], ...]
    cache_type: str

    def suppress_flush(self) -> None:
        """No flush reaches the drive from now on: neither the shutdown's nor any program's.

        Raises StepFailedError.
        """
        sysfs.write_text(Path(self.folder) / _CACHE, f"{_TEMPORARY} write through")

    def take_back(self) -> None:
        """As it was: the machine stays on."""
        if _inode_of(Path(self.folder)) == self.inode:
            for name, value in ((_CACHE, f"{_TEMPORARY} {self.cache_type}"), *self.stops):
                with suppress(StepFailedError):  # a drive that is gone needs no switches
                    sysfs.write_text(Path(self.folder) / name, value)
        self._note.unlink(missing_ok=True)

    def keep(self) -> None:
        """Note it for `restore_flush`. Raises OSError."""
        _NOTES.mkdir(parents=True, exist_ok=True)
        # Never half a note: a note is there, or no switch was moved.
        fresh = self._note.with_suffix(".new")
        fresh.write_text(json.dumps(asdict(self)))
        fresh.replace(self._note)

    @property
    def _note(self) -> Path:
        return _NOTES / f"{self.inode}.json"


def prevent_stop(drive: Drive) -> FlushSwitches | None:
    """Arrange that `drive` is not stopped at power-off; None where that cannot be.

    Everything but the flush: see `suppress_flush`, to be called when the last flush has been sent.
    """
    if drive.transport not in _ABRUPT:
        return None
    folders = sorted((_BLOCK / drive.name / "device/scsi_disk").glob("*"))
    if len(folders) != 1:
        return None
    folder = folders[0]
    # manage_shutdown is there from 6.6 on; without a switch there is nothing to switch off.
    stops = tuple((name, text) for name in _STOPS if (text := sysfs.read_text(folder / name)))
    cache_type = sysfs.read_text(folder / _CACHE)
    if not cache_type:
        return None
    switches = FlushSwitches(str(folder), _inode_of(folder), stops, cache_type)
    try:
        switches.keep()
    except OSError:
        return None  # what could not be put back is not moved
    try:
        # Whether the kernel takes such words at all, before anything hangs on it.
        sysfs.write_text(folder / _CACHE, f"{_TEMPORARY} {cache_type}")
        for name, _ in stops:
            sysfs.write_text(folder / name, "0")
    except StepFailedError:
        switches.take_back()
        return None
    return switches


def restore_flush() -> tuple[str, ...]:
    """Put back what an engine that was killed has left; the folders of the drives it was.

    Before any drive is written to.
    """
    released = []
    for note in sorted(_NOTES.glob("*.json")):
        fields = json.loads(note.read_text())
        stops = tuple((name, value) for name, value in fields["stops"])
        FlushSwitches(fields["folder"], fields["inode"], stops, fields["cache_type"]).take_back()
        released.append(fields["folder"])
    return tuple(released)


def _inode_of(folder: Path) -> int:
    """0 where it has gone."""
    try:
        return folder.stat().st_ino
    except FileNotFoundError:
        return 0
