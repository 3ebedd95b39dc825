# SPDX-License-Identifier: Apache-2.0
"""The hardware's timer over a power-off, on a device that is a file."""

import fcntl
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.campaign import watchdog


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """What was written to it; its times are in `asked`."""
    device = tmp_path / "watchdog"
    device.touch()
    monkeypatch.setattr(watchdog, "_DEVICE", device)
    yield device
    watchdog.stop()


def test_it_runs_until_power_goes(device: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, bytes]] = []
    monkeypatch.setattr(fcntl, "ioctl", lambda _, request, value: asked.append((request, value)))
    watchdog.start()
    watchdog.start()
    assert asked == [(0xC0045706, (240).to_bytes(4, "little"))]
    # A process that is ended now has said nothing to it: the timer goes on.
    assert device.read_bytes() == b""


def test_a_power_off_that_failed_stops_it(device: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "ioctl", lambda *_: None)
    watchdog.start()
    watchdog.stop()
    assert device.read_bytes() == b"V"


def test_a_timer_that_takes_no_such_time_is_stopped(device: Path) -> None:
    watchdog.start()  # a file knows no such request
    assert device.read_bytes() == b"V"


def test_a_machine_without_one_goes_without(device: Path) -> None:
    device.unlink()
    watchdog.start()
    watchdog.stop()
    assert not device.exists()
