"""A measured boot: whether it was due, and what of it is stored before anything else is done."""

from dataclasses import replace
from pathlib import Path
from typing import Self

import pytest

from appliance.arrays.set_uuid import array_set_uuid
from appliance.campaign import measure, power
from appliance.campaign.advance import Outcome, go_on
from appliance.campaign.booted_array import BootedDrives
from appliance.campaign.measure import _find_due, _store, measure_boot
from appliance.campaign.thisboot import ThisBoot
from appliance.drives.model import Drive
from appliance.drives.smart import PowerCycles
from appliance.errors import Refusal, StepFailed, StickTrouble
from appliance.measure.diskstats import DiskStats
from appliance.measure.startup import Startup
from appliance.plan_model import ArrayPlan
from appliance.run import Finished
from appliance.store.arrays import insert_array, update_array
from appliance.store.connect import open_database
from appliance.store.cycles import BootSample
from appliance.workloads.reference_os import root_partuuid
from tests.unit.campaign.world import HDD, SSD, STICK, World, install_uuid, installed

SAMPLE = BootSample(
    boot_id="boot-1",
    boot_s=26.5,
    firmware_s=None,
    loader_s=1.5,
    kernel_s=2.0,
    initrd_s=6.0,
    userspace_s=12.5,
    session_s=6.0,
    io_quiet_s=30.0,
    read_bytes=300 << 20,
    read_ios=9000,
    wake_skew_s=None,
)
ALARM = 1_800_000_060.0


class Consoles:
    """In the place of the terminals; somebody presses a key, or nobody does."""

    key = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def say(self, text: str) -> None:
        """Show."""

    def key_pressed(self, within_s: float) -> bool:
        """Answer without waiting for `within_s`."""
        del within_s
        return self.key


def start_measured(world: World) -> None:
    """Arm the next cycle in the appliance; what starts then is the measured boot."""
    assert go_on(world.site(), world.campaign_id) is Outcome.LEAVING
    world.boot_id = "boot-1"
    world.entry = ""
    world.log.clear()


def store(world: World, *, slot: int = 1, charted: bool = False, drive: Drive = HDD) -> None:
    site = world.site(slot=slot, charted=charted)
    due = _find_due(site, slot)
    assert due is not None
    _store(site, due, BootedDrives(drive), SAMPLE)


# Whether it was due


def test_the_armed_cycle_is_due(world: World) -> None:
    world.make_campaign()
    start_measured(world)
    due = _find_due(world.site(slot=1), 1)
    assert due is not None
    campaign, cycle, row = due
    assert (campaign.id, cycle.cycle, row.serial, row.slot) == (1, 1, "LAB-HDD-1", 1)


def test_another_slots_boot_was_not_due(world: World) -> None:
    world.make_campaign()
    start_measured(world)
    assert _find_due(world.site(slot=2), 2) is None


@pytest.mark.parametrize("charted", [False, True])
def test_a_timed_and_a_charted_boot_are_not_the_same(world: World, *, charted: bool) -> None:
    world.make_campaign(charts="all")
    if charted:
        world.site().connection.execute("UPDATE cycle SET state = 'done' WHERE NOT charted")
    start_measured(world)
    assert _find_due(world.site(slot=1, charted=charted), 1) is not None
    assert _find_due(world.site(slot=1, charted=not charted), 1) is None


def test_a_cycle_armed_by_another_entry_is_not_due(world: World) -> None:
    world.make_campaign()
    start_measured(world)
    world.site().connection.execute("UPDATE cycle SET entry = 'measure-02' WHERE state = 'armed'")
    assert _find_due(world.site(slot=1), 1) is None


def test_nothing_armed_is_nothing_due(world: World) -> None:
    world.make_campaign()
    assert _find_due(world.site(slot=1), 1) is None


@pytest.mark.parametrize("state", ["paused", "done", "preparing"])
def test_a_campaign_that_does_not_run_has_nothing_due(world: World, state: str) -> None:
    world.make_campaign()
    start_measured(world)
    world.site().connection.execute("UPDATE campaign SET state = ?", (state,))
    assert _find_due(world.site(slot=1), 1) is None


