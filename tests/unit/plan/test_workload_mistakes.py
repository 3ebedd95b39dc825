# SPDX-License-Identifier: Apache-2.0
"""The `[[workload]]` tables: types, ranges, unknown keys, and how much there may be to do."""

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it comes without types
import pytest

from appliance.errors import PlanError
from appliance.plan.read import PlanRefusedError, parse_plan
from tests.unit.plan.workload_tables import plan_of, problems_of

SCHEMA_FILE = Path(__file__).parents[3] / "appliance/plan/plan.schema.json"
MIB = 1 << 20


def test_a_wrong_release_is_told_once() -> None:
    """The workload would only repeat it."""
    text = 'version = 1\n[[drive]]\nserial = "A"\nerase = "a"\n[[workload]]\nkind = "sql"\n'
    with pytest.raises(PlanRefusedError, match="must repeat the serial") as caught:
        parse_plan(text)
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize(
    ("table", "accepted"),
    [
        ('kind = "fio"\nsize = 1048576', True),
        ('kind = "fio"\nsize = 1048577', False),
        ('kind = "fio"\nsize = "1020K"', False),
        ('kind = "fio"\nsize = "17T"', False),
        ('kind = "fio"\nsize = 1e9', False),
        ('kind = "fio"\nruntime = 0', False),
        ('kind = "fio"\nruntime = "60"', False),
        ('kind = "fio"\nnumjobs = 64', True),
        ('kind = "fio"\nnumjobs = 65', False),
        ('kind = "fio"\niodepth = 1024', True),
        ('kind = "fio"\niodepth = 1025', False),
        ('kind = "fio"\niodepth = true', False),
        ('kind = "fio"\nioengine = "sync"', False),
        ('kind = "fio"\nsteady_state = 1', False),
        ('kind = "fio"\nfilesystem = "ntfs"', False),
        ('kind = "fio"\nfilesystem = ""', False),
        ('kind = "fio"\nseed = -1', False),
        ('kind = "fio"\nseed = 4294967296', False),
        ('kind = "fio"\noptions = {}', False),
        ('kind = "fio"\non = ""', False),
        ('kind = "lottery"\nfile_size = "4K"', True),
        ('kind = "lottery"\nfile_size = 512', False),
        ('kind = "lottery"\ntickets = {}', False),
        ('kind = "lottery"\ntickets = { "../a" = 1 }', False),
        ('kind = "lottery"\ntickets = { "" = 1 }', False),
        ('kind = "lottery"\ntickets = { "a\\n" = 1 }', False),
        (f'kind = "lottery"\ntickets = {{ {"a" * 32} = 10000 }}', True),
        (f'kind = "lottery"\ntickets = {{ {"a" * 33} = 1 }}', False),
        ('kind = "lottery"\ntickets = { 2a = 1, -2 = 1 }', True),
        ('kind = "lottery"\ntickets = { 2 = 1 }', False),
        ('kind = "lottery"\ntickets = { a = 0 }', False),
        ('kind = "lottery"\ntickets = { a = 1.0 }', False),
        ('kind = "lottery"\ntickets = ["a"]', False),
        ('kind = "lottery"\npasses = []', False),
        ('kind = "lottery"\nrepeat = 101', False),
        ('kind = "matrix"\nfilesystem = "none"', False),
        ('kind = "matrix"\nrecord_sizes = [512, "16M"]', True),
        ('kind = "matrix"\nrecord_sizes = [256]', False),
        ('kind = "matrix"\nrecord_sizes = ["12K"]', False),
        ('kind = "matrix"\nfile_sizes = ["5000"]', False),
        ('kind = "matrix"\nfree_ram = "1M"', False),
        ('kind = "sweep"\ncache_size = "3M"', False),
        ('kind = "sweep"\nset_sizes = []', False),
        ('kind = "sweep"\ncache_size = "1G"\nnorandommap = true', False),
        ('kind = "sweep"\ncache_size = "1G"\ndistribution = ["pareto"]', False),
        ('kind = "sweep"\ncache_size = "1G"\nidle_timeout = 0', True),
        ('kind = "sql"\nfilesystem = "none"', False),
        ('kind = "sql"\ndata_size = "15M"', False),
        ('kind = "sql"\ndata_size = "64G"', True),
        ('kind = "sql"\ndata_size = "65G"', False),
        ('kind = "verify"\nsize = "all"', True),
        ('kind = "verify"\nsize = "1M"', True),
        ('kind = "verify"\nsize = 0', False),
        ('kind = "verify"\nsize = "some"', False),
        ('kind = "verify"\nsize = 1048577', False),
        ('kind = "verify"\npower_cycle = 1', False),
    ],
)
def test_types_and_ranges_are_strict(table: str, *, accepted: bool) -> None:
    if accepted:
        plan_of(table)
        return
    (problem,) = problems_of(table)
    key = table.rpartition("\n")[2].partition(" ")[0]
    line = 6 + table.count("\n")
    assert problem.startswith(f"plan.toml line {line}: workload 1: {key}")
    assert ": must be " in problem
    assert problem.isprintable()


