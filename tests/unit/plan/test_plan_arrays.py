# SPDX-License-Identifier: Apache-2.0
"""Arrays in a plan: defaults, where workloads run, what the two drives must be able to."""

from dataclasses import replace

import pytest

from appliance.drives.model import Drive
from appliance.errors import PlanError, RefusedError
from appliance.plan.compose import compose_plan
from appliance.plan.machine_rules import find_conflicts
from appliance.plan.model import ArrayPlan, Plan
from appliance.plan.read import describe_plan, parse_plan
from appliance.workloads.fio.keys import FioPlan

MIB, GIB = 1 << 20, 1 << 30
BACKING = Drive(
    path="/dev/sda",
    serial="H",
    wwn="0x5",
    model="hdd",
    firmware="1",
    size_bytes=4 * GIB,
    rotational=True,
    transport="sata",
    logical_block_bytes=512,
    physical_block_bytes=4096,
)
CACHE = replace(
    BACKING, path="/dev/sdb", serial="S", wwn="", size_bytes=2100 * MIB, rotational=False
)
TARGET = replace(BACKING, path="/dev/sdc", serial="T", wwn="")
DRIVES = (
    '[[drive]]\nserial = "S"\nrole = "cache"\nerase = "S"\n'
    '[[drive]]\nserial = "H"\nrole = "backing"\nerase = "H"\n'
)
SQL = 'kind = "sql"'  # 2 GiB, with its file system about 2.3 GiB
SQL_NEEDS = 2048 * MIB + 2048 * MIB // 10 + 64 * MIB


def plan_of(*workloads: str, array: str = "", drives: str = DRIVES, boot: str = "") -> Plan:
    """Each of `workloads` is the inside of a `[[workload]]`."""
    tables = "".join(f"[[workload]]\n{each}\n" for each in workloads)
    return parse_plan(f"version = 1\n{drives}{boot}[array]\n{array}\n{tables}")


def conflicts(
    plan: Plan, *, cache: Drive = CACHE, backing: Drive = BACKING, root_bytes: int = 0
) -> tuple[str, ...]:
    found = find_conflicts(plan, [backing, cache, TARGET], stick=None, root_bytes=root_bytes)
    return tuple(map(str, found))


def test_defaults_are_for_measuring() -> None:
    assert plan_of(f'{SQL}\non = "array"').array == ArrayPlan(
        cache_mode="writeback",
        bucket_bytes=512 << 10,
        block_bytes=0,
        sequential_cutoff_bytes=0,
        congested_read_threshold_us=0,
        congested_write_threshold_us=0,
        writeback_percent=10,
        clean_timeout_s=600,
    )


def test_every_key_arrives() -> None:
    array = (
        'cache_mode = "none"\nbucket = "16M"\nblock = "1K"\nsequential_cutoff = "4M"\n'
        "congested_read_threshold_us = 1\ncongested_write_threshold_us = 2\n"
        "writeback_percent = 0\nclean_timeout = 3"
    )
    assert plan_of(f'{SQL}\non = "array"', array=array).array == ArrayPlan(
        cache_mode="none",
        bucket_bytes=16 * MIB,
        block_bytes=1024,
        sequential_cutoff_bytes=4 * MIB,
        congested_read_threshold_us=1,
        congested_write_threshold_us=2,
        writeback_percent=0,
        clean_timeout_s=3,
    )


def test_workloads_run_where_on_says_and_in_its_order() -> None:
    drives = f'{DRIVES}[[drive]]\nserial = "T"\nerase = "T"\n'.replace(
        'serial = "H"', 'serial = "H"\nwwn = "0x5"'
    )
    plan = plan_of(f'{SQL}\non = ["array", "0x5", "S"]', SQL, f'{SQL}\non = "array"', drives=drives)
    assert [plan.places_of(each) for each in plan.workloads] == [
        ("array", "H", "S"),
        ("T",),
        ("array",),
    ]


