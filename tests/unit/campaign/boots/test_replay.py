# SPDX-License-Identifier: Apache-2.0
"""Replayed boots: the appliance's own start, then a list of reads on the bare drive."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.campaign.boots import replay
from appliance.campaign.boots.attempts import settle_armed
from appliance.campaign.boots.next_boot import Outcome, start_next_boot
from appliance.campaign.boots.replay import find_due_replay, measure_replay, read_extents
from appliance.drive_thread import DriveSilentError
from appliance.drives.model import Drive
from appliance.errors import StepFailedError, StickError
from appliance.samples.diskstats import DiskStats
from appliance.samples.read_list import ReadExtent, ReadList, make_list
from appliance.store.tables.replays import insert_read_list
from appliance.workloads.raw_files import unseal
from tests.unit.campaign.world import HDD, OffError, World, arm_and_start_anew

DRIVE_BYTES = 8 << 20
SET_BYTES = 1 << 20


@pytest.fixture
def started(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A machine that was switched off for its first replay, and is on again."""
    medium = tmp_path / "drive"
    medium.write_bytes(b"x" * DRIVE_BYTES)
    drive = replace(HDD, path=str(medium), size_bytes=DRIVE_BYTES)
    world.make_campaign([drive], released=False, mode="replay")
    world.drives = (drive,)
    context = world.context()
    reads = make_list(drive_bytes=DRIVE_BYTES, set_bytes=SET_BYTES)
    insert_read_list(context.connection, world.campaign_id, reads)
    context.connection.commit()
    # The drive has served 5 requests before, by the kernel's count.
    stats = iter([DiskStats(5, 9 << 10, 0, 0), DiskStats(105, (9 << 10) + SET_BYTES, 0, 0)] * 5)
    monkeypatch.setattr(replay, "_read_stat", lambda _: next(stats))
    monkeypatch.setattr(replay, "RAW", tmp_path / "raw")
    world.counts[drive.path] = 7
    arm_and_start_anew(world)
    world.counts[drive.path] = 8
    return world


def measure(world: World) -> None:
    context = world.context()
    cycle = find_due_replay(context, world.campaign_id)
    assert cycle is not None
    measure_replay(context, world.campaign_id, cycle)


def test_no_entry_is_armed_and_the_alarm_is(started: World) -> None:
    assert not any(line.startswith("arm ") for line in started.log)
    assert "alarm 60" in started.log
    assert started.log[-1] == "power-off"
    assert started.power_rows[-1][1][0].state == "armed"


def test_a_replay_is_a_sample_of_its_own_mode(started: World, tmp_path: Path) -> None:
    started.log.clear()
    measure(started)
    (boot,) = started.boots()
    assert (boot["mode"], boot["cycle"], boot["valid"]) == ("replay", 1, 1)
    assert (boot["cold_proof"], boot["read_bytes"], boot["read_ios"]) == ("proven", SET_BYTES, 100)
    parts = ("firmware_s", "loader_s", "kernel_s", "initrd_s", "userspace_s", "session_s")
    assert {boot[name] for name in parts} == {None}
    with started.looking() as connection:
        (kept,) = connection.execute("SELECT * FROM replays").fetchall()
        reads = connection.execute("SELECT * FROM replay_reads ORDER BY seq").fetchall()
    assert (kept["before_read_ios"], kept["before_read_bytes"]) == (5, 9 << 10)
    assert (kept["origin"], kept["version"], kept["seed"]) == ("built-in", 1, 1)
    assert kept["p50_ns"] <= kept["p95_ns"] <= kept["p99_ns"] <= kept["max_ns"]
    assert sum(row["length_bytes"] for row in reads) == SET_BYTES
    times_ns = [row["read_ns"] for row in reads]
    assert sum(times_ns) / 1e9 == pytest.approx(boot["boot_s"])
    raw = unseal((tmp_path / "raw/cycle-1/replay.json").read_bytes())
    assert raw["times_ns"] == times_ns
    assert raw["list_sha256"] == kept["list_sha256"]
    # The drive was asked nothing before its reads.
    assert started.log == [f"smart {started.drives[0].path}"]
    assert start_next_boot(started.context(), started.campaign_id) is Outcome.LEAVING


def test_a_replay_has_temperatures_and_the_kernels_errors_as_any_boot(started: World) -> None:
    path = started.drives[0].path
    started.celsius[path], started.cpu_celsius = 31.0, 52.5
    started.kernel_errors[path] = "I/O error, dev sda, sector 8"
    measure(started)
    (boot,) = started.boots()
    assert (boot["drive_celsius"], boot["cpu_celsius"], boot["valid"]) == (31.0, 52.5, 1)
    assert boot["kernel_errors"] == "I/O error, dev sda, sector 8"
    assert ("kernel-errors", f"{HDD.identity} cycle 1: I/O error, dev sda, sector 8") in (
        started.events()
    )


