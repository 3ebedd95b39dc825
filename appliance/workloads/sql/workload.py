# SPDX-License-Identifier: Apache-2.0
"""The SQL test (C2): five timed phases of a database on the drive's file system.

Owns what surrounds a phase: the database's state before it, the caches, the counters, the verdict
on its answers. Must never time a phase on a database that another attempt left behind, nor while an
array writes back what came before: with nothing in RAM every phase begins by reading, and would be
charged with the phase before it, or with the dump. What it leaves dirty itself is counted as such.
"""

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import override

from appliance import sysfs
from appliance.caches.ballast import ballast, read_memory
from appliance.caches.judge import hit_ratio, judge_reads
from appliance.caches.page_cache import drop_page_cache
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.samples.model import CacheState, Result
from appliance.units import format_size
from appliance.workloads.base import Bench, PartResult, Workload
from appliance.workloads.idle_wait import rest_array
from appliance.workloads.progress_meter import ProgressMeter
from appliance.workloads.sql.data import data_of_size
from appliance.workloads.sql.database import (
    CACHE_BYTES,
    delete_database,
    open_database,
    read_phases_done,
    run_phase,
)
from appliance.workloads.sql.files import SqlFolder, prepare_folder
from appliance.workloads.sql.keys import PHASES, SqlPlan

_LEAST_FREE_RAM_BYTES = 256 << 20
"""With less the engine and the interface would wait for their own pages, unless asked for."""
_THREAD_IO = Path("/proc/thread-self/io")


@dataclass(frozen=True, slots=True)
class _Moved:
    """What one phase took, and what it moved."""

    seconds: float
    app_read_bytes: int
    app_write_bytes: int
    device_read_bytes: int
    device_write_bytes: int | None
    """None: the device does not count all its writes, as an array."""
    checksum: str