def test_the_draws_of_all_lotteries_and_drives_are_bounded() -> None:
    """A report has them all in memory: millions would take more than there is."""
    (problem,) = problems_of('kind = "lottery"\ntickets = { a = 10000 }\nrepeat = 100')
    assert problem.startswith(
        "plan.toml line 5: workload 1: the plan's lotteries up to here make 4005600 draws and "
        "figures on all drives; at most 250000 are allowed, because the report holds them in "
        "memory at once; lower repeat or tickets"
    )
    largest = 'kind = "lottery"\ntickets = { a = 10000 }\non = "A"'  # 40,056
    plan_of(*[largest] * 6)
    (problem,) = problems_of(*[largest] * 7)
    assert "workload 7: the plan's lotteries up to here make 280392 " in problem
    everywhere = 'kind = "lottery"\ntickets = { a = 10000 }'
    plan_of(everywhere, serials="ABCDEF")
    with pytest.raises(PlanError, match="make 280392 draws"):
        plan_of(everywhere, serials="ABCDEFG")
    plan_of('kind = "lottery"\nrepeat = 100', serials="ABC")
    plan_of(*['kind = "lottery"'] * 4, serials="ABCDEFGHIJKLMNOP")  # by default of 16 drives


def test_the_schema_knows_the_ranges_of_sizes() -> None:
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text()))

    def is_valid(**keys: Any) -> bool:  # noqa: ANN401 - TOML has every type
        drive = {"serial": "A", "erase": "A"}
        data = {"version": 1, "drive": [drive], "workload": [{"kind": "fio", **keys}]}
        return bool(validator.is_valid(data))

    assert is_valid(size=MIB)
    assert is_valid(size="1M")
    assert not is_valid(size=MIB + 1)
    assert not is_valid(size=4096)
    assert not is_valid(size="1 XB")


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (
            'kind = "lottery"\nsize = 1',
            'size: is not a key of a lottery; did you mean "file_size"?',
        ),
        ('kind = "fio"\nfile_size = 1', 'is not a key of a fio step; did you mean "size"?'),
        (
            'kind = "sweep"\ncache_size = "1G"\nsize = 1',
            'is not a key of a sweep; did you mean "cache_size" or "set_sizes"?',
        ),
        ('kind = "sql"\npasses = []', "passes: is not a key of an sql step but of a lottery"),
        ('kind = "matrix"\ntests = []', "is not a key of a matrix but of a fio step and a sweep"),
        ('kind = "matrix"\nsede = 1', 'sede: is not a key of a matrix; did you mean "seed"?'),
        (
            'kind = "sql"\nzzz = 1',
            "a key of an sql step; known are kind, on, seed, filesystem, data_size, free_ram",
        ),
        ('kind = "sql"\ncycles = 1', "is not a key of an sql step; it belongs under [boot]"),
    ],
)
def test_unknown_keys_are_told_by_kind(table: str, problem: str) -> None:
    (line,) = problems_of(table)
    assert problem in line


def test_a_key_of_a_workload_elsewhere_is_sent_there() -> None:
    with pytest.raises(PlanError, match=r"data_size: .*; it belongs under \[\[workload\]\]"):
        parse_plan('version = 1\ndata_size = 1\n[[drive]]\nserial = "A"\nerase = "A"\n[boot]\n')


def test_drives_that_are_no_tables_hide_nothing_else() -> None:
    text = 'version = 1\ndrive = [1]\n[[workload]]\nkind = "sql"\non = ["array", "A"]\n'
    with pytest.raises(PlanError) as caught:
        parse_plan(text)
    drive, on = map(str, caught.value.problems)
    assert drive == "plan.toml line 2: drive 1: must be a [[drive]] table, not 1"
    assert on.startswith('plan.toml line 5: workload 1: on 1: "array" needs an [array] table')


def test_a_broken_key_does_not_hide_that_nothing_runs_on_the_array() -> None:
    text = 'version = 1\n[array]\n[[drive]]\nserial = "A"\n[[workload]]\nkind = "sql"\nseed = -1\n'
    with pytest.raises(PlanError) as caught:
        parse_plan(text)
    told = [each.text for each in caught.value.problems]
    assert any(each.startswith("nothing uses it") for each in told)
    assert any("whole number from 0 to" in each for each in told)


