# SPDX-License-Identifier: Apache-2.0
"""What is said of an array in a part of a step, and what a workload may do with it."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from appliance.arrays.model import Array, CacheCounters
from appliance.campaign.drives.array import OpenArray
from appliance.campaign.steps.array_watch import ArrayWatch, judge_counters, read_hit_ratio
from appliance.drives.unlock import Unlocked
from appliance.errors import StepFailedError
from appliance.progress import Progress
from appliance.samples.variants import CacheMode
from appliance.store.tables.steps import ArrayCondition
from tests.unit.campaign.array_world import NAME, ArrayMachine, make_array_machine
from tests.unit.campaign.world import HDD, SSD, World
from tests.unit.plan.array_plan import ARRAY_PLAN


@pytest.fixture
def machine(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ArrayMachine:
    """An array that runs."""
    machine = make_array_machine(world, tmp_path, monkeypatch)
    machine.mode = "writeback"
    return machine


@pytest.fixture
def watch(machine: ArrayMachine) -> ArrayWatch:
    """Of that array, with 4 MiB dirty."""
    machine.dirty_bytes = 4 << 20
    return watched(machine, lambda *_: None)


def watched(machine: ArrayMachine, tell: Progress) -> ArrayWatch:
    """The array of HDD and SSD."""
    cache = cast("Unlocked", SimpleNamespace(path=SSD.path, drive=SSD))
    opened = OpenArray(Array("the-set", NAME, HDD.name, SSD.name), cache)
    return ArrayWatch(opened, plan=ARRAY_PLAN, tell=tell, announce=machine.world.announce)


@pytest.mark.parametrize(
    ("array_read_bytes", "backing_read_bytes", "ratio"),
    [(4096, 0, 1.0), (4096, 1024, 0.75), (4096, 4096, 0.0), (4096, 1 << 20, 0.0)],
)
def test_hit_ratio_of_bytes(array_read_bytes: int, backing_read_bytes: int, ratio: float) -> None:
    found = read_hit_ratio(array_read_bytes=array_read_bytes, backing_read_bytes=backing_read_bytes)
    assert found == ratio


@pytest.mark.parametrize(
    ("counters", "read_ios", "is_whole", "valid", "reason"),
    [
        (CacheCounters(60, 40, 0, 0, 0), 100, True, True, "over the whole step"),
        (CacheCounters(10, 20, 30, 40, 0), 100, True, True, "over the whole step"),
        (CacheCounters(95, 0, 0, 0, 0), 100, True, True, "over the whole step"),
        (CacheCounters(94, 0, 0, 0, 0), 100, True, False, "94 of the 100 read requests"),
        # The timer lost 65,536 of them.
        (CacheCounters(4464, 0, 0, 0, 0), 70_000, True, False, "4464 of the 70000"),
        (CacheCounters(0, 0, 0, 0, 0), 0, True, True, "over the whole step"),
        (CacheCounters(100, 0, 0, 0, 0), 100, False, False, "was interrupted"),
    ],
)
def test_when_bcaches_counters_are_believed(
    counters: CacheCounters, read_ios: int, *, is_whole: bool, valid: bool, reason: str
) -> None:
    judged = judge_counters(counters, read_ios=read_ios, is_whole=is_whole)
    assert judged[0] is valid
    assert reason in judged[1]


def test_a_part_that_read_nothing_has_no_hit_ratio(
    machine: ArrayMachine, watch: ArrayWatch
) -> None:
    watch.begin_step()
    watch.begin_part()
    machine.dirty_bytes = 8 << 20
    # The disk is read all the same: by writing back.
    stat = machine.folder / "block" / HDD.name / "stat"
    stat.write_text("3 0 24 0 2 0 16 0 0 0 0")
    found = {result.metric: result.value for result in watch.end_part("seq-write")}
    assert found == {
        "backing_read_bytes": 24 * 512,
        "backing_write_bytes": 16 * 512,
        "cache_read_bytes": 0,
        "cache_write_bytes": 0,
        "dirty_start_bytes": 4 << 20,
        "dirty_end_bytes": 8 << 20,
    }
    assert {result.variant for result in watch.end_part("x/y")} == {"array/x/y"}
    assert "hit_ratio" not in {
        result.metric for result in watch.end_step(is_whole=True, peak_bytes=0)
    }


def test_reads_before_a_step_are_not_its_own(machine: ArrayMachine, watch: ArrayWatch) -> None:
    for _ in range(99):
        machine.read(NAME, 512)
    watch.begin_step()
    machine.read(NAME, 4096)
    found = {result.metric: result for result in watch.end_step(is_whole=True, peak_bytes=0)}
    assert found["cache_hits"].value + found["cache_misses"].value == 1
    assert found["cache_hits"].valid
    assert found["bypassed_bytes"].value == 4096


@pytest.mark.parametrize(("peak_bytes", "known"), [((32 << 20) - 1, True), (32 << 20, False)])
def test_bypassed_bytes_are_left_out_where_bcache_cannot_count_so_many(
    watch: ArrayWatch, peak_bytes: int, *, known: bool
) -> None:
    watch.begin_step()
    found = {
        result.metric: result for result in watch.end_step(is_whole=True, peak_bytes=peak_bytes)
    }
    assert ("bypassed_bytes" in found) is known
    assert found["cache_hits"].valid
    assert ("not known" in found["cache_hits"].cache.proof_reason) is not known


@pytest.mark.parametrize(
    ("modes", "several"),
    [
        (["writeback"], False),
        (["writethrough", "writethrough"], False),
        (["writethrough", "writeback"], True),
    ],
)
def test_counters_over_several_cache_modes_say_so(
    watch: ArrayWatch, modes: list[CacheMode], *, several: bool
) -> None:
    """The rows carry the last one's name."""
    watch.begin_step()
    for mode in modes:
        watch.begin_part()
        watch.set_cache_mode(mode)
        watch.end_part(mode)
    reasons = {result.cache.proof_reason for result in watch.end_step(is_whole=True, peak_bytes=0)}
    (reason,) = reasons
    assert reason.startswith("over several cache modes: ") is several
    assert "bcache's own counters over the whole step" in reason


