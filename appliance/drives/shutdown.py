"""Keeping the kernel from flushing and parking one drive when the machine is switched off.

A drive that says it has flushed and has not is found out only where nothing asks it again before
the power goes. Linux asks at each power-off: sd_shutdown() in drivers/scsi/sd.c (6.12) sends
SYNCHRONIZE CACHE where it believes in a write cache, then START STOP UNIT where one of the
manage_* switches says so. All of them are switches of this boot only. NVMe drives are always told
(nvme_shutdown), and bridges of USB may keep their power: for these there is no such power-off.
"""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from appliance import sysfs
from appliance.drives.model import Drive
from appliance.errors import StepFailed

_BLOCK = Path("/sys/class/block")
_STOPS = ("manage_system_start_stop", "manage_runtime_start_stop", "manage_shutdown")
_CACHE = "cache_type"
# "temporary": for the kernel alone, no MODE SELECT goes to the drive (cache_type_store).
_TEMPORARY = "temporary"
_ABRUPT = frozenset({"sata", "scsi", "sas"})


@dataclass(frozen=True, slots=True)
class Hush:
    """The switches of one drive as they were."""

    folder: Path
    stops: tuple[tuple[str, str], ...]
    cache_type: str

    def fall_silent(self) -> None:
        """No flush reaches the drive from now on: neither the shutdown's nor any program's.

        Raises StepFailed.
        """
        sysfs.write_text(self.folder / _CACHE, f"{_TEMPORARY} write through")

    def take_back(self) -> None:
        """As it was: the machine stays on."""
        with suppress(StepFailed):  # a drive that is gone needs no switches
            sysfs.write_text(self.folder / _CACHE, f"{_TEMPORARY} {self.cache_type}")
            for name, value in self.stops:
                sysfs.write_text(self.folder / name, value)


def hush(drive: Drive) -> Hush | None:
    """Arrange that `drive` is not stopped at power-off; None where that cannot be.

    Everything but the flush: see `fall_silent`, to be called when the last flush has been sent.
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
    switches = Hush(folder, stops, cache_type)
    try:
        # Whether the kernel takes such words at all, before anything hangs on it.
        sysfs.write_text(folder / _CACHE, f"{_TEMPORARY} {cache_type}")
        for name, _ in stops:
            sysfs.write_text(folder / name, "0")
    except StepFailed:
        switches.take_back()
        return None
    return switches
