# SPDX-License-Identifier: Apache-2.0
"""Which drives are asked for the array they belong to, and what a boot from one really ran on."""

from dataclasses import replace
from pathlib import Path

import pytest

from appliance.arrays import control as kernel
from appliance.arrays.model import array_set_uuid
from appliance.arrays.superblock import Superblock
from appliance.campaign.drives.booted_array import (
    BootedArray,
    BootedDrives,
    LiveMembers,
    check_root,
    check_sets,
    check_settings,
    read_sets,
)
from appliance.errors import RefusedError, StepFailedError
from tests.unit.campaign.world import HDD, SSD, World
from tests.unit.plan.array_plan import ARRAY_PLAN

MEMBER = replace(SSD, file_system="bcache")
OTHER = replace(SSD, path="/dev/sdd", serial="OTHER", file_system="bcache")


def test_only_members_and_what_udev_knows_is_asked() -> None:
    asked = []

    def read_superblock(path: str) -> Superblock | None:
        asked.append(path)
        if path == MEMBER.path:
            return Superblock("cache", True, "the set", "", 512)
        return None

    assert read_sets(read_superblock, [HDD, MEMBER, OTHER]) == {MEMBER.path: "the set"}
    assert asked == [MEMBER.path, OTHER.path]
    asked.clear()
    assert read_sets(read_superblock, [HDD, MEMBER, OTHER], HDD) == {MEMBER.path: "the set"}
    assert asked == [HDD.path, MEMBER.path, OTHER.path]


def test_a_drive_that_does_not_answer_counts_only_as_a_member() -> None:
    def read_superblock(path: str) -> Superblock | None:
        raise StepFailedError(f"{path}: a bcache superblock of an unknown kind")

    assert read_sets(read_superblock, [HDD, OTHER]) == {}
    with pytest.raises(StepFailedError, match=r"/dev/sdb: .*unknown kind"):
        read_sets(read_superblock, [HDD, MEMBER], MEMBER)


SET = array_set_uuid(1)


@pytest.fixture
def running(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BootedDrives:
    """The links of the kernel's control files of an array that runs."""
    world.make_campaign([HDD, SSD], roles=["backing", "cache"])
    for link, target in (
        ("sda/bcache/dev", "../../bcache0"),
        ("sda/bcache/cache", f"../../fs/bcache/{SET}"),
        ("sdb/bcache/set", f"../../fs/bcache/{SET}"),
    ):
        path = tmp_path / "block" / link
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
    monkeypatch.setattr(kernel, "BLOCK", tmp_path / "block")
    return BootedDrives(HDD, BootedArray(SET, world.drive_rows()[1]), SSD)


def test_the_root_is_on_the_drive_alone_or_on_the_array(
    running: BootedDrives, world: World
) -> None:
    row = world.drive_rows()[0]
    check_root("sda", BootedDrives(HDD), row)
    check_root("bcache0", running, row)
    with pytest.raises(RefusedError, match="is on /dev/sdd and not on drive LAB-HDD-1"):
        check_root("sdd", BootedDrives(HDD), row)
    for other in ("sda", "bcache1"):
        with pytest.raises(RefusedError, match=f"is on /dev/{other} and not on the array of drive"):
            check_root(other, running, row)


def test_a_boot_blames_its_own_drive_for_what_that_one_no_longer_carries(world: World) -> None:
    world.make_campaign([HDD, SSD], roles=["backing", "cache"])
    row, members = world.drive_rows()[0], LiveMembers(SET, HDD, SSD)
    for sets, blame in (
        ({SSD.path: SET}, "drive"),
        ({HDD.path: SET}, "other"),
        ({HDD.path: SET, SSD.path: SET, OTHER.path: SET}, "other"),
    ):
        with pytest.raises(RefusedError) as refused:
            check_sets(sets, row, members=members)
        assert refused.value.blame == blame


@pytest.mark.parametrize("link", ["sda/bcache/cache", "sdb/bcache/set"])
def test_a_root_on_an_array_without_its_cache_is_not_the_arrays(
    running: BootedDrives, world: World, tmp_path: Path, link: str
) -> None:
    (tmp_path / "block" / link).unlink()
    with pytest.raises(RefusedError, match=f"{link} leads to '' and not to '{SET}'"):
        check_root("bcache0", running, world.drive_rows()[0])


PLAN = replace(
    ARRAY_PLAN,
    sequential_cutoff_bytes=64 << 20,
    congested_write_threshold_us=30_000_000,
    writeback_percent=9,
)
# As the kernel shows them; set but for the mode by set-array (see tests/image/test_array_boots.py).
SETTINGS = {
    "block/sda/bcache/cache_mode": "writethrough [writeback] writearound none",
    "block/sda/bcache/sequential_cutoff": "64.0M",
    "block/sda/bcache/writeback_percent": "9",
    f"bcache/{SET}/congested_read_threshold_us": "0",
    f"bcache/{SET}/congested_write_threshold_us": "30000000",
}


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The control files of an array that runs as the plan says."""
    for name, text in SETTINGS.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    monkeypatch.setattr(kernel, "BLOCK", tmp_path / "block")
    monkeypatch.setattr(kernel, "SETS", tmp_path / "bcache")
    return tmp_path


def test_an_array_may_run_as_the_plan_says(settings: Path) -> None:
    check_settings(HDD, set_uuid=SET.upper(), plan=PLAN)


@pytest.mark.parametrize(
    ("name", "default", "said"),
    [
        # What the kernel has of itself: cached_dev_init() and bch_cache_set_alloc() in super.c,
        # bch_cached_dev_writeback_init() in writeback.c.
        (
            "cache_mode",
            "[writethrough] writeback writearound none",
            "'writethrough' and not 'writeback'",
        ),
        ("sequential_cutoff", "4.0M", "'4.0M' and not '64.0M'"),
        ("writeback_percent", "10", "'10' and not '9'"),
        ("congested_read_threshold_us", "2000", "'2000' and not '0'"),
        ("congested_write_threshold_us", "20000", "'20000' and not '30000000'"),
    ],
)
def test_an_array_that_runs_otherwise_is_told(
    settings: Path, name: str, default: str, said: str
) -> None:
    file = next(settings / each for each in SETTINGS if each.endswith(f"/{name}"))
    file.write_text(f"{default}\n")
    with pytest.raises(StepFailedError, match=f"the plan's settings: {name} is {said}") as failed:
        check_settings(HDD, set_uuid=SET, plan=PLAN)
    assert failed.value.blame == "other"
    file.unlink()
    with pytest.raises(StepFailedError, match=f"the plan's settings: {name} is '' and not "):
        check_settings(HDD, set_uuid=SET, plan=PLAN)
