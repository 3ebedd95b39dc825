"""The `[[workload]]` tables: defaults, ranges, clashes, and what writes."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from appliance.drives.model import Drive
from appliance.errors import PlanError
from appliance.plan import Plan, compose_plan, parse_plan, read_plan
from appliance.plan_workloads import (
    FioPlan,
    FioTest,
    LotteryPlan,
    MatrixPlan,
    SelftestPlan,
    SqlPlan,
    SweepPlan,
    VerifyPlan,
    WorkloadPlan,
)

PLANS = Path(__file__).parents[1] / "fixtures/plans"
SCHEMA_FILE = Path(__file__).parents[2] / "appliance/plan.schema.json"
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
TESTS: tuple[FioTest, ...] = ("seq-read", "seq-write", "rand-read", "rand-write")
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


def plan_of(*tables: str, erase: bool = True) -> Plan:
    """Of one drive; each of `tables` is the inside of a `[[workload]]`."""
    release = 'erase = "A"' if erase else ""
    workloads = "".join(f"[[workload]]\n{each}\n" for each in tables)
    return parse_plan(f'version = 1\n[[drive]]\nserial = "A"\n{release}\n{workloads}')


def workload(table: str) -> WorkloadPlan:
    (only,) = plan_of(table).workloads
    return only


def problems_of(*tables: str) -> tuple[str, ...]:
    with pytest.raises(PlanError) as caught:
        plan_of(*tables)
    return caught.value.problems


DEFAULTS: list[tuple[str, WorkloadPlan]] = [
    (
        'kind = "fio"',
        FioPlan(
            on=(),
            filesystem="",
            tests=TESTS,
            size_bytes=GIB,
            runtime_s=60,
            numjobs=1,
            iodepth=1,
            ioengine="libaio",
            page_cache="cold",
            memory_max_bytes=0,
            precondition=0,
            steady_state=False,
            max_rounds=25,
            seed=1,
            options=(),
        ),
    ),
    (
        'kind = "lottery"',
        LotteryPlan(
            on=(),
            filesystem="ext4",
            file_size_bytes=100 * MIB,
            tickets=tuple(zip("abcdefghij", (4, 6, 8, 10, 12, 24, 18, 10, 6, 2), strict=True)),
            passes=("cold", "warm", "direct"),
            repeat=1,
            seed=1,
        ),
    ),
    (
        'kind = "matrix"',
        MatrixPlan(
            on=(),
            filesystem="ext4",
            file_sizes_bytes=(),
            record_sizes_bytes=(4 * KIB, 64 * KIB, MIB),
            operations=(
                "write",
                "rewrite",
                "read",
                "reread",
                "rand-read",
                "rand-write",
                "backward",
                "stride",
            ),
            free_ram_bytes=0,
            seed=1,
        ),
    ),
    (
        'kind = "sweep"\ncache_size = "8G"',
        SweepPlan(
            on=(),
            filesystem="",
            cache_size_bytes=8 * GIB,
            set_sizes_bytes=(2 * GIB, 4 * GIB, 8 * GIB, 16 * GIB),
            tests=TESTS,
            norandommap=(False, True),
            distribution=("uniform",),
            runtime_s=30,
            iodepth=16,
            ioengine="libaio",
            idle_timeout_s=120,
            seed=1,
        ),
    ),
    (
        'kind = "sql"',
        SqlPlan(on=(), filesystem="ext4", data_size_bytes=512 * MIB, free_ram_bytes=0, seed=1),
    ),
    ('kind = "verify"', VerifyPlan(on=(), size_bytes=0, power_cycle=False, seed=1)),
]


@pytest.mark.parametrize(("table", "expected"), DEFAULTS)
def test_defaults(table: str, expected: WorkloadPlan) -> None:
    assert workload(table) == expected


def test_the_article_draws_a_hundred_tickets() -> None:
    lottery = workload('kind = "lottery"')
    assert isinstance(lottery, LotteryPlan)
    assert sum(count for _, count in lottery.tickets) == 100


@pytest.mark.parametrize(("table", "expected"), DEFAULTS)
def test_the_schema_gives_the_defaults_the_parser_uses(table: str, expected: WorkloadPlan) -> None:
    schema = json.loads(SCHEMA_FILE.read_text())["$defs"][f"{expected.kind.capitalize()}Table"]
    given = {
        key: value["default"] for key, value in schema["properties"].items() if "default" in value
    }
    if isinstance(expected, SweepPlan):
        given["cache_size"] = "8G"
    text = compose_plan(name="n", drives=[HDD], workloads=[{"kind": expected.kind, **given}])
    assert parse_plan(text).workloads == (expected,)


def test_workloads_need_no_boot_and_keep_their_order() -> None:
    plan = plan_of('kind = "sql"', 'kind = "fio"', 'kind = "sql"')
    assert plan.boot is None
    assert [each.kind for each in plan.workloads] == ["sql", "fio", "sql"]


def test_on_takes_serial_or_wwn_and_becomes_the_identity() -> None:
    plan = parse_plan(read_plan(PLANS / "valid/workloads.toml"))
    assert plan.workloads[0].on == ("LAB-HDD-1",)
    assert plan.places_of(plan.workloads[0]) == ("LAB-HDD-1",)
    assert plan.places_of(plan.workloads[2]) == ("LAB-SSD-1",)
    assert plan.places_of(plan.workloads[1]) == ("LAB-HDD-1", "LAB-SSD-1")


def test_fio_options_become_text_in_their_order() -> None:
    plan = workload(
        'kind = "fio"\noptions = { rw = "read", norandommap = true, hipri = false, iodepth = 4 }'
    )
    assert isinstance(plan, FioPlan)
    assert plan.options == (
        ("rw", "read"),
        ("norandommap", "1"),
        ("hipri", "0"),
        ("iodepth", "4"),
    )
    assert plan.tests == ()


def test_set_sizes_come_before_those_of_the_cache() -> None:
    plan = workload('kind = "sweep"\ncache_size = "8G"\nset_sizes = ["3M"]')
    assert isinstance(plan, SweepPlan)
    assert plan.set_sizes_bytes == (3 * MIB,)
    assert plan.cache_size_bytes == 8 * GIB


@pytest.mark.parametrize(
    ("table", "writes"),
    [
        ('kind = "fio"', True),
        ('kind = "fio"\ntests = ["seq-read", "rand-read"]', False),
        ('kind = "fio"\ntests = ["seq-read"]\nfilesystem = "none"', False),
        ('kind = "fio"\ntests = ["seq-read"]\nfilesystem = "ext4"', True),
        ('kind = "fio"\ntests = ["seq-read"]\nprecondition = 1', True),
        ('kind = "fio"\noptions.bs = "4k"', False),
        ('kind = "fio"\noptions.rw = "randread:4"', False),
        ('kind = "fio"\noptions.rw = "randrw"', True),
        ('kind = "fio"\noptions.rw = "write"', True),
        ('kind = "lottery"', True),
        ('kind = "lottery"\nfilesystem = "none"', False),
        ('kind = "matrix"', True),
        ('kind = "sweep"\ncache_size = "1G"', True),
        ('kind = "sweep"\ncache_size = "1G"\ntests = ["rand-read"]', False),
        ('kind = "sweep"\ncache_size = "1G"\ntests = ["rand-read"]\nfilesystem = "xfs"', True),
        ('kind = "sql"', True),
    ],
)
def test_what_writes(table: str, writes: bool) -> None:  # noqa: FBT001
    plan = workload(table)
    assert plan.writes == writes
    if not writes:
        assert plan_of(table, erase=False).workloads == (plan,)


def test_both_names_of_fios_mode_count() -> None:
    """The plan refuses `readwrite`; should it come through, it must not pass for reading."""
    plan = workload('kind = "fio"\noptions.bs = "4k"')
    assert isinstance(plan, FioPlan)
    assert replace(plan, options=(("rw", "read"), ("readwrite", "write"))).writes


def test_a_wrong_release_is_told_once() -> None:
    """The workload would only repeat it."""
    text = 'version = 1\n[[drive]]\nserial = "A"\nerase = "a"\n[[workload]]\nkind = "sql"\n'
    with pytest.raises(Exception, match="must repeat the serial") as caught:
        parse_plan(text)
    assert len(caught.value.problems) == 1  # type: ignore[attr-defined]


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
def test_types_and_ranges_are_strict(table: str, accepted: bool) -> None:  # noqa: FBT001
    if accepted:
        plan_of(table)
        return
    (problem,) = problems_of(table)
    key = table.rpartition("\n")[2].partition(" ")[0]
    line = 6 + table.count("\n")
    assert problem.startswith(f"plan.toml line {line}: workload 1: {key}")
    assert ": must be " in problem
    assert problem.isprintable()


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


def test_a_self_test_is_short_and_needs_no_release() -> None:
    (found,) = plan_of('kind = "selftest"', erase=False).workloads
    assert found == SelftestPlan(on=(), test="short")
    assert not found.writes
    assert workload('kind = "selftest"\ntest = "long"') == SelftestPlan(on=(), test="long")


def test_a_self_test_knows_two_kinds() -> None:
    (problem,) = problems_of('kind = "selftest"\ntest = "conveyance"')
    assert 'must be "short" or "long"' in problem


@pytest.mark.parametrize(("value", "celsius"), [("", None), ("max_temperature = 60", 60.0)])
def test_the_plan_may_limit_how_hot_drives_become(value: str, celsius: float | None) -> None:
    text = f'version = 1\n[campaign]\n{value}\n[[drive]]\nserial = "A"\n[[workload]]\n'
    assert parse_plan(f'{text}kind = "selftest"\n').campaign.max_celsius == celsius


@pytest.mark.parametrize("value", ["0", "29", "101", "45.5", '"hot"', "true"])
def test_a_limit_nobody_can_mean_is_refused(value: str) -> None:
    text = f'version = 1\n[campaign]\nmax_temperature = {value}\n[[drive]]\nserial = "A"\n'
    with pytest.raises(PlanError, match="a whole number of degrees Celsius from 30 to 100"):
        parse_plan(f'{text}[[workload]]\nkind = "selftest"\n')
