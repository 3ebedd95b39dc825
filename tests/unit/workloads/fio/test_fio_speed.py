# SPDX-License-Identifier: Apache-2.0
"""The figures that everybody knows: read-only, past the page cache, as deep as their names say."""

from dataclasses import replace

import pytest

from appliance.errors import PlanError
from appliance.plan.read import parse_plan
from appliance.workloads.fio.classic import FioWorkload
from appliance.workloads.fio.keys import SPEED_TESTS, SpeedTest
from tests.unit.workloads.fio.fio_bench import FIO_PLAN, FioBench, option

_HEAD = 'version = 1\n[[drive]]\nserial = "A"\n[[workload]]\nkind = "fio"\n'


@pytest.mark.parametrize(
    ("test", "rw", "bs", "iodepth"),
    [
        ("seq1m-q8t1", "read", 1 << 20, 8),
        ("seq1m-q1t1", "read", 1 << 20, 1),
        ("rnd4k-q32t1", "randread", 4096, 32),
        ("rnd4k-q1t1", "randread", 4096, 1),
    ],
)
def test_each_reads_as_its_name_says(
    lab: FioBench, test: SpeedTest, rw: str, bs: int, iodepth: int
) -> None:
    plan = replace(
        FIO_PLAN, filesystem="", tests=(test,), page_cache="bypass", iodepth=1, ioengine="psync"
    )  # fmt: skip
    assert not plan.writes
    bench = lab.bare(writable=False)
    workload = FioWorkload(plan)
    workload.prepare(bench)
    workload.run_part(bench, test, finished={})
    job = lab.job(test)
    told = [option(job, name) for name in ("rw", "bs", "iodepth", "ioengine", "direct")]
    assert told == [rw, str(bs), str(iodepth), "libaio", "1"]
    assert all("--readonly" in command for command in lab.commands)


def test_no_release_is_needed_for_them() -> None:
    tests = ", ".join(f'"{each}"' for each in sorted(SPEED_TESTS))
    parse_plan(f'{_HEAD}tests = [{tests}]\npage_cache = "bypass"\n')


@pytest.mark.parametrize(
    "more", ["", 'page_cache = "warm"\n', 'page_cache = "bypass"\nnumjobs = 2\n']
)
def test_what_they_are_not_is_refused(more: str) -> None:
    with pytest.raises(PlanError, match='rnd4k-q1t1 needs page_cache = "bypass"'):
        parse_plan(f'{_HEAD}tests = ["rnd4k-q1t1"]\n{more}')
