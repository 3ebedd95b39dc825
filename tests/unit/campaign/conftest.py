# SPDX-License-Identifier: Apache-2.0
"""Fixtures of a campaign on a machine that is not there."""

from pathlib import Path

import pytest

from appliance import drive_thread
from appliance.campaign import boot_option, boot_report, pending_pause, start_records
from appliance.campaign.boots import measured_boot, store_sample
from appliance.campaign.boots import sample as boot_sample
from appliance.drives import deadlines
from appliance.samples.diskstats import DiskStats
from appliance.samples.startup import Startup
from appliance.samples.unit_times import UnitTime
from appliance.store.connect import open_database
from tests.unit.campaign.world import STICK, World, start_measured


@pytest.fixture(autouse=True)
def no_paths_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test notes anything in /run or the firmware of the machine it runs on."""
    monkeypatch.setattr(pending_pause, "_NOTE", tmp_path / "run/pause-due")
    monkeypatch.setattr(start_records, "_VARIABLE", tmp_path / "efivars/started")
    monkeypatch.setattr(boot_option, "_EFIVARS", tmp_path / "efivars")
    monkeypatch.setattr(boot_report, "_EFIVARS", tmp_path / "efivars")
    monkeypatch.setattr(deadlines, "_BLOCK", tmp_path / "block")


@pytest.fixture(autouse=True)
def attentive(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wait for work on a drive polls often: no test must wait for that."""
    monkeypatch.setattr(drive_thread, "_LOOK_EVERY_S", 0.001)


@pytest.fixture(autouse=True)
def start_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """What systemd would tell of a measured boot's units."""
    unit = UnitTime("graphical.target", 20.5, 20.5, 0)
    monkeypatch.setattr(store_sample, "read_unit_times", lambda **_: (unit,))


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A machine that is not there, with an empty database."""
    world = World(tmp_path / "kaltstart.sqlite")
    (world.run / "tui").mkdir(parents=True)
    world.input.mkdir()
    return world


@pytest.fixture
def counting_firmware(world: World) -> None:
    """It keeps how many restarts a campaign has counted."""
    (world.path.parent / "efivars").mkdir()


@pytest.fixture
def booted(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """The first measured boot of a campaign, on a machine that is not there."""
    world.make_campaign()
    start_measured(world)
    world.power_rows.clear()
    for module in (boot_sample, measured_boot):
        monkeypatch.setattr(module, "find_root_disk", lambda _: "sda")
    startup = Startup(None, None, 2.0, 6.0, 12.5, 20.5)
    monkeypatch.setattr(boot_sample, "_wait_for_startup", lambda: startup)
    monkeypatch.setattr(boot_sample, "_load_sensors", lambda: None)
    monkeypatch.setattr(boot_sample, "read_kernel_errors", lambda _: "")
    monkeypatch.setattr(boot_sample, "mount_session_set", Path)
    monkeypatch.setattr(boot_sample, "read_session_set", lambda _: 8 << 20)
    monkeypatch.setattr(boot_sample, "_read_stats", lambda _: DiskStats(9000, 300 << 20, 0, 0))
    monkeypatch.setattr(boot_sample, "_wait_for_quiet", lambda *_: 30.0)
    monkeypatch.setattr(measured_boot, "find_stick", lambda _: STICK)
    monkeypatch.setattr(measured_boot, "mount_data", lambda _, **__: None)
    monkeypatch.setattr(measured_boot, "mount_fat", lambda _: None)
    monkeypatch.setattr(measured_boot, "unmount_all", lambda: world.log.append("unmount"))
    monkeypatch.setattr(measured_boot, "open_database", lambda _, **__: open_database(world.path))
    return world
