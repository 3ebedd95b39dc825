# SPDX-License-Identifier: Apache-2.0
"""Drive temperatures during a step, from the kernel's sensors. Reads /sys; never fails a step.

The kernel asks the drive itself: drivetemp (SATA) by a command that waits until all others are
done, nvme by one that the drive answers beside its work (drivers/hwmon/drivetemp.c,
drivers/nvme/host/hwmon.c). So it is asked seldom, and not at all where it has no sensor.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import override

from appliance import sysfs
from appliance.samples.health import is_limit
from appliance.samples.model import TemperatureSample
from appliance.samples.recorder import Recorder

EVERY_S = 10.0
"""Drives take minutes to become warm."""

_MILLI = 1000
# Which of a sensor's limits is the one to stop at. drivetemp: temp1_max is what the drive is made
# to work at, temp1_crit what breaks it. nvme: temp1_max is where it begins to slow itself down and
# temp1_crit where it does all it can against the heat (Documentation/hwmon/drivetemp.rst;
# nvme_hwmon_ops).
_CPU_SENSORS = frozenset({"coretemp", "k10temp", "k8temp", "via_cputemp", "cpu_thermal"})
"""Whose temp1 is that of the whole processor (Documentation/hwmon/coretemp.rst, k10temp.rst)."""
_LIMITS = {"drivetemp": ("temp1_max", "temp1_crit"), "nvme": ("temp1_crit", "temp1_max")}


@dataclass(frozen=True, slots=True)
class Sensor:
    """The sensor of one drive."""

    input: Path
    """temp1_input: thousandths of a degree."""
    limit_celsius: float | None
    """Where the drive itself says it is too hot; None where it does not say."""

    def read_celsius(self) -> float | None:
        """None where the drive is gone or gives no answer."""
        return _read_celsius(self.input)


def find_sensor(block: Path) -> Sensor | None:
    """The sensor of the drive shown in `block`, /sys/class/block/sda; None where it has none."""
    device = block / "device"
    # Below the SCSI device, below the NVMe controller, and below the controllers of an NVMe drive
    # with several ways to it, in this order.
    for pattern in ("hwmon/hwmon*", "hwmon*", "nvme*/hwmon*"):
        for folder in sorted(device.glob(pattern)):
            path = folder / "temp1_input"
            if path.exists():
                return Sensor(path, _read_limit(folder))
    return None


def read_cpu_celsius(hwmon: Path = Path("/sys/class/hwmon")) -> float | None:
    """Of the hottest processor; None where no sensor of one is known."""
    readings = [
        _read_celsius(folder / "temp1_input")
        for folder in sorted(hwmon.glob("hwmon*"))
        if sysfs.read_text(folder / "name") in _CPU_SENSORS
    ]
    return max((celsius for celsius in readings if celsius is not None), default=None)


def _read_limit(folder: Path) -> float | None:
    names = _LIMITS.get(sysfs.read_text(folder / "name"), ())
    for name in names:
        celsius = _read_celsius(folder / name)
        if is_limit(celsius):
            return celsius
    return None


def _read_celsius(path: Path) -> float | None:
    text = sysfs.read_text(path)
    try:
        return int(text) / _MILLI
    except ValueError:
        return None


class TemperatureRecorder(Recorder[TemperatureSample]):
    """Asks the sensors (identity → sensor) at the start, each `EVERY_S` seconds, and at the end."""

    def __init__(self, sensors: Mapping[str, Sensor], *, start_s: float = 0.0) -> None:
        super().__init__(start_s=start_s, every_s=EVERY_S)
        self._sensors = dict(sensors)
        self.latest: Mapping[str, float] = {}
        """What each drive said last."""

    @override
    def begin(self) -> None:
        if self._sensors:
            self.sample(0.0)

    @override
    def look(self, t_s: float) -> Sequence[TemperatureSample]:
        readings = {drive: sensor.read_celsius() for drive, sensor in self._sensors.items()}
        # Replaced whole: another thread reads it.
        self.latest = {drive: celsius for drive, celsius in readings.items() if celsius is not None}
        return [TemperatureSample(drive, t_s, celsius) for drive, celsius in self.latest.items()]