def test_cache_and_backing_drive_are_not_booted_alone() -> None:
    assert plan_of(f'{SQL}\non = "array"').booted_drives == ()
    target = '[[drive]]\nserial = "T"\nerase = "T"\n'
    plan = plan_of(boot="[boot]\n", drives=target + DRIVES)
    assert [each.identity for each in plan.booted_drives] == ["T", "H"]
    assert plan.backing_drive is not None
    assert plan.backing_drive.identity == "H"
    assert plan.cache_drive is not None
    assert plan.cache_drive.identity == "S"


def test_modes_to_compare() -> None:
    plan = plan_of('kind = "fio"\non = "array"\nmodes = ["writearound", "writeback"]\nwarm_up = 3')
    (fio,) = plan.workloads
    assert isinstance(fio, FioPlan)
    assert (fio.modes, fio.warm_up_rounds) == (("writearound", "writeback"), 3)


@pytest.mark.parametrize(
    ("workloads", "boot", "sentence"),
    [
        (
            (f'{SQL}\non = ["S", "H", "array"]', 'kind = "fio"\non = "array"'),
            "",
            'sql on "S", "H" and the array, fio on the array',
        ),
        ((), '[boot]\ncharts = "none"\n', "10 cold boots of the array"),
    ],
)
def test_describe_plan(workloads: tuple[str, ...], boot: str, sentence: str) -> None:
    assert describe_plan(plan_of(*workloads, boot=boot)) == (
        '2 drives, a bcache array in writeback mode of the disk "H" and the cache "S", '
        f'{sentence}; erases "S", "H"'
    )


def test_describe_plan_tells_the_array_from_the_other_drives() -> None:
    target = '[[drive]]\nserial = "T"\nerase = "T"\n'
    plan = plan_of(SQL, boot='[boot]\ncharts = "none"\n', drives=target + DRIVES)
    assert (
        '10 cold boots of each of "T" and the array, then sql on each target and control drive;'
        in describe_plan(plan)
    )


def test_a_replay_boots_no_array() -> None:
    boot, on_array = '[boot]\nmode = "replay"\n', f'{SQL}\non = "array"'
    with pytest.raises(PlanError) as caught:
        plan_of(boot=boot)
    mode, array = caught.value.problems
    assert 'boot.mode: only "install" boots an array' in str(mode)
    assert "array: nothing uses it" in str(array)
    with pytest.raises(PlanError, match="and no drive has it"):
        plan_of(on_array, boot=boot)
    target = '[[drive]]\nserial = "T"\n'
    with pytest.raises(PlanError, match="nothing uses it"):
        plan_of(boot=boot, drives=target + DRIVES)
    plan = plan_of(on_array, boot=boot, drives=target + DRIVES)
    assert '10 cold replayed boots of "T", then sql on the array;' in describe_plan(plan)


def test_a_composed_plan_has_the_array() -> None:
    text = compose_plan(
        name="n",
        drives=[BACKING, CACHE, TARGET],
        roles={"H": "backing", "S": "cache", "T": "control"},
        array={"cache_mode": "writethrough", "sequential_cutoff": 0, "block": "4K"},
        workloads=[{"kind": "sql", "on": ["S", "H", "array"]}],
    )
    plan = parse_plan(text)
    assert [each.role for each in plan.drives] == ["backing", "cache", "control"]
    assert plan.array is not None
    assert (plan.array.cache_mode, plan.array.block_bytes) == ("writethrough", 4096)
    assert plan.workloads[0].on == ("S", "H", "array")
    text = compose_plan(
        name="n",
        drives=[BACKING, CACHE],
        roles={"H": "backing", "S": "cache"},
        boot={},
        array={},
        typed={},
    )
    with pytest.raises(
        RefusedError, match='"H" is not released: making the array erases the drive'
    ):
        parse_plan(text)


def test_an_array_that_fits() -> None:
    plan = plan_of(f'{SQL}\non = ["H", "array"]', boot="[boot]\n")
    assert conflicts(plan, root_bytes=600 * MIB) == ()


