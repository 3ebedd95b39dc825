# SPDX-License-Identifier: Apache-2.0
"""What workloads take of a drive and of RAM, and what is said where there is too little."""

from dataclasses import replace

import pytest

from appliance.caches.ballast import FLOOR_BYTES
from appliance.drives.model import Drive
from appliance.plan.machine_rules import find_conflicts
from appliance.plan.model import Plan
from appliance.plan.read import parse_plan
from appliance.plan.workloads import SMALLEST_FREE_RAM, WorkloadPlan
from appliance.units import parse_size
from appliance.workloads.surface.keys import SLICES
from appliance.workloads.surface.slices import make_slices

MIB, GIB = 1 << 20, 1 << 30
HDD = Drive(
    path="/dev/sda",
    serial="A",
    wwn="",
    model="hdd",
    firmware="1",
    size_bytes=4_000_000_000,
    rotational=True,
    transport="sata",
    logical_block_bytes=512,
    physical_block_bytes=4096,
)


def plan_of(*tables: str) -> Plan:
    """Of one drive; each of `tables` is the inside of a `[[workload]]`."""
    workloads = "".join(f"[[workload]]\n{each}\n" for each in tables)
    return parse_plan(f'version = 1\n[[drive]]\nserial = "A"\nerase = "A"\n{workloads}')


def conflicts(
    plan: Plan, drives: list[Drive], *, stick: None, ram_bytes: int = 0
) -> tuple[str, ...]:
    return tuple(map(str, find_conflicts(plan, drives, stick=stick, ram_bytes=ram_bytes)))


def workload(table: str) -> WorkloadPlan:
    (only,) = plan_of(table).workloads
    return only


@pytest.mark.parametrize(
    ("table", "size_bytes"),
    [
        ('kind = "fio"\nsize = "64M"\nnumjobs = 4', 64 * MIB),
        ('kind = "fio"\nsize = "100M"\nfilesystem = "ext4"', 110 * MIB + 64 * MIB),
        ('kind = "fio"\noptions = { size = "1m", offset = "2M" }', 3 * MIB),
        (
            'kind = "fio"\noptions = { size = 4096, numjobs = 3, offset_increment = "1G" }',
            2 * GIB + 4096,
        ),
        ('kind = "fio"\nprecondition = 1\noptions = { rw = "write", size = "1M" }', GIB),
        ('kind = "lottery"\nfilesystem = "none"', 1000 * MIB),
        ('kind = "lottery"', 1100 * MIB + 64 * MIB),
        ('kind = "lottery"\nfile_size = "4K"\nfilesystem = "xfs"', 300 * MIB),
        ('kind = "matrix"\nfile_sizes = ["10M", "100M", "20M"]', 110 * MIB + 64 * MIB),
        ('kind = "sweep"\ncache_size = "1G"', 2 * GIB),
        ('kind = "sql"\ndata_size = "250M"', 1100 * MIB + 64 * MIB),
        ('kind = "surface"', 400 << 10),
    ],
)
def test_needed_bytes(table: str, size_bytes: int) -> None:
    assert workload(table).needed_bytes() == size_bytes


def test_what_does_not_fit_is_told_for_each_workload() -> None:
    plan = plan_of(
        'kind = "fio"\nsize = "4G"', 'kind = "lottery"', 'kind = "sql"\ndata_size = "1G"'
    )
    holds = 'drive "A" holds 4.0 GB; workload'
    assert conflicts(plan, [HDD], stick=None) == (
        f"{holds} 1 (fio) needs about 4.3 GB",
        f"{holds} 3 (sql), beside the files of workload 2 (lottery), needs about 5.9 GB",
    )
    assert conflicts(plan, [replace(HDD, size_bytes=6 * GIB)], stick=None) == ()


LOTTERY = 'kind = "lottery"'  # 1000 MiB of files
FIO = 'kind = "fio"\nfilesystem = "ext4"'  # 1 GiB
SQL = 'kind = "sql"'  # 2 GiB


