# SPDX-License-Identifier: Apache-2.0
"""The workload `flush`: blocks written past the page cache, each flushed before the next.

What is timed is how long a write takes until the drive calls it safe: a drive whose own cache does
not survive a power cut has to write to its medium each time. The file is laid out before, so that
no flush waits for the file system to find room. Must never count a write before its flush is back.
"""

import errno
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import override

from appliance.caches.direct import make_buffer
from appliance.caches.judge import judge_writes
from appliance.phrases import N_, Phrase
from appliance.samples.model import Result
from appliance.statistics.stats import find_quantile
from appliance.workloads.base import Bench, PartResult, Workload
from appliance.workloads.fio.file import check_fits, find_target, remove_scratch
from appliance.workloads.flush.keys import FlushPlan
from appliance.workloads.idle_wait import rest_array
from appliance.workloads.progress_meter import ProgressMeter

_FILE = "flush.dat"
_PART = "commit"
_QUANTILES = {"lat_p50_ns": 0.5, "lat_p95_ns": 0.95, "lat_p99_ns": 0.99, "lat_p999_ns": 0.999}
_NS = 1_000_000_000


class FlushWorkload(Workload):
    """One step, one part."""

    def __init__(self, plan: FlushPlan) -> None:
        self._plan = plan

    @property
    @override
    def parts(self) -> tuple[str, ...]:
        return (_PART,)

    @override
    def prepare(self, bench: Bench) -> None:
        check_fits(bench, find_target(bench, _FILE), self._plan.data_bytes)

    @override
    def run_part(self, bench: Bench, part: str, *, finished: Mapping[str, int]) -> PartResult:
        """Lay out the file, then write all of it once. Raises StepFailedError."""
        target = find_target(bench, _FILE)
        self._write(bench, target, flushes_each=False)
        bench, notes = rest_array(bench)
        before = bench.read_counters()
        latencies_ns = self._write(bench, target, flushes_each=True)
        after = bench.read_counters()
        remove_scratch(target)
        cache = judge_writes(
            requested="bypass",
            proven_before=True,
            reason="each block was written with O_DIRECT and flushed with fdatasync",
            app_write_bytes=self._plan.data_bytes,
            device_write_bytes=after.write_bytes - before.write_bytes,
            lacks_writes=after.lacks_writes,
            drive_state=bench.drive_state,
        )
        seconds = sum(latencies_ns) / _NS
        quantiles = {name: find_quantile(latencies_ns, share) for name, share in _QUANTILES.items()}
        figures = {
            "iops": len(latencies_ns) / seconds,
            **quantiles,
            "seconds": seconds,
            "app_write_bytes": self._plan.data_bytes,
            "device_write_bytes": after.written_since(before),
            "device_read_bytes": after.read_bytes - before.read_bytes,
        }
        return PartResult(
            tuple(
                Result(part, name, value, cache)
                for name, value in figures.items()
                if value is not None
            ),
            notes=notes,
        )

    def _write(self, bench: Bench, target: Path, *, flushes_each: bool) -> list[int]:
        """Write all blocks in their order; returns what each took, its flush included."""
        label = "flush: block by block" if flushes_each else "flush: laying out the file"
        watch = ProgressMeter(bench.progress, label)
        latencies_ns = []
        with (
            watch.on_drive(
                Phrase(N_("writing to {path} on {device}"), path=target, device=bench.device)
            ),
            make_buffer(self._plan.block_bytes) as block,
        ):
            descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_DIRECT, 0o600)
            try:
                for number in range(self._plan.count):
                    watch.tell(number, self._plan.count)
                    # A drive that compresses, or finds what it has already, has no less to do.
                    block[:] = os.urandom(len(block))
                    begun_ns = time.perf_counter_ns()
                    if os.pwrite(descriptor, block, number * len(block)) != len(block):
                        raise OSError(errno.ENOSPC, "a block was written in part")
                    if flushes_each:
                        os.fdatasync(descriptor)
                    latencies_ns.append(time.perf_counter_ns() - begun_ns)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        return latencies_ns


make_workload = FlushWorkload
