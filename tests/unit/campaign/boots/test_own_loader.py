# SPDX-License-Identifier: Apache-2.0
"""`path = "drive"`: the firmware starts the loader on the drive, and each sample proves it."""

from contextlib import closing
from dataclasses import replace

import pytest

from appliance.campaign.boots import attempts
from appliance.campaign.boots import install as install_module
from appliance.campaign.boots import sample as boot_sample
from appliance.campaign.boots.attempts import settle_armed
from appliance.campaign.boots.install import prepare
from appliance.campaign.boots.measured_boot import measure_boot
from appliance.campaign.boots.next_boot import Outcome, start_next_boot
from appliance.campaign.boots.pending_sample import BootSource, PendingSample, SourceDrive
from appliance.campaign.resume import resume_campaign
from appliance.campaign.start import RefusedForReasonsError, check_plan
from appliance.drives.unlock import Unlocked
from appliance.errors import RefusedError, StickError
from appliance.progress import ignore_progress
from appliance.reference_os.install import esp_partuuid
from tests.unit.campaign.world import HDD, STICK, World, install_uuid, start_measured

PLAN = """
version = 1
[[drive]]
serial = "LAB-HDD-1"
erase = "LAB-HDD-1"
[boot]
boot_set = "8M"
path = "drive"
"""


@pytest.fixture
def own_path(booted: World) -> World:
    """The first measured boot of a campaign whose drives boot by their own loaders."""
    booted.make_campaign(path="drive", plan_toml=PLAN)
    with closing(booted.context().connection) as connection:
        connection.execute("UPDATE campaign SET state = 'done' WHERE id = 1")
    start_measured(booted)
    return booted


def _failed_attempts(world: World) -> list[int]:
    return [
        int(text.partition("attempt ")[2][0])
        for name, text in world.events()
        if name == "attempt-failed"
    ]


def test_the_firmware_is_told_to_start_the_drives_own_loader(world: World) -> None:
    world.make_campaign(path="drive")
    assert start_next_boot(world.context(), 1) is Outcome.LEAVING
    assert (world.entry, world.boot_next) == ("measure-01", esp_partuuid(1))
    assert world.cycles()[0].path == "drive"


def test_a_drive_that_has_lost_its_esp_is_not_started(world: World) -> None:
    world.make_campaign([HDD], path="drive", cycles=1)
    (drive,) = world.drives
    world.drives = (replace(drive, partition_uuids=drive.partition_uuids[:2]),)
    assert start_next_boot(world.context(), 1) is Outcome.FINISHED
    (cycle,) = world.cycles()
    assert (cycle.state, world.boot_next) == ("failed", "")
    assert "no longer carries its reference OS" in cycle.reason


def test_a_boot_by_the_stick_needs_no_entry_of_the_firmware(world: World) -> None:
    world.make_campaign()
    assert start_next_boot(world.context(), 1) is Outcome.LEAVING
    assert (world.entry, world.boot_next) == ("measure-01", "")


def test_a_sample_says_whose_loader_it_was_started_by(own_path: World) -> None:
    own_path.esp_partuuid = esp_partuuid(1)
    own_path.measure()
    (boot,) = own_path.boots()
    assert (boot["path"], boot["valid"]) == ("drive", 1)
    assert boot["boot_s"]
    # The next drive's, from here.
    assert (own_path.entry, own_path.boot_next) == ("measure-02", esp_partuuid(2))


@pytest.mark.parametrize("loader", ["0f0f0f0f-1111-4222-8333-444444444444", "", esp_partuuid(2)])
def test_firmware_that_does_not_follow_boot_next_is_named(own_path: World, loader: str) -> None:
    """Its loader is the stick's, which has an entry of the same name: that is no crash."""
    own_path.esp_partuuid = loader
    own_path.measure()
    assert _failed_attempts(own_path) == [1]
    assert "did not follow BootNext" in own_path.events()[-2][1]
    assert own_path.boots() == [], "no sample under a path that it did not take"
    assert (own_path.entry, own_path.boot_next) == ("measure-01", esp_partuuid(1))


def test_firmware_that_never_follows_it_ends_in_the_appliance(own_path: World) -> None:
    """Three attempts for each drive, and no more."""
    for number in range(2, 20):
        if own_path.log[-1:] == ["reboot"]:
            break
        own_path.log.clear()
        own_path.entry = ""
        (due,) = [each for each in own_path.cycles() if each.state == "armed"]
        own_path.boot_id = f"boot-{number}"
        slot = int(due.entry.removeprefix("measure-"))
        measure_boot(own_path.host(slot=slot))
    assert {row.failed_reason.partition(":")[0] for row in own_path.drive_rows()} == {
        "the firmware started the stick's boot loader and not the drive's"
    }
    assert sum(each.attempts for each in own_path.cycles()) == 6
    assert "done" not in own_path.states()