def test_there_are_bounds_for_how_much_there_is_to_do() -> None:
    sizes = ", ".join(f'"{4 * size}K"' for size in range(16, 48))
    records = ", ".join(str(512 << bit) for bit in range(8))
    (problem,) = problems_of(f'kind = "matrix"\nfile_sizes = [{sizes}]\nrecord_sizes = [{records}]')
    assert problem == (
        "plan.toml line 5: workload 1: file_sizes × record_sizes × operations make 2048 cells; "
        "at most 2000 are allowed"
    )
    sizes = ", ".join(f'"{size}M"' for size in range(1, 64))
    (problem,) = problems_of(
        f'kind = "sweep"\nset_sizes = [{sizes}]\ndistribution = ["zipf", "uniform"]'
    )
    assert "make 1008 parts; at most 1000 are allowed" in problem
    assert len(plan_of(*['kind = "sql"'] * 64).workloads) == 64
    assert "must be 1 to 64 [[workload]] tables" in problems_of(*['kind = "sql"'] * 65)[0]


def test_a_broken_key_hides_only_what_depends_on_it() -> None:
    lines = problems_of('kind = "fio"\npage_cache = "cool"\nmemory_max = "64M"\nmax_rounds = 9')
    assert [line.split(": ")[2] for line in lines] == ["page_cache", "max_rounds"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("", "is only for steady_state = true"),
        ("steady_state = true\nnumjobs = 2", "needs tests, and numjobs = 1"),
        ('steady_state = true\noptions = { rw = "randread" }', "needs tests, and numjobs = 1"),
    ],
)
def test_the_same_blocks_need_rounds_of_one_known_job(more: str, said: str) -> None:
    (problem,) = problems_of(f'kind = "fio"\nsame_blocks = true\n{more}')
    assert problem.endswith(said)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('tests = ["seq-write"]', "needs precondition, which makes the drive used"),
        ("precondition = 1", "needs tests that write"),
        ('precondition = 1\ntests = ["rand-write", "rand-read"]', "needs tests that write"),
        (
            'precondition = 1\ntests = ["seq-write"]\nfilesystem = "ext4"',
            'needs filesystem = "none"',
        ),
        (
            'precondition = 1\ntests = ["seq-write"]\nsteady_state = true',
            "is only for steady_state = false",
        ),
    ],
)
def test_fresh_and_used_are_compared_by_writing_on_a_bare_drive(more: str, said: str) -> None:
    (problem,) = problems_of(f'kind = "fio"\nfresh_first = true\n{more}')
    assert said in problem


def test_a_sweep_is_warmed_up_for_tests_that_read() -> None:
    (problem,) = problems_of(
        'kind = "sweep"\ncache_size = "1G"\ntests = ["rand-write"]\nwarm_up_reads = 2'
    )
    assert problem.endswith("is only for tests that read")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            'page_cache = "bypass"\noptions = { ioengine = "mmap", rw = "randread" }',
            'options.ioengine: goes through the page cache with mmap; leave out page_cache = "byp',
        ),
        (
            'page_cache = "bounded"\nmemory_max = "64M"\niodepth = 64',
            'memory_max: must be more than the buffers (block × iodepth × numjobs) take: "64M"',
        ),
        (
            'page_cache = "bounded"\nmemory_max = "32M"\noptions = { bs = "1M", iodepth = 32 }',
            'memory_max: must be more than the buffers (block × iodepth × numjobs) take: "32M"',
        ),
        (
            'page_cache = "bounded"\nmemory_max = "32M"\noptions = { bs = "1M", iodepth = "all" }',
            "options.iodepth: must be a whole number from 1 to 1024",
        ),
    ],
)
def test_what_ram_cannot_do_is_refused(more: str, said: str) -> None:
    (problem,) = problems_of(f'kind = "fio"\n{more}')
    assert said in problem


def test_a_bounded_test_has_room_for_more_than_its_buffers() -> None:
    plan = plan_of('kind = "fio"\npage_cache = "bounded"\nmemory_max = "64M"\niodepth = 63')
    assert plan.workloads


def test_a_self_test_knows_two_kinds() -> None:
    (problem,) = problems_of('kind = "selftest"\ntest = "conveyance"')
    assert 'must be "short" or "long"' in problem


@pytest.mark.parametrize("value", ["0", "29", "101", "45.5", '"hot"', "true"])
def test_a_limit_no_one_can_mean_is_refused(value: str) -> None:
    text = f'version = 1\n[campaign]\nmax_temperature = {value}\n[[drive]]\nserial = "A"\n'
    with pytest.raises(PlanError, match="a whole number of degrees Celsius from 30 to 100"):
        parse_plan(f'{text}[[workload]]\nkind = "selftest"\n')
