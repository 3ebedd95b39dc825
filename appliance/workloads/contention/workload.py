# SPDX-License-Identifier: Apache-2.0
"""The contention test: a drive is read alone, then while all others are read, several times.

Each reading is a part. The others are a load and nothing else: their own rates are measured in
their own steps, under the same load. Must never write, and must never read a place twice in a row:
a drive's own cache would answer.
"""

import random
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import override

from appliance import sysfs
from appliance.caches.judge import judge_reads
from appliance.errors import StepFailedError, blame_of
from appliance.phrases import N_, Phrase
from appliance.samples.model import Result
from appliance.samples.processor_load import find_busiest, parse_ticks
from appliance.samples.variants import parse_part
from appliance.workloads.base import Bench, PartResult, Workload
from appliance.workloads.contention.keys import ContentionPlan, ContentionVariant
from appliance.workloads.contention.load import Load, walk_pieces
from appliance.workloads.progress_meter import ProgressMeter
from appliance.workloads.surface.drive import DirectDrive

_ZONE = 1 / 16
"""All readings are within the first of this share of the drive, the load within the second: a disk
is slower further inside, and that must not look like the others' doing."""
_RAMP_S = 0.5
"""So long the others are read before the drive is."""
_STAT = Path("/proc/stat")


class ContentionWorkload(Workload):
    """One step: `alone-1`, `together-1`, `alone-2` and so on."""

    def __init__(self, plan: ContentionPlan) -> None:
        self._plan = plan

    @property
    @override
    def parts(self) -> tuple[str, ...]:
        """In turns, so that drift hits both alike."""
        return tuple(
            str(ContentionVariant(company, number))
            for number in range(1, self._plan.rounds + 1)
            for company in ("alone", "together")
        )

    @override
    def prepare(self, bench: Bench) -> None:
        """Raises StepFailedError where there is no other drive."""
        if not bench.others:
            raise StepFailedError(
                N_("no other drive is there to be read at the same time"),
                hint=N_("give the plan at least two drives that take part"),
                blame="other",
            )

    @override
    def run_part(self, bench: Bench, part: str, *, finished: Mapping[str, int]) -> PartResult:
        """Read the drive once. Raises StepFailedError."""
        variant = parse_part(self._plan.kind, part, ContentionVariant)
        place = _ZONE * self.parts.index(part) / len(self.parts)
        with ExitStack() as stack:
            load = None
            if variant.company == "together":
                # Not where another step has read it: of that its cache may hold the end.
                chance = random.Random(f"{self._plan.seed}/{bench.device}/{part}").random()
                load = stack.enter_context(Load(bench.others, place=_ZONE * (1 + chance)))
                time.sleep(_RAMP_S)
            ticks = parse_ticks(sysfs.read_text(_STAT))
            before = bench.read_counters().read_bytes
            read_bytes, seconds = self._read(bench, part, place=place)
            device_read_bytes = bench.read_counters().read_bytes - before
            busiest = find_busiest(ticks, parse_ticks(sysfs.read_text(_STAT)))
            busy = load.busy if load else 0
        cache = judge_reads(
            requested="bypass",
            proven_before=True,
            reason="read past the page cache with O_DIRECT",
            app_read_bytes=read_bytes,
            device_read_bytes=device_read_bytes,
            drive_state=bench.drive_state,
        )
        values = {
            "bw_bytes_s": read_bytes / seconds,
            "app_read_bytes": read_bytes,
            "device_read_bytes": device_read_bytes,
        }
        if busiest is not None:
            values["processor_ratio"] = busiest
        failed = load.failed if load else {}
        return PartResult(
            tuple(Result(part, metric, value, cache) for metric, value in values.items()),
            notes=tuple(
                Phrase(N_("{path} was not read to the end: {what}"), path=path, what=why)
                for path, why in failed.items()
            ),
            beside=busy,
        )

    def _read(self, bench: Bench, part: str, *, place: float) -> tuple[int, float]:
        """The bytes it gave and how long that took."""
        watch = ProgressMeter(bench.progress, Phrase(N_("contention: {part}"), part=part))
        runtime_s = self._plan.runtime_s
        with DirectDrive(Path(bench.device), poll=watch.repeat) as drive:
            begun_s = time.monotonic()
            pieces = walk_pieces(
                drive.size_bytes,
                first_byte=int(drive.size_bytes * place),
                goes_on=lambda: time.monotonic() - begun_s < runtime_s,
            )
            read_bytes = 0
            for answer in drive.read_run(pieces):
                if answer.got_bytes < answer.asked_bytes:
                    raise StepFailedError(
                        Phrase(
                            N_("{path} could not be read at byte {byte}"),
                            path=bench.device,
                            byte=answer.first_byte,
                        ),
                        blame=blame_of(OSError(answer.errno, "")),
                    )
                read_bytes += answer.got_bytes
                watch.tell(min(runtime_s, round(time.monotonic() - begun_s)), runtime_s)
            return read_bytes, time.monotonic() - begun_s


make_workload = ContentionWorkload
