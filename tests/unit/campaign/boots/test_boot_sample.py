# SPDX-License-Identifier: Apache-2.0
"""The sample of a measured boot: what is stored of it, and how it is known that it was cold."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.campaign.boots import store_sample as sample_store
from appliance.campaign.boots.measured_boot import _find_due
from appliance.campaign.boots.store_sample import store_sample
from appliance.campaign.drives.booted_array import BootedDrives
from appliance.drives.facts.power_cycles import PowerCycles
from appliance.drives.model import Drive
from appliance.errors import StepFailedError
from appliance.run import Finished
from appliance.samples.unit_times import UnitTime
from appliance.store.checksums import find_damaged
from appliance.store.tables.boots import BootSample
from tests.unit.campaign.world import HDD, World, start_measured

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
    session_wait_s=0.75,
)
ALARM = 1_800_000_060.0


def store(world: World, *, slot: int = 1, charted: bool = False, drive: Drive = HDD) -> None:
    context = world.context(slot=slot, charted=charted)
    due = _find_due(context, slot)
    assert due is not None
    store_sample(context, due, BootedDrives(drive), SAMPLE)


def test_the_sample_is_committed_before_the_drive_is_asked(world: World) -> None:
    seen: list[tuple[list[str], list[dict[str, object]]]] = []

    def read_power_cycles(drive: Drive) -> PowerCycles:
        seen.append((world.states(), world.boots()))
        return PowerCycles(42, "ATA attribute 12")

    world.make_campaign()
    world.counts = {HDD.path: 41}
    start_measured(world)
    world.access = replace(world.access, read_power_cycles=read_power_cycles)
    store(world)
    ((states, (boot,)),) = seen
    assert states == ["done", "planned", "planned", "planned"]
    assert (boot["boot_s"], boot["valid"], boot["cold_proof"]) == (26.5, 1, "unproven")
    assert boot["cold_reason"] == "the drive's power-cycle count was not read"


def test_a_boot_that_trains_the_drive_is_valid_and_not_timed(world: World) -> None:
    world.make_campaign(train=1)
    start_measured(world)
    store(world)
    (boot,) = world.boots()
    assert (boot["cycle"], boot["trained"], boot["valid"], boot["read_bytes"]) == (
        1,
        1,
        1,
        300 << 20,
    )
    times = {name for name in boot if name.endswith("_s")} - {"wake_skew_s", "off_s"}
    assert {boot[name] for name in times} == {None}
    assert "boot_s" in times
    with world.looking() as connection:
        query = "SELECT boot_s, kernel_s, session_s FROM boot_sample"
        assert tuple(connection.execute(query).fetchone()) == (None, None, None)
    assert world.events()[-1] == ("cycle-done", "LAB-HDD-1 cycle 1: not timed")
    ((event, fields),) = world.lines
    assert (event, fields["trained"], fields["cycle"]) == ("cycle-done", 1, "1/3")
    assert "boot_s" not in fields


def test_what_was_watched_is_stored_with_the_boot(world: World) -> None:
    said = "I/O error, dev sda, sector 8"
    world.make_campaign()
    start_measured(world)
    context = world.context(slot=1)
    due = _find_due(context, 1)
    assert due is not None
    sample = replace(SAMPLE, drive_celsius=31.0, cpu_celsius=52.5, kernel_errors=said)
    store_sample(context, due, BootedDrives(HDD), sample)
    (boot,) = world.boots()
    assert (boot["drive_celsius"], boot["cpu_celsius"], boot["valid"]) == (31.0, 52.5, 1)
    assert boot["kernel_errors"] == said
    assert world.events()[-1] == ("kernel-errors", f"LAB-HDD-1 cycle 1: {said}")


def test_a_drive_that_hangs_costs_the_proof_and_not_the_sample(world: World) -> None:
    def read_power_cycles(drive: Drive) -> PowerCycles:
        raise KeyboardInterrupt  # the plug is pulled

    world.make_campaign()
    start_measured(world)
    world.access = replace(world.access, read_power_cycles=read_power_cycles)
    with pytest.raises(KeyboardInterrupt):
        store(world)
    (boot,) = world.boots()
    assert (boot["boot_s"], boot["cold_proof"]) == (26.5, "unproven")


def test_a_clock_that_jumped_back_tells_no_time_without_power(world: World) -> None:
    world.make_campaign()
    start_measured(world)
    world.kernel_started_at = 60.0  # in 1970: its battery is empty
    world.context().connection.execute("UPDATE cycle SET left_at = '2027-01-15T08:00:00.000Z'")
    store(world)
    (boot,) = world.boots()
    assert boot["off_s"] is None


def test_all_of_a_sample_is_stored(world: World) -> None:
    world.make_campaign()
    world.counts = {HDD.path: 41}
    world.kernel_started_at = ALARM + 7.25
    world.now_s = 30.0
    start_measured(world)
    world.counts = {HDD.path: 42}
    world.context().connection.execute("UPDATE cycle SET left_at = '2027-01-15T08:00:00.000Z'")
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
        "mode": "install",
        "trained": 0,
        "drive_celsius": None,
        "cpu_celsius": None,
        "kernel_errors": "",
        "path": "stick",
        "label": "",
        "cooling": "none",
        "session_wait_s": 0.75,
        "off_s": 67.25,
        "drive_wwn": HDD.wwn,
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
        (41, None, "the drive has no power-cycle count"),
        (None, 42, "the count before is not known"),
        (None, None, "the drive has no power-cycle count"),
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
    ("before", "after", "proof", "valid"),
    [
        (41, 41, "warm", 1),
        (41, 42, "unproven", 0),
        (41, None, "unproven", 1),
        (None, 42, "unproven", 1),
        (None, None, "unproven", 1),
    ],
)
def test_a_warm_boot_is_one_only_if_the_drive_shows_that_it_kept_its_power(
    world: World, before: int | None, after: int | None, proof: str, valid: int
) -> None:
    world.make_campaign(power="warm")
    world.counts = {} if before is None else {HDD.path: before}
    start_measured(world)
    world.counts = {} if after is None else {HDD.path: after}
    store(world)
    (boot,) = world.boots()
    assert (boot["power"], boot["cold_proof"], boot["wake_skew_s"]) == ("warm", proof, None)
    assert boot["valid"] == valid
    assert ("lost power" in str(boot["cold_reason"])) is not bool(valid)
    assert world.log == ["smart /dev/sda"]


def test_a_spindle_that_stopped_before_a_warm_boot_did_not_lose_power(world: World) -> None:
    world.count_source = "SCSI start-stop log"
    world.make_campaign(power="warm")
    world.counts = {HDD.path: 41}
    start_measured(world)
    world.counts = {HDD.path: 42}
    store(world)
    assert [(boot["valid"], boot["cold_proof"]) for boot in world.boots()] == [(1, "unproven")]


def note_syncs(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """What is flushed from now on, as it is called by then."""
    synced: list[Path] = []
    fsync = os.fsync

    def note(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    return synced


def test_a_chart_is_kept_with_its_cycle(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = []

    def run(command: list[str], **_: object) -> Finished:
        # Its process writes the chart when it is asked to stop.
        commands.append(command)
        (tmp_path / "bootchart-20261121-0320.svg").write_text("<svg/>")
        return Finished(tuple(command), 0, "<svg></svg>\n", "")

    world.make_campaign([HDD], cycles=1, charts="all")
    world.context().connection.execute("UPDATE cycle SET state = 'done' WHERE NOT charted")
    start_measured(world)
    monkeypatch.setattr(sample_store, "run", run)
    monkeypatch.setattr(sample_store, "_CHARTS", tmp_path)
    monkeypatch.setattr(sample_store, "RAW", tmp_path / "raw")
    synced = note_syncs(monkeypatch)
    store(world, charted=True)
    # The power goes right behind it.
    folder = tmp_path / "raw/cycle-2"
    for name in ("bootchart.svg", "units.svg"):
        at = synced.index(folder / f"{name}.new")
        assert synced[at : at + 3] == [folder / f"{name}.new", folder, folder.parent]
    assert commands == [
        ["systemctl", "stop", "kaltstart-bootchart.service"],
        ["systemd-analyze", "plot"],
    ]
    assert (tmp_path / "raw/cycle-2/bootchart.svg").read_text() == "<svg/>"
    assert (tmp_path / "raw/cycle-2/units.svg").read_text() == "<svg></svg>\n"
    assert world.lines[-1][1]["charted"] == 1


def test_a_chart_that_is_missing_is_told_and_the_sample_stays(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make_campaign([HDD], cycles=1, charts="all")
    world.context().connection.execute("UPDATE cycle SET state = 'done' WHERE NOT charted")
    start_measured(world)
    monkeypatch.setattr(sample_store, "run", lambda *_, **__: Finished((), 0, "", ""))
    monkeypatch.setattr(sample_store, "_CHARTS", tmp_path)
    store(world, charted=True)
    assert world.events()[-2:] == [
        ("no-chart", "systemd-bootchart left no chart"),
        ("no-chart", "systemd-analyze drew no chart"),
    ]
    assert world.states() == ["done", "done"]


def test_the_units_are_stored_behind_the_sample(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def read(*, finish_s: float) -> tuple[UnitTime, ...]:
        asked.append((finish_s, [boot["boot_s"] for boot in world.boots()], world.events()[-1][0]))
        return (UnitTime("a.service", 1.5, 3.25, 1),)

    world.make_campaign([HDD], cycles=1, charts="none")
    start_measured(world)
    monkeypatch.setattr(sample_store, "read_unit_times", read)
    store(world)
    assert asked == [(SAMPLE.boot_s - (SAMPLE.session_s or 0), [SAMPLE.boot_s], "cycle-done")]
    (row,) = world.context().connection.execute("SELECT * FROM boot_units").fetchall()
    assert tuple(row) == (1, "LAB-HDD-1", 1, 0, "a.service", 1.5, 3.25, 1, HDD.wwn)
    assert not find_damaged(world.context().connection, tables=("start_up",))


def test_without_its_units_a_sample_is_one(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*, finish_s: float) -> tuple[UnitTime, ...]:
        raise StepFailedError("no answer within 120 s")

    world.make_campaign([HDD], cycles=1, charts="none")
    start_measured(world)
    monkeypatch.setattr(sample_store, "read_unit_times", read)
    store(world)
    assert world.events()[-1] == ("no-unit-times", "no answer within 120 s")
    assert [(boot["valid"], boot["boot_s"]) for boot in world.boots()] == [(1, SAMPLE.boot_s)]


def test_of_a_boot_that_is_not_timed_no_unit_is_stored(world: World) -> None:
    world.make_campaign([HDD], cycles=1, charts="none")
    world.context().connection.execute("UPDATE cycle SET trained = 1")
    start_measured(world)
    store(world)
    connection = world.context().connection
    assert connection.execute("SELECT count(*) FROM start_up").fetchone()[0] == 0
