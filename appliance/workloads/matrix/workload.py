# SPDX-License-Identifier: Apache-2.0
"""The workload `matrix`: file sizes × record sizes × operations through the page cache.

A RAM ballast, if requested, stays from the first part to the last, because what one part leaves in
RAM is what the next one meets. Which figures are the RAM's and which the drive's is counted, not
guessed. An array goes idle before an operation that reads; RAM keeps its content over that.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import get_args, override

from appliance.caches.ballast import ballast, read_memory
from appliance.caches.cachestat import Extent, PagesUnknownError, page_stats
from appliance.caches.page_cache import drop_page_cache, kept_open, warm_page_cache
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.samples.model import CacheState, PageCache, Result
from appliance.samples.variants import parse_part
from appliance.units import format_size, show_size
from appliance.workloads.base import Bench, PartResult, Workload
from appliance.workloads.fio.file import (
    cached_at,
    check_fits,
    find_target,
    remove_scratch,
    write_whole,
)
from appliance.workloads.fio.job import FioJob, Options
from appliance.workloads.fio.run import FioRun, judge, make_results, run_fio
from appliance.workloads.idle_wait import rest_array
from appliance.workloads.matrix.keys import (
    LIMIT_S,
    LIMITED,
    MatrixPlan,
    MatrixVariant,
    Operation,
)
from appliance.workloads.raw_files import keep, seal, unseal

AUTOMATIC_SIZES = {"0.5x": 0.5, "1x": 1.0, "2x": 2.0}
"""The file sizes where a plan gives none: multiples of the RAM that is left free."""
_TIMES = {"0.5x": "half", "1x": "once", "2x": "twice"}

_FILE = "matrix.dat"
_MEMORY = "matrix.json"
_MIB = 1 << 20
# A file system needs room for the map of its files as well; btrfs most of all.
_USABLE_SHARE = 0.95
_DROPPED_BEFORE: frozenset[Operation] = frozenset({"read", "rand-read", "backward", "stride"})
_WRITING: frozenset[Operation] = frozenset({"write", "rewrite", "rand-write"})
# IOzone's stride is 17 records: one is read and 16 are left out (iozone.c, STRIDE).
_LEFT_OUT = 16


@dataclass(slots=True)
class _Memory:
    """What must survive an interruption: in the step's raw folder."""

    sizes: dict[str, int]
    free_ram_bytes: int = 0
    """What automatic sizes were made from."""
    written_bytes: int = 0
    """How much of a bare drive was written; of a file its size tells."""

    def save(self, raw: Path) -> None:
        keep(raw / _MEMORY, seal(asdict(self)))