@pytest.mark.parametrize(
    ("tables", "needs_bytes"),
    [
        ((LOTTERY, FIO), 2024 * MIB),
        ((LOTTERY, FIO, SQL), 4072 * MIB),
        ((FIO, SQL, LOTTERY), 4072 * MIB),
        # The same files again, or others in their place.
        ((LOTTERY, LOTTERY), 1000 * MIB),
        ((LOTTERY, 'kind = "lottery"\nfile_size = "10M"', FIO), 1124 * MIB),
        ((SQL, 'kind = "sql"\ndata_size = "256M"', LOTTERY), 2048 * MIB),
        # A large file of fio stays large.
        ((FIO, 'kind = "fio"\nfilesystem = "ext4"\nsize = "1M"', LOTTERY), 2024 * MIB),
        (('kind = "fio"\nfilesystem = "ext4"\nsize = "1M"', FIO, LOTTERY), 2024 * MIB),
        # These delete their files, which lie beside the others' as long as they are there.
        (('kind = "matrix"\nfile_sizes = ["2G"]', LOTTERY), 2048 * MIB),
        ((LOTTERY, 'kind = "matrix"\nfile_sizes = ["2G"]'), 3048 * MIB),
        (
            (LOTTERY, 'kind = "sweep"\nfilesystem = "ext4"\nset_sizes = ["1G"]', SQL),
            3048 * MIB,
        ),
        # Another file system is a new one, and so is one after writing to the bare drive.
        ((FIO, 'kind = "lottery"\nfilesystem = "xfs"', FIO), 1024 * MIB),
        ((LOTTERY, 'kind = "fio"\nsize = "1M"', FIO), 1024 * MIB),
        ((LOTTERY, 'kind = "fio"\ntests = ["seq-read"]', FIO), 2024 * MIB),
    ],
)
def test_files_that_stay_must_fit_together(tables: tuple[str, ...], needs_bytes: int) -> None:
    needs_bytes += needs_bytes // 10 + 64 * MIB
    plan = plan_of(*tables)

    assert conflicts(plan, [replace(HDD, size_bytes=needs_bytes)], stick=None) == ()
    lines = conflicts(plan, [replace(HDD, size_bytes=needs_bytes - 1)], stick=None)
    assert lines
    assert all(" needs about " in line for line in lines)


def test_all_that_take_the_room_are_named() -> None:
    (line,) = conflicts(plan_of(LOTTERY, FIO, SQL), [HDD], stick=None)
    assert line == (
        'drive "A" holds 4.0 GB; workload 3 (sql), beside the files of workload 1 (lottery) and '
        "workload 2 (fio), needs about 4.8 GB"
    )


def test_each_drive_has_files_of_its_own() -> None:
    drives = '[[drive]]\nserial = "A"\nerase = "A"\n[[drive]]\nserial = "B"\nerase = "B"\n'
    plan = parse_plan(
        f'version = 1\n{drives}[[workload]]\n{SQL}\non = "A"\n[[workload]]\n{SQL}\non = "B"\n'
        f'[[workload]]\n{FIO}\non = "B"\n[[workload]]\n{LOTTERY}\non = "A"\n'
    )
    other = replace(HDD, path="/dev/sdb", serial="B")
    assert conflicts(plan, [HDD, other], stick=None) == ()


def test_only_the_drive_that_is_named_must_be_large_enough() -> None:
    plan = parse_plan(
        'version = 1\n[[drive]]\nserial = "A"\n[[drive]]\nserial = "B"\n'
        '[[workload]]\nkind = "lottery"\nfilesystem = "none"\non = "B"\n'
    )
    small = replace(HDD, size_bytes=MIB)
    other = replace(HDD, path="/dev/sdb", serial="B")
    assert conflicts(plan, [small, other], stick=None) == ()
    small = replace(other, size_bytes=MIB)
    assert conflicts(plan, [HDD, small], stick=None) == (
        'drive "B" holds 1.0 MB; workload 1 (lottery) needs about 1.0 GB',
    )