def test_a_cache_needs_enough_buckets() -> None:
    plan = plan_of(f'{SQL}\non = "array"')
    assert conflicts(plan, cache=replace(CACHE, size_bytes=640 << 19)) == ()
    (line,) = conflicts(plan, cache=replace(CACHE, size_bytes=(640 << 19) - 1))
    assert line == (
        'drive "S" holds 336 MB; a cache in buckets of "512K" needs about 336 MB; '
        "make array.bucket smaller"
    )
    plan = plan_of(f'{SQL}\non = "array"', array='bucket = "64K"')
    assert conflicts(plan, cache=replace(CACHE, size_bytes=640 << 16)) == ()


def test_a_block_is_no_smaller_than_that_of_either_drive() -> None:
    four = replace(BACKING, logical_block_bytes=4096)
    plan = plan_of(f'{SQL}\non = "array"', array="block = 512")
    assert conflicts(plan) == ()
    assert conflicts(plan, backing=four) == (
        'drive "H" has logical blocks of 4096 bytes; array.block must be that at least, not 512',
    )
    (line,) = conflicts(plan, cache=replace(CACHE, logical_block_bytes=4096))
    assert line.startswith('drive "S" has logical blocks of 4096')
    for block in ("", 'block = "4K"'):
        plan = plan_of(f'{SQL}\non = "array"', array=block)
        assert conflicts(plan, backing=four) == ()


def test_the_array_has_the_room_of_the_backing_drive_without_its_superblock() -> None:
    plan = plan_of(f'{SQL}\non = "array"')
    assert conflicts(plan, backing=replace(BACKING, size_bytes=SQL_NEEDS + 8192)) == ()
    assert conflicts(plan, backing=replace(BACKING, size_bytes=SQL_NEEDS + 8191)) == (
        'the array on drive "H" holds 2.4 GB; workload 1 (sql) needs about 2.4 GB',
    )


def test_each_member_must_hold_what_runs_on_it_alone() -> None:
    plan = plan_of(f'{SQL}\non = ["S", "array"]')
    assert conflicts(plan) == ('drive "S" holds 2.2 GB; workload 1 (sql) needs about 2.4 GB',)


def test_the_boot_test_needs_room_on_the_array_alone() -> None:
    plan = plan_of(boot="[boot]\n")
    needed = (600 + 256 + 64) * MIB + 8192
    backing = replace(BACKING, size_bytes=needed)
    assert conflicts(plan, backing=backing, root_bytes=600 * MIB) == ()
    backing = replace(BACKING, size_bytes=needed - 1)
    assert conflicts(plan, backing=backing, root_bytes=600 * MIB) == (
        'the array on drive "H" holds 965 MB; the boot test needs about 965 MB',
    )


def test_a_replay_needs_no_room_on_an_array_that_it_does_not_read() -> None:
    target = '[[drive]]\nserial = "T"\n'
    boot = '[boot]\nmode = "replay"\nboot_set = "1G"\n'
    plan = plan_of('kind = "surface"\non = "array"', boot=boot, drives=target + DRIVES)
    assert conflicts(plan, backing=replace(BACKING, size_bytes=512 * MIB)) == ()


def test_an_array_does_not_test_itself() -> None:
    with pytest.raises(PlanError, match='on: drives test themselves; "array" is none of them'):
        plan_of('kind = "selftest"\non = ["H", "array"]')


def test_files_on_the_array_and_on_its_drives_do_not_outlive_each_other() -> None:
    lottery = 'kind = "lottery"\nfile_size = "200M"'  # 2000 MiB in all
    both = plan_of(f'{SQL}\non = "array"', f'{lottery}\non = "array"')
    (line,) = conflicts(both)
    assert line.startswith('the array on drive "H" holds 4.3 GB; workload 2 (lottery), beside ')
    assert conflicts(plan_of(f'{SQL}\non = ["array", "H"]', f'{lottery}\non = "array"')) == ()
    assert conflicts(plan_of(f'{SQL}\non = ["H", "array"]', f'{lottery}\non = "H"')) == ()