def test_a_sensor_that_does_not_answer_costs_no_sample(started: World) -> None:
    def hang(_: Drive) -> float:
        raise DriveSilentError("the drive does not answer")

    access = replace(started.access, read_celsius=hang)
    started.access = access
    measure(started)
    assert [boot["drive_celsius"] for boot in started.boots()] == [None]


def test_the_raw_file_is_durable_before_the_row(
    started: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it cannot be written, the row is stored all the same, and the campaign pauses."""

    def fail(path: Path, _text: str) -> None:
        raise StickError(f"{path.name} cannot be written")

    monkeypatch.setattr(replay, "keep", fail)
    with pytest.raises(StickError, match=r"replay\.json"):
        measure(started)
    assert len(started.boots()) == 1


def test_a_second_try_in_the_same_boot_is_none(
    started: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(replay, "keep", crash)
        with pytest.raises(ZeroDivisionError):
            measure(started)
    measure(started)
    assert started.boots() == []
    assert started.cycles()[0].state == "planned"
    assert "restarted after its reads had begun" in started.cycles()[0].reason
    assert start_next_boot(started.context(), started.campaign_id) is Outcome.LEAVING
    started.boot_id = "boot-2"
    measure(started)
    assert len(started.boots()) == 1, "armed again"


def test_a_restart_during_the_reads_leads_to_no_sample(
    started: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The drive kept its power, and has learned or kept what was read."""

    def reset(*_: object, **__: object) -> None:
        raise OffError

    with monkeypatch.context() as patch:
        patch.setattr(replay, "read_extents", reset)
        with pytest.raises(OffError):
            measure(started)
    started.boot_id = "boot-2"
    shutil.rmtree(started.host().run)
    started.host().run.mkdir()
    measure(started)
    assert started.boots() == []
    assert started.cycles()[0].state == "planned"


def test_a_start_before_the_power_off_was_asked_for_is_a_failed_attempt(started: World) -> None:
    started.context().connection.execute("UPDATE cycle SET left_at = NULL WHERE state = 'armed'")
    measure(started)
    assert started.boots() == []
    assert started.cycles()[0].reason == "the machine restarted before the power-off was requested"


def test_a_read_that_fails_is_a_failed_attempt_with_its_place(started: World) -> None:
    Path(started.drives[0].path).write_bytes(b"x" * (DRIVE_BYTES // 2))
    measure(started)
    assert started.boots() == []
    assert "ended at byte" in started.cycles()[0].reason
    assert started.cycles()[0].state == "planned"


def test_a_list_in_which_a_bit_has_turned_is_not_replayed(started: World) -> None:
    started.context().connection.execute("UPDATE replay_list SET sha256 = 'other'")
    measure(started)
    assert started.cycles()[0].reason == "the campaign's list of reads is damaged"


def test_the_boot_that_armed_it_is_not_the_replay(started: World) -> None:
    started.boot_id = "boot-0"
    assert find_due_replay(started.context(), started.campaign_id) is None
    settle_armed(started.context(), started.campaign_id)
    assert started.cycles()[0].state == "planned"


def test_a_replay_needs_no_boot_entry(started: World) -> None:
    measure(started)
    started.no_entry = "KALTSTART is exfat"
    assert start_next_boot(started.context(), started.campaign_id) is Outcome.LEAVING


def test_reads_are_made_in_their_order_past_the_cache(tmp_path: Path) -> None:
    medium = tmp_path / "drive"
    medium.write_bytes(b"x" * DRIVE_BYTES)
    extents = (ReadExtent(4096, 8192), ReadExtent(0, 4096, 0.001))
    seen = [DiskStats(1, 2, 0, 0), DiskStats(3, 4, 0, 0)]
    before, sample, after = read_extents(
        str(medium),
        ReadList("t", None, None, extents),
        clock=lambda: 4.5,
        read_stat=lambda _: seen.pop(0),
    )
    assert (before.read_ios, after.read_ios, sample.started_s) == (1, 3, 4.5)
    assert len(sample.times_ns) == 2
    assert json.dumps(sample.times_ns)
    beyond = ReadList("t", None, None, (ReadExtent(DRIVE_BYTES, 4096),))
    with pytest.raises(StepFailedError, match=f"ended at byte {DRIVE_BYTES}"):
        read_extents(
            str(medium), beyond, clock=lambda: 0, read_stat=lambda _: DiskStats(0, 0, 0, 0)
        )