def test_a_drive_too_small_to_scan_is_told_with_all_else() -> None:
    """Not only by the step, hours later; the smallest one that is accepted can be cut."""
    plan = plan_of('kind = "surface"', 'kind = "verify"\nsize = "1M"', 'kind = "surface"')
    small = replace(HDD, size_bytes=(400 << 10) - 512)
    assert conflicts(plan, [small], stick=None) == (
        'drive "A" holds 409 kB; workload 1 (surface) needs about 410 kB',
        'drive "A" holds 409 kB; workload 2 (verify) needs about 1.0 MB',
        'drive "A" holds 409 kB; workload 3 (surface) needs about 410 kB',
    )
    least_bytes = workload('kind = "surface"').needed_bytes()
    assert len(make_slices(least_bytes)) == SLICES
    with pytest.raises(ValueError, match="less than"):
        make_slices(least_bytes - 1)


@pytest.mark.parametrize(
    ("table", "ram_bytes"),
    [
        ('kind = "fio"', 0),
        ('kind = "fio"\npage_cache = "bounded"\nmemory_max = "256M"', 256 * MIB),
        ('kind = "matrix"\nfree_ram = "1G"', GIB),
        ('kind = "sql"', 0),
        ('kind = "sql"\nfree_ram = "1G"', GIB),
        ('kind = "lottery"', 0),
    ],
)
def test_wanted_ram(table: str, ram_bytes: int) -> None:
    assert workload(table).wanted_ram_bytes == ram_bytes


def test_more_free_ram_than_there_is() -> None:
    plan = plan_of('kind = "fio"\ntests = ["seq-read"]', 'kind = "matrix"\nfree_ram = "1G"')
    assert conflicts(plan, [HDD], stick=None, ram_bytes=2 * GIB) == ()
    assert conflicts(plan, [HDD], stick=None) == ()
    assert conflicts(plan, [HDD], stick=None, ram_bytes=GIB - MIB) == (
        "workload 2 (matrix) is to run in 1.0 GiB of RAM; this machine has no more than 1023 MiB",
    )


_DEEP_SWEEP = 'kind = "sweep"\niodepth = 1024\ntests = ["rand-read"]'


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ('kind = "sweep"\ncache_size = "4M"\niodepth = 1024', "1.0 GiB"),
        (f'{_DEEP_SWEEP}\ncache_size = "4M"', ""),
        # A warm-up reads as large blocks as can be, of a small set no large ones.
        (
            f'{_DEEP_SWEEP}\nset_sizes = ["4M", "2G"]\nwarm_up_reads = 1',
            "1.0 GiB",
        ),
        (
            f'{_DEEP_SWEEP}\nset_sizes = ["4M", "1G"]\nwarm_up_reads = 1',
            "",
        ),
        ('kind = "fio"\nnumjobs = 64\niodepth = 9', "576 MiB"),
        ('kind = "fio"\nnumjobs = 64\niodepth = 8', ""),
        ('kind = "fio"\ntests = ["rand-read", "rand-write"]\nnumjobs = 64\niodepth = 1024', ""),
        ('kind = "fio"\niodepth = 9\noptions = { bs = "64M" }', "576 MiB"),
        ('kind = "fio"\noptions = { bs = "64M", iodepth = 8 }', ""),
    ],
)
def test_buffers_that_the_machine_has_no_room_for(table: str, told: str) -> None:
    plan = plan_of('kind = "surface"', table)
    said = (
        f"workload 2 ({plan.workloads[1].kind}) takes {told} of RAM for its buffers (block × "
        "iodepth × numjobs), more than a quarter of this machine's 2.0 GiB; make one of them "
        "smaller"
    )
    expected = (said,) if told else ()
    assert conflicts(plan, [HDD], stick=None, ram_bytes=2 * GIB) == expected
    assert conflicts(plan, [HDD], stick=None) == ()


def test_no_plan_asks_for_a_ballast_that_is_never_made() -> None:
    assert parse_size(SMALLEST_FREE_RAM) == FLOOR_BYTES


def test_little_ram_is_no_reason_against_a_large_database() -> None:
    """Without free_ram the ballast is left out where the data exceed the RAM anyway."""
    plan = plan_of('kind = "sql"\ndata_size = "800M"')
    assert conflicts(plan, [HDD], stick=None, ram_bytes=256 * MIB) == ()