def test_a_boot_that_was_to_come_from_the_stick_did_not_come_from_the_drive(booted: World) -> None:
    booted.esp_partuuid = esp_partuuid(1)
    booted.measure()
    assert "was to start the stick's" in booted.events()[-2][1]
    assert booted.boots() == []


def test_a_kept_sample_of_another_path_is_not_used(
    own_path: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = boot_sample.take_sample(own_path.host(slot=1), 1)
    assert sample.path == "stick"
    root = BootSource(install_uuid(1), SourceDrive.of(HDD))
    pending = PendingSample("boot-9", "measure-01", "full", root, sample)
    monkeypatch.setattr(attempts, "read_pending", lambda: pending)
    own_path.boot_id, own_path.entry = "boot-2", ""
    settle_armed(own_path.context(), own_path.campaign_id)
    cycle = own_path.cycles()[0]
    assert (cycle.state, own_path.boots()) == ("planned", [])
    assert "did not follow BootNext" in cycle.reason


def test_a_pause_leaves_no_entry_in_the_firmware(world: World) -> None:
    world.make_campaign(path="drive")
    world.key = True
    assert start_next_boot(world.context(), 1) is Outcome.PAUSED
    assert (world.entry, world.boot_next) == ("", "")


def test_a_drive_gets_its_loader_from_the_sticks_esp(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[object] = []

    def install(target: Unlocked, *, install_uuid: str, stick_esp: str, **_: object) -> None:
        copied.append(stick_esp)
        world.carry(target.drive, install_uuid)

    monkeypatch.setattr(install_module, "install_reference_os", install)
    world.make_campaign([HDD], path="drive", plan_toml=PLAN, state="preparing")
    prepare(world.context(), 1, stick=STICK, progress=ignore_progress)
    assert copied == ["/dev/sdc2"]


def test_a_stick_without_its_esp_makes_no_drive_that_cannot_start(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install_module, "install_reference_os", pytest.fail)
    world.make_campaign([HDD], path="drive", plan_toml=PLAN, state="preparing")
    with pytest.raises(StickError, match="boot partition"):
        prepare(world.context(), 1, stick=replace(STICK, esp_path=""), progress=ignore_progress)
    assert world.unlockings == []


# On a BIOS machine


def test_a_bios_machine_refuses_it_before_anything_is_written(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("appliance.reference_os.install.root_bytes", lambda: 600_000_000)
    world.firmware = "bios"
    with pytest.raises(RefusedForReasonsError, match="no UEFI"):
        check_plan(PLAN, host=world.host(), drives=(HDD, STICK.drive), stick=STICK)
    world.firmware = "uefi"
    check_plan(PLAN, host=world.host(), drives=(HDD, STICK.drive), stick=STICK)


def test_a_campaign_that_was_taken_to_a_bios_machine_is_not_resumed(world: World) -> None:
    world.make_campaign(path="drive", state="paused")
    world.firmware = "bios"
    with pytest.raises(RefusedError, match="no UEFI"):
        resume_campaign(world.context(), 1)
    world.make_campaign(path="drive", state="preparing", plan_toml=PLAN)
    with pytest.raises(RefusedError, match="no UEFI"):
        prepare(world.context(), world.campaign_id, stick=STICK, progress=ignore_progress)
    assert world.unlockings == []


def test_a_running_campaign_pauses_there(world: World) -> None:
    world.make_campaign(path="drive")
    world.firmware = "bios"
    assert start_next_boot(world.context(), 1) is Outcome.PAUSED
    assert "no UEFI" in world.campaign().reason
    assert world.states()[0] == "planned"


def test_a_drive_without_room_for_the_esp_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("appliance.reference_os.install.root_bytes", lambda: 600_000_000)
    by_stick = PLAN.replace('path = "drive"', "")
    small = replace(HDD, size_bytes=800_000_000)
    check_plan(by_stick, host=world.host(), drives=(small, STICK.drive), stick=STICK)
    with pytest.raises(RefusedForReasonsError, match="the boot test needs about"):
        check_plan(PLAN, host=world.host(), drives=(small, STICK.drive), stick=STICK)