class MatrixWorkload(Workload):
    """One file per size, made again for each record size."""

    def __init__(self, plan: MatrixPlan) -> None:
        self._plan = plan
        self._memory = _Memory({})
        self._previous = ""
        """The part that ended last in this very process."""
        self._ballast_bytes = 0
        self._held = ExitStack()
        self._scratch: Path | None = None
        """The file that no part needs any more."""

    @property
    @override
    def parts(self) -> tuple[str, ...]:
        sizes = {show_size(size): size for size in self._plan.file_sizes_bytes}
        return tuple(
            str(MatrixVariant(size=name, record=show_size(record), operation=operation))
            for name in sizes or AUTOMATIC_SIZES
            for record in self._plan.record_sizes_bytes
            for operation in self._plan.operations
            if name not in sizes or record <= sizes[name]
        )

    @override
    def prepare(self, bench: Bench) -> None:
        if self._plan.free_ram_bytes:
            self._ballast_bytes = self._held.enter_context(
                ballast(self._plan.free_ram_bytes, bench=bench.folder, progress=bench.progress)
            )
        target = find_target(bench, _FILE)
        if bench.folder is None:
            # Otherwise what one part leaves in RAM is gone before the next one (see kept_open).
            self._held.enter_context(kept_open((target,)))
        self._memory = _read_memory(bench.raw)
        sizes = {show_size(size): size for size in self._plan.file_sizes_bytes}
        if sizes:
            self._memory.sizes = sizes
        elif not self._memory.sizes:
            self._memory.free_ram_bytes = read_memory("MemAvailable")
            self._memory.sizes = _automatic_sizes(bench, target, self._memory.free_ram_bytes)
        check_fits(bench, target, max(self._memory.sizes.values()))
        self._memory.save(bench.raw)

    @override
    def run_part(self, bench: Bench, part: str, *, finished: Mapping[str, int]) -> PartResult:
        result = self._run_cell(bench, part)
        self._previous = part
        if bench.folder is not None and {*finished, part}.issuperset(self.parts):
            self._scratch = find_target(bench, _FILE)
        return result

    @override
    def close(self) -> None:
        self._held.close()
        if self._scratch is not None:
            remove_scratch(self._scratch)

    def _run_cell(self, bench: Bench, part: str) -> PartResult:
        cell, operation = _parse_part(part)
        record = next(
            size for size in self._plan.record_sizes_bytes if show_size(size) == cell.record
        )
        size_bytes = self._memory.sizes[cell.size] // record * record
        if not size_bytes:
            return PartResult((), notes=(N_("left out: the record is larger than the file"),))
        target = find_target(bench, _FILE)
        notes = self._provide(bench, target, size_bytes, operation)
        if operation not in _WRITING:
            bench, remarks = rest_array(bench)
            notes += remarks
        capped = self._explain_cap(cell.size)
        requested, proven, reason = self._set_cache(bench, target, size_bytes, cell)
        job = FioJob(
            name=part,
            options=_options(operation, size_bytes=size_bytes, record=record),
            target=target,
            size_bytes=size_bytes,
            seed=self._plan.seed,
            creates=bench.folder is not None and operation == "write",
        )
        run = run_fio(bench, job, label=part)
        if job.reads_only:
            output = replace(run.output, read=run.output.read.time_by_waits())
            run = replace(run, output=output)
        if operation == "write" and run.valid:
            self._remember_written(bench, size_bytes)
        state = judge(
            run,
            requested=requested,
            proven_before=proven,
            reason=reason,
            ballast_bytes=self._ballast_bytes,
            drive_state="; ".join(filter(None, (bench.drive_state, capped))),
        )
        if cell.size in AUTOMATIC_SIZES:
            notes += (
                Phrase(
                    N_("{set} is a file of {size}"), set=cell.size, size=format_size(size_bytes)
                ),
            )
        if capped:
            notes += (capped,)
        notes += tuple(note for note in (run.problem, *run.output.pollution) if note)
        return PartResult(_rows(cell, run, state), notes=notes)

    def _provide(
        self, bench: Bench, target: Path, size_bytes: int, operation: Operation
    ) -> tuple[str, ...]:
        """What the operation works on: nothing yet for `write`, a whole file for all others."""
        if bench.folder is None:
            whole = self._memory.written_bytes >= size_bytes
        else:
            if operation == "write":
                target.unlink(missing_ok=True)
            whole = target.exists() and target.stat().st_size == size_bytes
        if operation == "write" or whole:
            return ()
        if bench.folder is not None:
            target.unlink(missing_ok=True)
        write_whole(bench, target, size_bytes, seed=self._plan.seed)
        self._remember_written(bench, size_bytes)
        return (N_("laid out before it, as no write of this size came before"),)

    def _explain_cap(self, size_word: str) -> str:
        """Why an automatic size is not what its name says; empty where it is."""
        size_bytes, free_ram_bytes = self._memory.sizes[size_word], self._memory.free_ram_bytes
        if size_word not in AUTOMATIC_SIZES:
            return ""
        if size_bytes >= _wanted_bytes(size_word, free_ram_bytes):
            return ""
        times = _TIMES[size_word]
        return Phrase(
            N_("file capped at {bytes} bytes, less than {times} the free RAM"),
            bytes=size_bytes,
            times=times,
        )

    def _remember_written(self, bench: Bench, size_bytes: int) -> None:
        if bench.folder is None and size_bytes > self._memory.written_bytes:
            self._memory.written_bytes = size_bytes
            self._memory.save(bench.raw)

    def _set_cache(
        self, bench: Bench, target: Path, size_bytes: int, cell: MatrixVariant
    ) -> tuple[PageCache, bool, str]:
        """What the operation will meet, whether that is proven, and by what."""
        if cell.operation in _DROPPED_BEFORE:
            return "cold", *drop_page_cache(cached_at(bench, target))
        read_before = str(replace(cell, operation="read"))
        if cell.operation == "reread" and self._previous != read_before:
            # Not directly after `read`, or that was before an interruption: as if it had been.
            warm_page_cache((Extent(target, 0, size_bytes),), progress=bench.progress)
        if not target.exists():
            return "cold", True, "the file is new"
        try:
            resident = page_stats(target, length=size_bytes).resident_bytes
        except PagesUnknownError as error:
            return "partial", False, error.message
        reason = f"cachestat: {resident} of {size_bytes} bytes in RAM before it"
        if not resident:
            return "cold", True, reason
        return ("warm" if resident >= size_bytes else "partial"), True, reason


