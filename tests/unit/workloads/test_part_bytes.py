# SPDX-License-Identifier: Apache-2.0
"""What surface and verify say beforehand of their parts' bytes, and tell on the way."""

from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from appliance.samples.diskstats import DiskStats
from appliance.workloads import progress_meter
from appliance.workloads.base import make_workload
from appliance.workloads.surface.keys import SurfacePlan
from appliance.workloads.surface.workload import WHOLE
from appliance.workloads.verify.workload import VerifyWorkload
from tests.unit.workloads.surface.surface_bench import make_surface_bench
from tests.unit.workloads.verify.verify_bench import plan

_SIZE = 101 << 20


@pytest.mark.parametrize("sample", [1.0, 0.1])
def test_a_slice_tells_of_as_many_bytes_as_were_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample: float
) -> None:
    monkeypatch.setattr(progress_meter, "_POLL_S", 0.0)
    told: list[int] = []
    counted = count(step=1 << 20)
    bench = make_surface_bench(
        tmp_path,
        _SIZE,
        lambda: DiskStats(0, next(counted), 0, 0),
        progress=lambda _what, _done, total: told.append(total),
    )
    workload = make_workload(
        SurfacePlan(on=(), sample=sample, max_unreadable_bytes=1 << 20, seed=1)
    )
    workload.prepare(bench)
    for part in workload.parts[:3]:
        told.clear()
        workload.run_part(bench, part, finished={})
        assert set(told) == {workload.part_bytes(part)}
    whole = sum(map(workload.part_bytes, workload.parts))
    assert whole == pytest.approx(_SIZE * sample, rel=0.01)
    assert workload.part_bytes(WHOLE) == 0
    workload.close()


def test_each_phase_of_a_verify_is_the_whole_drive(tmp_path: Path) -> None:
    bench = make_surface_bench(tmp_path, _SIZE, lambda: DiskStats(0, 0, 0, 0))
    workload = VerifyWorkload(plan(power_cycle=True))
    workload.prepare(replace(bench, writable=True))
    announced = {part: workload.part_bytes(part) for part in workload.parts}
    assert sum(announced.values()) == 3 * _SIZE
    assert [part for part, size in announced.items() if not size] == ["write", "read", "read-cold"]
