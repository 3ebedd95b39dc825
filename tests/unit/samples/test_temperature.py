# SPDX-License-Identifier: Apache-2.0
"""The kernel's sensors, as files, and the recorder, asked by hand."""

from pathlib import Path

import pytest

from appliance.samples.model import TemperatureSample
from appliance.samples.temperature import TemperatureRecorder, find_sensor


def make_sensor(folder: Path, driver: str, **files: str) -> Path:
    folder.mkdir(parents=True)
    for name, text in {"name": driver, "temp1_input": "41000", **files}.items():
        (folder / name).write_text(f"{text}\n")
    return folder


@pytest.mark.parametrize(
    "place",
    [
        "device/hwmon/hwmon3",  # SATA: below the SCSI device
        "device/hwmon3",  # NVMe: below the controller
        "device/nvme0/hwmon3",  # NVMe with several ways to it: below the subsystem's controllers
    ],
)
def test_where_the_kernel_shows_sensors(tmp_path: Path, place: str) -> None:
    make_sensor(tmp_path / place, "nvme")
    sensor = find_sensor(tmp_path)
    assert sensor is not None
    assert sensor.read_celsius() == 41
    sensor.input.unlink()
    assert sensor.read_celsius() is None


def test_a_drive_without_a_sensor(tmp_path: Path) -> None:
    (tmp_path / "device" / "hwmon" / "hwmon3").mkdir(parents=True)
    assert find_sensor(tmp_path) is None


@pytest.mark.parametrize(
    ("driver", "files", "limit"),
    [
        ("drivetemp", {"temp1_max": "60000", "temp1_crit": "85000"}, 60),
        ("drivetemp", {"temp1_crit": "85000"}, 85),
        ("nvme", {"temp1_max": "82850", "temp1_crit": "84850"}, 84.85),
        ("nvme", {"temp1_max": "82850", "temp1_crit": "-273150"}, 82.85),
        ("nvme", {"temp1_max": "65261850"}, None),
        ("nvme", {}, None),
        ("other", {"temp1_max": "60000"}, None),
    ],
)
def test_the_limit_is_where_a_drive_may_no_longer_work(
    tmp_path: Path, driver: str, files: dict[str, str], limit: float | None
) -> None:
    make_sensor(tmp_path / "device" / "hwmon" / "hwmon0", driver, **files)
    sensor = find_sensor(tmp_path)
    assert sensor is not None
    assert sensor.limit_celsius == limit


def test_drives_are_asked_seldom_and_at_the_end(tmp_path: Path) -> None:
    folder = make_sensor(tmp_path / "device" / "hwmon0", "nvme")
    sensor = find_sensor(tmp_path)
    assert sensor is not None
    recorder = TemperatureRecorder({"A": sensor}, start_s=100)
    assert recorder.every_s == 10
    for tick in range(3):
        recorder.sample(tick * recorder.every_s)
    assert [sample.t_s for sample in recorder.take()] == [100, 110, 120]
    (folder / "temp1_input").write_text("43000\n")
    with recorder:
        pass
    assert [sample.celsius for sample in recorder.take()][-1] == 43
    assert recorder.latest == {"A": 43}


def test_a_drive_that_has_gone_leaves_a_gap(tmp_path: Path) -> None:
    folder = make_sensor(tmp_path / "device" / "hwmon0", "nvme")
    sensor = find_sensor(tmp_path)
    assert sensor is not None
    recorder = TemperatureRecorder({"A": sensor})
    recorder.sample(0)
    (folder / "temp1_input").unlink()
    recorder.sample(10)
    assert recorder.take() == (TemperatureSample("A", 0, 41),)
    assert recorder.latest == {}
