# SPDX-License-Identifier: Apache-2.0
"""The `[[workload]]` tables: defaults, what becomes of them, and what writes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.campaign.start import plan_steps
from appliance.drives.model import Drive
from appliance.plan.compose import compose_plan
from appliance.plan.read import parse_plan, read_plan
from appliance.plan.workloads import FioTest, WorkloadPlan
from appliance.workloads.fio.keys import FioPlan
from appliance.workloads.lottery.keys import LotteryPlan
from appliance.workloads.matrix.keys import MatrixPlan
from appliance.workloads.selftest.keys import SelftestPlan
from appliance.workloads.sql.keys import SqlPlan
from appliance.workloads.sweep.keys import SweepPlan
from appliance.workloads.verify.keys import VerifyPlan
from tests.unit.plan.workload_tables import plan_of, workload

PLANS = Path(__file__).parents[2] / "fixtures/plans"
SCHEMA_FILE = Path(__file__).parents[3] / "appliance/plan/plan.schema.json"
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
            passes=("direct", "cold", "warm", "mmap"),
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
def test_what_writes(table: str, *, writes: bool) -> None:
    plan = workload(table)
    assert plan.writes == writes
    if not writes:
        assert plan_of(table, erase=False).workloads == (plan,)


def test_both_names_of_fios_mode_count() -> None:
    """The plan refuses `readwrite`; should it come through, it must not pass for reading."""
    plan = workload('kind = "fio"\noptions.bs = "4k"')
    assert isinstance(plan, FioPlan)
    assert replace(plan, options=(("rw", "read"), ("readwrite", "write"))).writes


def test_a_self_test_is_short_and_needs_no_release() -> None:
    (found,) = plan_of('kind = "selftest"', erase=False).workloads
    assert found == SelftestPlan(on=(), test="short")
    assert not found.writes
    assert workload('kind = "selftest"\ntest = "long"') == SelftestPlan(on=(), test="long")


def test_a_self_test_may_run_again_after_all_others() -> None:
    tables = '[[workload]]\nkind = "surface"\n[[workload]]\nkind = "verify"'
    plan = plan_of(f'kind = "selftest"\ntest = "long"\nagain = true\n{tables}')
    assert [each.kind for each in plan.workloads] == ["selftest", "surface", "verify", "selftest"]
    assert plan.workloads[-1] == SelftestPlan(on=(), test="long")
    assert [index for index, _ in plan_steps(plan)] == [0, 1, 2, 3]
    once = plan_of(f'kind = "selftest"\n{tables}')
    assert [each.kind for each in once.workloads] == ["selftest", "surface", "verify"]


@pytest.mark.parametrize(("value", "celsius"), [("", None), ("max_temperature = 60", 60.0)])
def test_the_plan_may_limit_how_hot_drives_become(value: str, celsius: float | None) -> None:
    text = f'version = 1\n[campaign]\n{value}\n[[drive]]\nserial = "A"\n[[workload]]\n'
    assert parse_plan(f'{text}kind = "selftest"\n').campaign.max_celsius == celsius