def test_at_rest_a_part_starts_over(machine: ArrayMachine, watch: ArrayWatch) -> None:
    """What was written back before is not the part's doing."""
    watch.begin_part()
    machine.read(NAME, 1 << 20)
    assert watch.condition == ArrayCondition("writeback", 4 << 20)
    assert watch.come_to_rest() == ""
    assert watch.condition == ArrayCondition("writeback", 0)
    found = {result.metric: result.value for result in watch.end_part("rand-read")}
    assert found["backing_read_bytes"] == 0
    assert found["dirty_start_bytes"] == 0
    assert "hit_ratio" not in found
    assert machine.log == ["sync --file-system FOLDER", "wait-clean 600"]


def test_what_is_in_ram_for_a_bare_array_is_written_back_too(
    machine: ArrayMachine, watch: ArrayWatch
) -> None:
    machine.is_mounted = False
    watch.come_to_rest()
    assert machine.log == ["sync /dev/bcache0", "wait-clean 600"]


def test_what_cannot_be_written_back_fails_the_step(
    machine: ArrayMachine, watch: ArrayWatch
) -> None:
    machine.sync_error = "sync: error syncing: Input/output error"
    with pytest.raises(StepFailedError, match=r"^sync --file-system .*Input/output error$"):
        watch.come_to_rest()
    assert "wait-clean 600" not in machine.log


def test_a_stop_reaches_the_writing_back_of_ram(machine: ArrayMachine) -> None:
    said: list[str] = []

    def stop(text: str, _done: int, _total: int) -> None:
        said.append(text)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        watched(machine, stop).come_to_rest()
    assert said == ["writing back what is in RAM"]
    assert machine.log == []


def test_what_was_not_written_back_is_said(machine: ArrayMachine, watch: ArrayWatch) -> None:
    machine.rest_remark = "not clean after 600 s"
    assert watch.come_to_rest() == "not clean after 600 s"
    assert watch.condition == ArrayCondition("writeback", 4 << 20)


def test_a_disk_that_lost_its_cache_is_no_array(machine: ArrayMachine, watch: ArrayWatch) -> None:
    """The kernel takes a cache away that fails; the disk answers everything from then on."""
    watch.begin_part()
    machine.has_cache = False
    for work in (
        watch.begin_part,
        lambda: watch.end_part("one"),
        lambda: watch.end_step(is_whole=True, peak_bytes=0),
        watch.come_to_rest,
    ):
        with pytest.raises(StepFailedError, match="has lost its cache"):
            work()


def test_a_mode_that_was_set_holds_for_what_follows(
    machine: ArrayMachine, watch: ArrayWatch
) -> None:
    watch.set_cache_mode("writearound")
    assert watch.condition.mode == "writearound"
    watch.empty_cache()
    assert machine.log == ["set-mode writearound", "empty-cache /dev/sdb writearound"]
    watch.begin_part()
    assert watch.condition.mode == "writearound"
    assert machine.world.lines == [("array", {"set": "the-set", "state": "emptying"})]


def test_the_mode_is_the_one_in_force_and_not_the_one_that_was_planned(
    machine: ArrayMachine, watch: ArrayWatch
) -> None:
    machine.mode = "writethrough"
    watch.begin_part()
    assert watch.condition.mode == "writethrough"


def test_the_devices_are_the_array_its_cache_and_its_disk(
    machine: ArrayMachine, watch: ArrayWatch
) -> None:
    block = machine.folder / "block"
    assert watch.size_bytes == 4096 * 512
    assert list(watch.stat_paths.items()) == [
        (name, block / name / "stat") for name in (NAME, SSD.name, HDD.name)
    ]


def test_the_members_are_not_mixed_up(machine: ArrayMachine, watch: ArrayWatch) -> None:
    machine.read(NAME, 4096)
    members = watch.read_members()
    assert (members.backing.read_bytes, members.cache.read_bytes) == (1024, 3072)


@pytest.mark.parametrize("name", [NAME, HDD.name, SSD.name])
def test_a_device_that_is_gone_is_a_failure_of_the_step(
    machine: ArrayMachine, watch: ArrayWatch, name: str
) -> None:
    (machine.folder / "block" / name / "stat").unlink()
    for work in (watch.begin_part, lambda: watch.end_part("one")):
        with pytest.raises(StepFailedError, match=f"/dev/{name} is gone"):
            work()


def test_an_array_that_is_gone_has_no_size(machine: ArrayMachine, watch: ArrayWatch) -> None:
    (machine.folder / "block" / NAME / "size").unlink()
    with pytest.raises(StepFailedError, match="/dev/bcache0 is gone"):
        _ = watch.size_bytes


def test_what_was_met_is_known_when_the_array_is_gone(
    machine: ArrayMachine, watch: ArrayWatch
) -> None:
    machine.gone = True
    assert watch.condition == ArrayCondition("writeback", 4 << 20)
    with pytest.raises(StepFailedError):
        watch.begin_part()
    assert watch.condition == ArrayCondition("writeback", 4 << 20)
