# SPDX-License-Identifier: Apache-2.0
"""A drive without a file system: one not released is only read, others are written first."""

import errno
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.errors import RefusedError, StickError
from appliance.workloads import raw_files
from appliance.workloads.fio.classic import FioWorkload
from tests.unit.workloads.fio.fio_bench import FIO_PLAN as PLAN
from tests.unit.workloads.fio.fio_bench import FioBench, option


def test_a_drive_that_was_not_released_is_read_with_fio_in_read_only_mode(lab: FioBench) -> None:
    bench = lab.bare(writable=False)
    workload = FioWorkload(replace(PLAN, filesystem="", tests=("rand-read",)))
    workload.prepare(bench)
    workload.run_part(bench, "rand-read", finished={})
    assert ["fio" in command for command in lab.commands] == [True, True]
    assert all("--readonly" in command for command in lab.commands)
    assert option(lab.job("rand-read"), "filename") == bench.device


def test_a_drive_that_was_not_released_is_read_as_it_came(lab: FioBench) -> None:
    bench = lab.bare(writable=False)
    plan = replace(PLAN, filesystem="", tests=("rand-read",), steady_state=True)
    for each in (plan, replace(plan, steady_state=False)):
        workload = FioWorkload(each)
        workload.prepare(bench)
        found = workload.run_part(bench, "rand-read", finished={})
        assert all(
            row.cache.drive_state.startswith("first step on it; not written for this step")
            for row in found.results
        )


def test_what_is_read_of_a_bare_drive_was_written_once_before(lab: FioBench) -> None:
    bench = lab.bare(writable=True)
    plan = replace(PLAN, filesystem="", tests=("seq-write", "rand-read"))
    FioWorkload(plan).prepare(bench)
    workload = FioWorkload(plan)
    workload.prepare(bench)  # a resume finds it written
    assert lab.happened == ["fio layout-32M"]
    assert option(lab.job("layout-32M"), "filename") == bench.device
    assert option(lab.job("layout-32M"), "allow_file_create") == "0"
    found = workload.run_part(bench, "rand-read", finished={})
    assert found.results[0].cache.drive_state == "first step on it"


def test_what_a_bare_drive_was_given_must_be_remembered(
    lab: FioBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, text: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(raw_files, "write_durably", refuse)
    workload = FioWorkload(replace(PLAN, filesystem=""))
    with pytest.raises(StickError, match=r"laid-out\.json cannot be written: No space left"):
        workload.prepare(lab.bare(writable=True))


def test_a_bare_drive_is_not_written_without_need(lab: FioBench) -> None:
    bench = lab.bare(writable=True)
    plan = replace(PLAN, filesystem="")
    FioWorkload(replace(plan, tests=("seq-write", "rand-write"))).prepare(bench)
    FioWorkload(replace(plan, precondition=1)).prepare(bench)
    FioWorkload(replace(plan, options=(("rw", "randwrite"),))).prepare(bench)
    assert lab.happened == []
    own = (("rw", "randrw"), ("offset", "8M"))
    FioWorkload(replace(plan, precondition=1, options=own)).prepare(bench)
    assert lab.happened == ["fio layout-40M"]


@pytest.mark.parametrize("rw", ["write", "randrw", "readwrite"])
def test_a_drive_that_was_not_released_is_never_written_to(lab: FioBench, rw: str) -> None:
    workload = FioWorkload(replace(PLAN, filesystem="", options=(("rw", rw),)))
    with pytest.raises(RefusedError, match="was not released for writing"):
        workload.run_part(lab.bare(writable=False), "custom", finished={})
    assert lab.commands == []
