"""Fixtures of a campaign on a machine that is not there."""

from pathlib import Path

import pytest

from appliance import drive_thread
from appliance.campaign import boot_sample, engine, keys, measure, owed_pause
from appliance.campaign.thisboot import ThisBoot
from appliance.measure.diskstats import DiskStats
from appliance.measure.startup import Startup
from appliance.store.connect import open_database
from tests.unit.campaign.world import STICK, Consoles, World, start_measured


@pytest.fixture(autouse=True)
def nobody_at_the_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads the keyboards and consoles of the machine it runs on."""
    monkeypatch.setattr(keys, "_INPUT", tmp_path / "no-input")
    monkeypatch.setattr(keys, "find_consoles", tuple)
    monkeypatch.setattr(engine, "find_consoles", tuple)


@pytest.fixture(autouse=True)
def nothing_owed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test leaves a note in the /run of the machine it runs on."""
    monkeypatch.setattr(owed_pause, "_NOTE", tmp_path / "run/pause-due")


@pytest.fixture(autouse=True)
def attentive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for work on a drive looks often: no test has to wait for that."""
    monkeypatch.setattr(drive_thread, "_LOOK_EVERY_S", 0.001)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A machine that is not there, with an empty database."""
    world = World(tmp_path / "kaltstart.sqlite")
    world.take_over(monkeypatch)
    return world


@pytest.fixture
def booted(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """The first measured boot of a campaign, on a machine that is not there."""
    world.make_campaign()
    start_measured(world)
    world.power_rows.clear()
    this_boot = ThisBoot(boot_id="boot-1", slot=1, charted=False, firmware="uefi")
    monkeypatch.setattr(measure, "read_this_boot", lambda: this_boot)
    for module in (boot_sample, measure):
        monkeypatch.setattr(module, "find_root_disk", lambda _: "sda")
    startup = Startup(None, None, 2.0, 6.0, 12.5, 20.5)
    monkeypatch.setattr(boot_sample, "_wait_for_startup", lambda: startup)
    monkeypatch.setattr(boot_sample, "mount_session_set", Path)
    monkeypatch.setattr(boot_sample, "read_session_set", lambda _: 8 << 20)
    monkeypatch.setattr(boot_sample, "_read_stats", lambda _: DiskStats(9000, 300 << 20, 0, 0))
    monkeypatch.setattr(boot_sample, "_wait_for_quiet", lambda _: 30.0)
    monkeypatch.setattr(measure, "find_stick", lambda _: STICK)
    monkeypatch.setattr(measure, "mount_data", lambda _, **__: None)
    monkeypatch.setattr(measure, "mount_fat", lambda _: None)
    monkeypatch.setattr(measure, "unmount_all", lambda: world.log.append("unmount"))
    monkeypatch.setattr(measure, "open_database", lambda _, **__: open_database(world.path))
    monkeypatch.setattr(measure, "Consoles", Consoles)
    monkeypatch.setattr(Consoles, "key", False)
    return world