def test_without_a_campaign_nothing_is_due(world: World) -> None:
    assert _find_due(world.site(slot=1), 1) is None


# The sample


def test_the_sample_is_committed_before_the_drive_is_asked(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[list[str], list[dict[str, object]]]] = []

    def read_power_cycles(drive: Drive) -> PowerCycles:
        seen.append((world.states(), world.boots()))
        return PowerCycles(42, "ATA attribute 12")

    world.make_campaign()
    world.counts = {HDD.path: 41}
    start_measured(world)
    monkeypatch.setattr(measure, "read_power_cycles", read_power_cycles)
    store(world)
    ((states, (boot,)),) = seen
    assert states == ["done", "planned", "planned", "planned"]
    assert (boot["boot_s"], boot["valid"], boot["cold_proof"]) == (26.5, 1, "unproven")
    assert boot["cold_reason"] == "the drive's power-cycle count was not read"


def test_a_drive_that_hangs_costs_the_proof_and_not_the_sample(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_power_cycles(drive: Drive) -> PowerCycles:
        raise KeyboardInterrupt  # the plug is pulled

    world.make_campaign()
    start_measured(world)
    monkeypatch.setattr(measure, "read_power_cycles", read_power_cycles)
    with pytest.raises(KeyboardInterrupt):
        store(world)
    (boot,) = world.boots()
    assert (boot["boot_s"], boot["cold_proof"]) == (26.5, "unproven")


def test_all_of_a_sample_is_stored(world: World) -> None:
    world.make_campaign()
    world.counts = {HDD.path: 41}
    world.kernel_started_at = ALARM + 7.25
    world.now_s = 30.0
    start_measured(world)
    world.counts = {HDD.path: 42}
    store(world)
    (boot,) = world.boots()
    at = boot.pop("at")
    assert isinstance(at, str)
    assert boot == {
        "campaign_id": 1,
        "drive_serial": "LAB-HDD-1",
        "drive_role": "target",
        "cycle": 1,
        "power": "cold",
        "cold_proof": "proven",
        "cold_reason": "ATA attribute 12 rose by one: 41 → 42",
        "valid": 1,
        "charted": 0,
        "boot_s": 26.5,
        "firmware_s": None,
        "loader_s": 1.5,
        "kernel_s": 2.0,
        "initrd_s": 6.0,
        "userspace_s": 12.5,
        "session_s": 6.0,
        "io_quiet_s": 30.0,
        "read_bytes": 300 << 20,
        "read_ios": 9000,
        "wake_skew_s": 7.25,
    }
    with world.looking() as connection:
        after = connection.execute("SELECT power_cycles_after FROM boot_sample").fetchone()[0]
    assert after == 42
    assert world.events()[-1] == ("cycle-done", "LAB-HDD-1 cycle 1: 26.500 s")
    assert world.lines == [
        (
            "cycle-done",
            {
                "id": 1,
                "drive": "LAB-HDD-1",
                "cycle": "1/2",
                "boot_s": "26.500",
                "power": "cold",
                "proof": "proven",
            },
        )
    ]


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (41, 41, "did not rise although the machine was powered off: 41 → 41"),
        (41, 43, "rose by 2"),
        (41, None, "the drive offers no power-cycle count"),
        (None, 42, "the count before is not known"),
        (None, None, "the drive offers no power-cycle count"),
    ],
)
def test_without_a_proof_the_reason_is_stored(
    world: World, before: int | None, after: int | None, reason: str
) -> None:
    world.make_campaign()
    world.counts = {} if before is None else {HDD.path: before}
    start_measured(world)
    world.counts = {} if after is None else {HDD.path: after}
    store(world)
    (boot,) = world.boots()
    assert boot["cold_proof"] == "unproven"
    assert reason in str(boot["cold_reason"])
    assert boot["valid"] == 1