def _parse_part(part: str) -> tuple[MatrixVariant, Operation]:
    cell = parse_part("matrix", part, MatrixVariant)
    operations: tuple[Operation, ...] = get_args(Operation)
    return cell, next(operation for operation in operations if operation == cell.operation)


def _options(operation: Operation, *, size_bytes: int, record: int) -> Options:
    """The operation in fio's words: synchronous, one record after the other, as in IOzone."""
    options: Options = (
        ("rw", _mode(operation, size_bytes=size_bytes, record=record)),
        ("bs", str(record)),
        ("ioengine", "psync"),
    )
    if operation == "stride":
        # Once through the file; for all of its bytes fio would start over, and meet its own pages.
        steps = -(-(size_bytes // record) // (_left_out(size_bytes, record) + 1))
        options += (("io_size", str(steps * record)),)
    if operation in LIMITED:
        options += (("runtime", str(LIMIT_S)),)
    return options


def _mode(operation: Operation, *, size_bytes: int, record: int) -> str:
    match operation:
        case "write" | "rewrite":
            return "write"
        case "read" | "reread":
            return "read"
        case "rand-read":
            return "randread"
        case "rand-write":
            return "randwrite"
        case "backward":
            # Counted from the end of the record before: with -2 records each one precedes the last.
            # fio 3.39 begins with the file's first record, goes on with the last but one, and ends
            # with the first again (seen with write_iolog).
            return f"read:-{2 * record}"
        case "stride":
            return f"read:{_left_out(size_bytes, record) * record}"


def _left_out(size_bytes: int, record: int) -> int:
    """How many records a stride leaves out; fewer where the file has not two whole strides."""
    return max(1, min(_LEFT_OUT, size_bytes // record // 2 - 1))


def _rows(cell: MatrixVariant, run: FioRun, state: CacheState) -> tuple[Result, ...]:
    """Of fio's rows those that the matrix is about, the rate under its own name."""
    metrics = {"app_read_bytes", "app_write_bytes", "device_read_bytes", "device_write_bytes"}
    metrics |= {"seconds", "hit_ratio"}
    rate = Result(str(cell), "rate_bytes_s", run.output.bw_bytes_s, state, valid=run.valid)
    return (rate, *(row for row in make_results(cell, run, state) if row.metric in metrics))


def _automatic_sizes(bench: Bench, target: Path, free_ram_bytes: int) -> dict[str, int]:
    """Half, once and twice the free RAM, in whole MiB, and no more than fits."""
    room = bench.size_bytes
    if bench.folder is not None and target.exists():
        room += target.stat().st_blocks * 512
    room = int(room * _USABLE_SHARE)
    sizes = {
        name: min(_wanted_bytes(name, free_ram_bytes), room // _MIB * _MIB)
        for name in AUTOMATIC_SIZES
    }
    if not min(sizes.values()):
        raise StepFailedError(
            Phrase(
                N_("no test file fits: {device} has room for {size}"),
                device=bench.device,
                size=format_size(room),
            ),
            blame="other",
        )
    return sizes


def _wanted_bytes(name: str, free_ram_bytes: int) -> int:
    return int(free_ram_bytes * AUTOMATIC_SIZES[name]) // _MIB * _MIB


def _read_memory(raw: Path) -> _Memory:
    try:
        stored = unseal((raw / _MEMORY).read_bytes())
        return _Memory(
            {str(name): int(size) for name, size in stored["sizes"].items()},
            free_ram_bytes=int(stored["free_ram_bytes"]),
            written_bytes=int(stored["written_bytes"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return _Memory({})


make_workload = MatrixWorkload