class SqlWorkload(Workload):
    """One step: each phase is a part; `total` is a row of the last."""

    def __init__(self, plan: SqlPlan) -> None:
        self._plan = plan
        self._data = data_of_size(plan.data_size_bytes, plan.seed)
        self._folder = SqlFolder(Path())

    @property
    @override
    def parts(self) -> tuple[str, ...]:
        """The five phases."""
        return PHASES

    @override
    def prepare(self, bench: Bench) -> None:
        """Write the dump, or find it. Raises StepFailedError."""
        self._folder = prepare_folder(self._plan, bench)

    @override
    def run_part(self, bench: Bench, part: str, *, finished: Mapping[str, int]) -> PartResult:
        """One phase, from a cold page cache. Raises StepFailedError."""
        notes: list[str] = []
        if self._restore(bench, part):
            notes.append(N_("the database was created again up to this phase, untimed"))
        bench, remarks = rest_array(bench)
        notes += remarks
        free_ram = self._free_ram()
        with self._bounded_ram(bench, free_ram) as ballast_bytes:
            bench.progress(N_("dropping the page cache"), 0, 0)
            files = [path for path in (self._folder.dump, self._folder.database) if path.exists()]
            dropped = drop_page_cache([*files, Path(bench.device)])
            free_bytes = read_memory("MemAvailable")
            moved = self._do(bench, part)
        if not dropped.proven:
            notes.append(dropped.reason)
        if self._plan.data_size_bytes <= free_bytes:
            notes.append(
                Phrase(
                    N_(
                        "the data ({size}) are not larger than the RAM that was left free "
                        "({free}): RAM may answer what is asked for again"
                    ),
                    size=format_size(self._plan.data_size_bytes),
                    free=format_size(free_bytes),
                )
            )
        cache = judge_reads(
            requested="cold",
            proven_before=dropped.proven,
            reason=f"{dropped.reason}; what is asked for again comes from SQLite's own cache "
            f"({CACHE_BYTES} bytes) or the page cache ({free_bytes} bytes of RAM left free)",
            app_read_bytes=moved.app_read_bytes,
            device_read_bytes=moved.device_read_bytes,
            ballast_bytes=ballast_bytes,
            drive_state=bench.drive_state,
        )
        valid = not moved.checksum or self._verify(moved.checksum, notes)
        results = _rows_of(part, moved, cache, valid=valid)
        times = self._store_seconds({part: moved.seconds}, finished)
        if part == PHASES[-1]:
            results += _total(times, cache, notes, valid=valid)
        return PartResult(results, notes=tuple(notes))

    def _restore(self, bench: Bench, part: str) -> bool:
        """Bring the database to where `part` begins; True if phases were repeated for that.

        It may be behind or ahead of what is stored, as power can go between the two commits.
        """
        database = self._folder.database
        before = PHASES.index(part)
        if (
            before
            and read_phases_done(
                database, ProgressMeter(bench.progress, Phrase(N_("sql: {part}"), part=part))
            )
            == before
        ):
            return False
        self._delete_database()
        for phase in PHASES[:before]:
            watch = ProgressMeter(
                bench.progress, Phrase(N_("sql: {phase} again, untimed"), phase=phase)
            )
            with open_database(database, watch) as connection:
                run_phase(connection, phase, data=self._data, dump=self._folder.dump, watch=watch)
        return before > 0

    def _delete_database(self) -> None:
        try:
            delete_database(self._folder.database)
        except OSError as error:
            raise StepFailedError(
                Phrase(N_("the database cannot be deleted: {error}"), error=error.strerror)
            ) from error

    def _free_ram(self) -> int:
        """How much RAM the ballast is to leave; 0 for no ballast."""
        if self._plan.free_ram_bytes:
            return self._plan.free_ram_bytes
        free_bytes = max(self._plan.data_size_bytes // 2, _LEAST_FREE_RAM_BYTES)
        total = read_memory("MemTotal")
        return free_bytes if free_bytes < total else 0

    @contextmanager
    def _bounded_ram(self, bench: Bench, free_ram: int) -> Iterator[int]:
        if not free_ram:
            yield 0
            return
        with ballast(free_ram, bench=bench.folder, progress=bench.progress) as ballast_bytes:
            yield ballast_bytes

    def _do(self, bench: Bench, phase: str) -> _Moved:
        """The timed part: from opening the database to having closed it."""
        watch = ProgressMeter(bench.progress, Phrase(N_("sql: {phase}"), phase=phase))
        device_before = bench.read_counters()
        read_before, write_before = _read_thread_io()
        start_s = time.perf_counter()
        with open_database(self._folder.database, watch) as connection:
            checksum = run_phase(
                connection, phase, data=self._data, dump=self._folder.dump, watch=watch
            )
        seconds = time.perf_counter() - start_s
        read, write = _read_thread_io()
        device = bench.read_counters()
        return _Moved(
            seconds=seconds,
            app_read_bytes=read - read_before,
            app_write_bytes=write - write_before,
            device_read_bytes=device.read_bytes - device_before.read_bytes,
            device_write_bytes=device.written_since(device_before),
            checksum=checksum,
        )

    def _verify(self, checksum: str, notes: list[str]) -> bool:
        manifest = self._folder.read_manifest()
        answers = manifest.answers if manifest else "an answer that the drive no longer has"
        if checksum == answers:
            return True
        notes.append(
            Phrase(
                N_(
                    "checksum mismatch: the selects gave {found} instead of {wanted}: the "
                    "drive did not give back what was written"
                ),
                found=checksum,
                wanted=answers,
            )
        )
        return False

    def _store_seconds(
        self, this: Mapping[str, float], finished: Mapping[str, int]
    ) -> Mapping[str, float]:
        """Keep the phase's time on the drive, beside those of this step's finished phases."""
        manifest = self._folder.read_manifest()
        if manifest is None:
            raise StepFailedError(
                Phrase(N_("the manifest in {path} is no longer readable"), path=self._folder.path)
            )
        earlier = {phase: s for phase, s in manifest.seconds.items() if phase in finished}
        times = {**earlier, **this}
        self._folder.write_manifest(replace(manifest, seconds=times))
        return times


def _total(
    times: Mapping[str, float], cache: CacheState, notes: list[str], *, valid: bool
) -> tuple[Result, ...]:
    """The sum of all phases' times; left out, with a note, where one is not known."""
    missing = [phase for phase in PHASES if phase not in times]
    if missing:
        notes.append(
            Phrase(
                N_("no total: the time of {names} is no longer on the drive"),
                names=", ".join(missing),
            )
        )
        return ()
    mixed = replace(
        cache,
        page_cache="partial",
        proof="unproven",
        proof_reason="a sum of phases; each has a cache state of its own",
        began_cold="",
    )
    return (Result("total", "seconds", sum(times[phase] for phase in PHASES), mixed, valid),)


def _rows_of(phase: str, moved: _Moved, cache: CacheState, *, valid: bool) -> tuple[Result, ...]:
    figures: dict[str, float | None] = {
        "seconds": moved.seconds,
        "app_read_bytes": moved.app_read_bytes,
        "app_write_bytes": moved.app_write_bytes,
        "device_read_bytes": moved.device_read_bytes,
        "device_write_bytes": moved.device_write_bytes,
        "hit_ratio": hit_ratio(moved.app_read_bytes, moved.device_read_bytes),
    }
    return tuple(
        Result(phase, metric, value, cache, valid)
        for metric, value in figures.items()
        if value is not None
    )


def _read_thread_io() -> tuple[int, int]:
    """Bytes this thread has read and written by system calls: proc_pid_io(5), rchar and wchar.

    Raises StepFailedError.
    """
    text = sysfs.read_text(_THREAD_IO)
    matches = {key: re.search(rf"^{key}: (\d+)$", text, re.MULTILINE) for key in ("rchar", "wchar")}
    read, write = matches["rchar"], matches["wchar"]
    if read is None or write is None:
        raise StepFailedError(
            Phrase(
                N_("the kernel does not count a thread's reads and writes in {path}"),
                path=_THREAD_IO,
            )
        )
    return int(read[1]), int(write[1])


make_workload = SqlWorkload