@pytest.mark.parametrize(
    ("before", "after", "valid"),
    [(41, 41, 1), (41, 42, 0), (41, None, 1), (None, 42, 1), (None, None, 1)],
)
def test_a_warm_boot_counts_only_if_the_drive_kept_its_power(
    world: World, before: int | None, after: int | None, valid: int
) -> None:
    world.make_campaign(power="warm")
    world.counts = {} if before is None else {HDD.path: before}
    start_measured(world)
    world.counts = {} if after is None else {HDD.path: after}
    store(world)
    (boot,) = world.boots()
    assert (boot["power"], boot["cold_proof"], boot["wake_skew_s"]) == ("warm", "warm", None)
    assert boot["valid"] == valid
    assert ("lost power" in str(boot["cold_reason"])) is not bool(valid)
    assert world.log == ["smart /dev/sda"]


def test_a_chart_is_kept_with_its_cycle(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = []

    def run(command: list[str], **_: object) -> Finished:
        # Its process writes the chart when it is told to stop.
        commands.append(command)
        (tmp_path / "bootchart-20261121-0320.svg").write_text("<svg/>")
        return Finished(tuple(command), 0, "", "")

    world.make_campaign([HDD], cycles=1, charts="all")
    world.site().connection.execute("UPDATE cycle SET state = 'done' WHERE NOT charted")
    start_measured(world)
    monkeypatch.setattr(measure, "run", run)
    monkeypatch.setattr(measure, "_CHARTS", tmp_path)
    monkeypatch.setattr(measure, "RAW", tmp_path / "raw")
    store(world, charted=True)
    assert commands == [["systemctl", "stop", "kaltstart-bootchart.service"]]
    assert (tmp_path / "raw/cycle-2/bootchart.svg").read_text() == "<svg/>"
    assert world.lines[-1][1]["charted"] == 1


def test_a_chart_that_is_missing_is_told_and_the_sample_stays(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make_campaign([HDD], cycles=1, charts="all")
    world.site().connection.execute("UPDATE cycle SET state = 'done' WHERE NOT charted")
    start_measured(world)
    monkeypatch.setattr(measure, "run", lambda *_, **__: Finished((), 0, "", ""))
    monkeypatch.setattr(measure, "_CHARTS", tmp_path)
    store(world, charted=True)
    assert world.events()[-1] == ("no-chart", "systemd-bootchart left no chart")
    assert world.states() == ["done", "done"]


# All of it


@pytest.fixture
def booted(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """The first measured boot of a campaign, on a machine that is not there."""
    world.make_campaign()
    start_measured(world)
    world.power_rows.clear()
    this_boot = ThisBoot(boot_id="boot-1", slot=1, charted=False, firmware="uefi")
    monkeypatch.setattr(measure, "read_this_boot", lambda: this_boot)
    monkeypatch.setattr(measure, "_root_disk", lambda _: "sda")
    startup = Startup(None, None, 2.0, 6.0, 12.5, 20.5)
    monkeypatch.setattr(measure, "_wait_for_startup", lambda: startup)
    monkeypatch.setattr(measure, "mount_session_set", Path)
    monkeypatch.setattr(measure, "read_session_set", lambda _: 8 << 20)
    monkeypatch.setattr(measure, "_read_stats", lambda _: DiskStats(9000, 300 << 20, 0, 0))
    monkeypatch.setattr(measure, "_wait_for_quiet", lambda _: 30.0)
    monkeypatch.setattr(measure, "find_stick", lambda _: STICK)
    monkeypatch.setattr(measure, "mount_data", lambda _: None)
    monkeypatch.setattr(measure, "mount_fat", lambda _: None)
    monkeypatch.setattr(measure, "unmount_all", lambda: world.log.append("unmount"))
    monkeypatch.setattr(measure, "open_database", lambda _: open_database(world.path))
    monkeypatch.setattr(measure, "Consoles", Consoles)
    monkeypatch.setattr(Consoles, "key", False)
    return world


def test_a_measured_boot_stores_its_sample_and_arms_the_next(booted: World) -> None:
    measure_boot()
    assert booted.states() == ["done", "armed", "planned", "planned"]
    assert booted.log[-1] == "power-off"
    assert booted.entry == "measure-02"
    ((_, cycles),) = booted.power_rows
    assert [cycle.state for cycle in cycles] == ["done", "armed", "planned", "planned"]
    (boot,) = booted.boots()
    boot_s = boot["boot_s"]
    assert isinstance(boot_s, float)
    assert boot_s >= 20.5


def test_a_key_keeps_the_sample_and_goes_back_to_the_appliance(
    booted: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Consoles, "key", True)
    measure_boot()
    assert booted.states() == ["done", "planned", "planned", "planned"]
    assert booted.campaign().state == "paused"
    assert booted.log[-1] == "reboot"
    assert booted.entry == ""
    # Counted before each may happen, and never taken back.
    assert booted.campaign().power_actions >= 2


def test_after_the_last_boot_the_appliance_writes_the_report(booted: World) -> None:
    booted.site().connection.execute("UPDATE cycle SET state = 'failed' WHERE state = 'planned'")
    measure_boot()
    assert booted.states() == ["done", "failed", "failed", "failed"]
    assert booted.log[-1] == "reboot"
    assert booted.campaign().state == "running"


def test_a_drive_that_fails_under_the_measurement_loses_the_attempt_only(
    booted: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_session_set(_: Path) -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(measure, "read_session_set", read_session_set)
    measure_boot()
    assert booted.boots() == []
    assert booted.cycles()[0].attempts == 2  # armed again
    assert booted.states() == ["armed", "planned", "planned", "planned"]
    attempts = [detail for event, detail in booted.events() if event == "attempt-failed"]
    reason = "the session set on /dev/sda cannot be read: [Errno 5] Input/output error"
    assert attempts == [f"LAB-HDD-1 cycle 1, attempt 1 of 3: {reason}"]
    assert booted.log[-1] == "power-off"


def test_a_sample_of_another_drive_is_not_stored_as_this_ones(booted: World) -> None:
    booted.drives = (installed(SSD, 2),)
    measure_boot()
    assert booted.states() == ["failed", "armed", "planned", "planned"]
    (boot,) = booted.boots()
    assert (boot["drive_serial"], boot["valid"], boot["boot_s"]) == ("LAB-HDD-1", 0, None)
    assert "is in this machine" in str(boot["cold_reason"])


def test_a_boot_nobody_expected_stores_nothing_and_goes_back(booted: World) -> None:
    booted.site().connection.execute("UPDATE cycle SET state = 'planned'")
    measure_boot()
    assert booted.boots() == []
    assert booted.log == ["disarm", "reboot"]
    assert booted.events()[-1] == ("unexpected-boot", "slot 1")


def test_a_boot_nobody_expected_that_would_come_again_ends_switched_off(booted: World) -> None:
    booted.site().connection.execute("UPDATE cycle SET state = 'planned'")
    booted.entry = "measure-01"
    booted.stuck = True
    measure_boot()
    assert booted.log == ["disarm", "clear alarm", "power-off"]


def test_a_boot_whose_entry_cannot_be_asked_for_ends_switched_off(
    booted: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def disarm_entry(_: ThisBoot) -> None:
        raise StickTrouble("kaltstart/grubenv on KALTSTART cannot be used")

    booted.site().connection.execute("UPDATE cycle SET state = 'planned'")
    monkeypatch.setattr(power, "disarm_entry", disarm_entry)
    measure_boot()
    assert booted.log == ["clear alarm", "power-off"]


def test_a_boot_before_power_was_asked_to_go_is_a_failed_attempt(booted: World) -> None:
    """The plug was pulled in the countdown, or the machine reset itself."""
    booted.site().connection.execute("UPDATE cycle SET left_at = NULL WHERE state = 'armed'")
    measure_boot()
    assert booted.boots() == []
    assert booted.cycles()[0].attempts == 2  # armed again
    assert [detail for event, detail in booted.events() if event == "attempt-failed"] == [
        "LAB-HDD-1 cycle 1, attempt 1 of 3: the machine restarted before power was asked to go"
    ]


def test_a_boot_from_another_drive_is_not_stored(
    booted: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "_root_disk", lambda _: "sdd")
    measure_boot()
    assert booted.boots() == []
    attempts = [detail for event, detail in booted.events() if event == "attempt-failed"]
    assert attempts[0].endswith("this boot's root is on /dev/sdd and not on drive LAB-HDD-1")


def test_a_sample_of_another_installation_is_not_stored(booted: World) -> None:
    booted.drives = (replace(booted.drives[0], disk_uuid="another"), booted.drives[1])
    measure_boot()
    assert [boot["boot_s"] for boot in booted.boots()] == [None]
    attempts = [detail for event, detail in booted.events() if event == "attempt-failed"]
    assert attempts[0].endswith("no longer carries its reference OS")


ARRAY_PLAN = """
version = 1
[[drive]]
serial = "LAB-HDD-1"
role = "backing"
erase = "LAB-HDD-1"
[[drive]]
serial = "LAB-SSD-1"
role = "cache"
erase = "LAB-SSD-1"
[array]
cache_mode = "writethrough"
[boot]
"""


@pytest.fixture
def booted_array(booted: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """The same, from an array."""
    set_uuid = array_set_uuid(1)
    connection = booted.site().connection
    connection.execute("UPDATE campaign SET plan_toml = ?", (ARRAY_PLAN,))
    connection.execute("UPDATE campaign_drive SET role = 'cache' WHERE slot = 2")
    connection.execute("UPDATE campaign_drive SET role = 'backing' WHERE slot = 1")
    connection.execute("DELETE FROM cycle WHERE drive_id = 2")
    insert_array(connection, campaign_id=1, backing_drive_id=1, cache_drive_id=2, set_uuid=set_uuid)
    update_array(connection, set_uuid, "made")
    # The kernel shows the array's partitions below both drives.
    booted.drives = (
        replace(HDD, holders=("bcache0 (bcache)",), partition_uuids=(root_partuuid(1),)),
        replace(SSD, holders=("bcache0 (bcache)",), partition_uuids=(root_partuuid(1),)),
    )
    booted.sets = {HDD.path: set_uuid, SSD.path: set_uuid}
    monkeypatch.setattr(measure, "_root_disk", lambda _: "bcache0")
    monkeypatch.setattr(measure, "check_root", lambda *_: None)
    monkeypatch.setattr(measure, "check_settings", lambda *_, **__: None)
    monkeypatch.setattr(measure, "read_table_uuid", lambda _: install_uuid(1))
    return booted


def test_a_boot_from_an_array_is_its_backing_drives(booted_array: World) -> None:
    measure_boot()
    (boot,) = booted_array.boots()
    assert (boot["drive_serial"], boot["drive_role"], boot["valid"]) == ("LAB-HDD-1", "backing", 1)


HDD_ROSE, SSD_ROSE = (f"ATA attribute 12 rose by one: {rise}" for rise in ("3 → 4", "7 → 8"))
SSD_STOOD = "count did not rise although the machine was powered off: 7 → 7"


@pytest.mark.parametrize(
    ("after", "proof", "reason"),
    [
        ((4, 8), "proven", f"LAB-HDD-1: {HDD_ROSE}; LAB-SSD-1: {SSD_ROSE}"),
        ((4, 7), "unproven", f"LAB-SSD-1: {SSD_STOOD}"),
        ((5, 8), "unproven", "LAB-HDD-1: count rose by 2 over one power-off: 3 → 5"),
        (
            (5, 7),
            "unproven",
            f"LAB-HDD-1: count rose by 2 over one power-off: 3 → 5; LAB-SSD-1: {SSD_STOOD}",
        ),
        ((4, None), "unproven", "LAB-SSD-1: the drive offers no power-cycle count"),
    ],
)
def test_an_array_was_cold_only_where_both_its_drives_were(
    booted_array: World, after: tuple[int, int | None], proof: str, reason: str
) -> None:
    booted_array.site().connection.execute(
        "UPDATE cycle SET power_cycles_before = 3, cache_power_cycles_before = 7"
    )
    paths = (HDD.path, SSD.path)
    booted_array.counts = {
        path: count for path, count in zip(paths, after, strict=True) if count is not None
    }
    measure_boot()
    (boot,) = booted_array.boots()
    assert (boot["cold_proof"], boot["cold_reason"], boot["valid"]) == (proof, reason, 1)
    with booted_array.looking() as connection:
        counts = connection.execute(
            "SELECT power_cycles_after, cache_power_cycles_after FROM boot_sample"
        ).fetchone()
    assert tuple(counts) == after


@pytest.mark.parametrize(
    ("after", "valid", "reason"),
    [
        ((3, 7), 1, "the machine was restarted without power-off"),
        ((3, 8), 0, "drive LAB-SSD-1 lost power before a boot that was to be warm"),
    ],
)
def test_an_array_was_warm_only_where_both_its_drives_were(
    booted_array: World, after: tuple[int, int], valid: int, reason: str
) -> None:
    booted_array.site().connection.execute(
        "UPDATE cycle SET power = 'warm', power_cycles_before = 3, cache_power_cycles_before = 7"
    )
    booted_array.counts = dict(zip((HDD.path, SSD.path), after, strict=True))
    measure_boot()
    (boot,) = booted_array.boots()
    assert (boot["cold_proof"], boot["cold_reason"], boot["valid"]) == ("warm", reason, valid)


def test_a_boot_from_another_installation_on_the_array_is_not_stored(
    booted_array: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "read_table_uuid", lambda _: install_uuid(2))
    measure_boot()
    assert booted_array.boots() == []
    attempts = [detail for event, detail in booted_array.events() if event == "attempt-failed"]
    assert attempts[0].endswith("the array of drive LAB-HDD-1 carries another reference OS")


def test_a_boot_with_other_settings_than_the_plans_is_not_stored(
    booted_array: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check_settings(backing: Drive, *, set_uuid: str, plan: ArrayPlan) -> None:
        raise StepFailed(f"{backing.name} {set_uuid} does not run in {plan.cache_mode}")

    monkeypatch.setattr(measure, "check_settings", check_settings)
    measure_boot()
    assert booted_array.boots() == []
    attempts = [detail for event, detail in booted_array.events() if event == "attempt-failed"]
    set_uuid = booted_array.sets[HDD.path]
    assert attempts[0].endswith(f": sda {set_uuid} does not run in writethrough")


def test_without_its_stick_it_says_so_and_goes_back(
    booted: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_stick(_: object) -> None:
        raise StickTrouble("the Kaltstart stick is not found")

    monkeypatch.setattr(measure, "find_stick", find_stick)
    measure_boot()
    assert booted.log == ["disarm", "unmount", "reboot"]
    assert booted.lines == [("refused", {"reason": "the Kaltstart stick is not found"})]
    assert booted.states() == ["armed", "planned", "planned", "planned"]


def test_in_the_appliance_there_is_nothing_to_measure(
    booted: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    this_boot = ThisBoot(boot_id="boot-1", slot=None, charted=False, firmware="uefi")
    monkeypatch.setattr(measure, "read_this_boot", lambda: this_boot)
    with pytest.raises(Refusal, match="not a measured boot"):
        measure_boot()
    assert booted.log == []


def test_a_start_up_without_an_end_is_a_failed_attempt(
    booted: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait() -> Startup:
        raise StepFailed("systemd does not say when the start-up finished")

    monkeypatch.setattr(measure, "_wait_for_startup", wait)
    measure_boot()
    assert booted.boots() == []
    reason = "systemd does not say when the start-up finished"
    assert [detail for event, detail in booted.events() if event == "attempt-failed"] == [
        f"LAB-HDD-1 cycle 1, attempt 1 of 3: {reason}"
    ]


# The root


class Machine:
    """What udev, systemd and the kernel show of partitions and of the root."""

    def __init__(self, path: Path) -> None:
        self.mounted = path / "volatile-root"
        self.named = path / "by-partuuid"
        self.devices = path / "sys/dev/block"
        self.named.mkdir()
        self.devices.mkdir(parents=True)
        for number, partition in (("8:1", "sda/sda1"), ("254:1", "bcache0/bcache0p1")):
            (path / "sys/devices" / partition).mkdir(parents=True)
            (self.devices / number).symlink_to(f"../../devices/{partition}")

    def mount(self, number: str, *, named: str) -> None:
        """The root was mounted from `number`; its UUID leads to `named`."""
        self.mounted.symlink_to(f"/dev/block/{number}")
        (self.named / root_partuuid(1)).symlink_to(f"../../{named}")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(tmp_path)
    monkeypatch.setattr(measure, "_MOUNTED_ROOT", machine.mounted)
    monkeypatch.setattr(measure, "_BY_PARTUUID", machine.named)
    monkeypatch.setattr(measure, "_DEVICES", machine.devices)
    return machine


@pytest.mark.parametrize(
    ("number", "named", "disk"), [("8:1", "sda1", "sda"), ("254:1", "bcache0p1", "bcache0")]
)
def test_the_disk_is_the_one_the_root_was_mounted_from(
    machine: Machine, number: str, named: str, disk: str
) -> None:
    machine.mount(number, named=named)
    assert measure._root_disk(1) == disk


def test_a_root_whose_uuid_leads_elsewhere_gives_no_sample(machine: Machine) -> None:
    machine.mount("254:1", named="sda1")
    with pytest.raises(StepFailed, match=r"mounted from bcache0p1, and its UUID leads to .*/sda1"):
        measure._root_disk(1)


def test_a_root_that_is_gone_or_not_known_gives_no_sample(machine: Machine) -> None:
    unknown = "what this boot's root was mounted from is not known: "
    with pytest.raises(StepFailed, match=f"{unknown}.*/volatile-root: No such file"):
        measure._root_disk(1)
    machine.mount("8:17", named="sda1")
    with pytest.raises(StepFailed, match=f"{unknown}.*/8:17: No such file"):
        measure._root_disk(1)


# I/O quiet


class Disk:
    """A disk with a clock: `reads` has the seconds at which it reads."""

    def __init__(self, reads: list[float]) -> None:
        self.now_s = 100.0
        self.reads = reads

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now_s += seconds

    def read_stats(self, _disk: str) -> DiskStats:
        """Count the reads so far."""
        done = sum(at <= self.now_s - 100 for at in self.reads)
        return DiskStats(done, done * 4096, 0, 0)


@pytest.mark.parametrize(
    ("reads", "quiet_s"),
    [
        ([], 0.0),
        ([0.5, 1.1], 1.1),
        ([0.9, 1.8, 2.7, 3.6], 3.6),
        ([0.1, 5.0], 0.1),  # what comes after a quiet second is no longer the start-up's
        ([each / 10 for each in range(200)], None),
    ],
)
def test_quiet_is_the_last_read_before_a_quiet_second(
    monkeypatch: pytest.MonkeyPatch, reads: list[float], quiet_s: float | None
) -> None:
    disk = Disk(reads)
    monkeypatch.setattr(measure, "_read_stats", disk.read_stats)
    monkeypatch.setattr(measure, "monotonic_s", lambda: disk.now_s)
    monkeypatch.setattr("appliance.campaign.measure.time.sleep", disk.sleep)
    measured_s = measure._wait_for_quiet("sda")
    if quiet_s is None:
        assert measured_s is None
    else:
        # Seen at the next look.
        assert measured_s is not None
        assert quiet_s <= measured_s - 100 <= quiet_s + 0.21
