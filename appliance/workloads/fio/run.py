# SPDX-License-Identifier: Apache-2.0
"""Running one fio job: refuse, check options, run, parse, count the device's bytes.

Owns how fio is called and how its figures become rows. Sets no cache.
"""

import errno
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Unpack

from appliance import sysfs
from appliance.caches.ballast import read_memory
from appliance.caches.judge import Setup, hit_ratio, judge_reads, judge_writes
from appliance.caches.memory_limit import bounded_command
from appliance.errors import Blame, RefusedError, StepFailedError, blame_of
from appliance.flush import sync_path
from appliance.phrases import N_, Phrase
from appliance.progress import in_seconds
from appliance.run import Finished, in_pid_namespace, run, run_watched
from appliance.samples.diskstats import DiskStats
from appliance.samples.fio_options import BUFFER_SHARE, buffer_bytes
from appliance.samples.fio_output import FioOutput, FioOutputError, find_percentiles, parse_fio
from appliance.samples.model import CacheState, Result
from appliance.units import format_size, printable
from appliance.workloads.base import Bench
from appliance.workloads.fio.job import FioJob, Options, file_stem
from appliance.workloads.fio.keys import FioVariant
from appliance.workloads.matrix.keys import MatrixVariant
from appliance.workloads.raw_files import stick_trouble, write_durably
from appliance.workloads.sweep.keys import SweepVariant

# Slow is not hung: as long as a drive moves anything, only the user ends its job. After its
# runtime fio still waits for what it has written to reach the drive, which may take hours.
_SILENCE_S = 15 * 60
_READ_EVERY_S = 1.0
# Where RAM runs out nevertheless, the kernel is to end fio, not the engine (-900) nor the rest (0).
_OOM_SCORE_ADJ = 500
# fio prints this, and exits with success (backend.c, do_io: that error is only logged).
_FSYNC_FAILED = "end_fsync failed"
_NO_DIRECT = re.compile(r"does not support (O_DIRECT|direct=1)")
_OF_THE_JOB = frozenset({0, errno.EINVAL, errno.EOPNOTSUPP})
"""What no drive ends fio with. 0: it was killed, or refused the job itself. The others: what the
job wants is not aligned, or not possible."""


@dataclass(frozen=True, slots=True)
class FioRun:
    """What a job did, by fio's account and by the device's."""

    output: FioOutput
    device_read_bytes: int
    device_write_bytes: int
    """The least if `lacks_writes`."""
    problem: str
    """Why the figures are not valid; empty if they are."""
    is_buffered: bool
    """Whether a write was over as soon as RAM had it: how long that took is no figure of a drive's.

    The rate is, as the flush at the end is in it.
    """
    lacks_writes: bool = False
    """Whether the device does not count all its writes, as an array."""
    blame: Blame = "drive"
    """Whose fault the problem is."""

    @property
    def bins(self) -> Mapping[int, int]:
        """All latencies that are the drive's, as fio's bins; none of a job with buffered writes."""
        return {} if self.is_buffered and self.output.write.io_bytes else self.output.bins

    @property
    def valid(self) -> bool:
        """Whether the job came to its end without an error."""
        return not self.problem


def check_buffers(name: str, options: Options) -> None:
    """Raises StepFailedError when a job's buffers would take more of the RAM than can be spared."""
    size_bytes, total = buffer_bytes(options), read_memory("MemTotal")
    if size_bytes > total * BUFFER_SHARE:
        raise StepFailedError(
            Phrase(
                N_(
                    "{job} would take {size} of RAM for its buffers (bs × iodepth × numjobs), more "
                    "than a quarter of the machine's {total}"
                ),
                job=name,
                size=format_size(size_bytes),
                total=format_size(total),
            ),
            hint=N_("lower bs, iodepth or numjobs"),
            blame="other",
        )


def run_fio(bench: Bench, job: FioJob, *, label: str, memory_max_bytes: int = 0) -> FioRun:
    """Run `job` and keep its text, its JSON and what it said in `bench.raw`.

    Raises RefusedError when it would write on a drive that was not released, or points elsewhere;
    StepFailedError when it takes too much RAM, fio refuses it or gives no figures, O_DIRECT is not
    supported, or the drive no longer answers; StickError when nothing can be kept;
    and whatever `bench.progress` raises.
    """
    text = job.text()
    check_buffers(job.name, job.options)
    if not bench.writable and not job.reads_only:
        raise RefusedError(
            Phrase(
                N_("{job} writes, and {device} was not released for writing"),
                job=job.name,
                device=bench.device,
            )
        )
    stem = file_stem(job.name)
    job_file, json_file, stderr_file = (
        bench.raw / f"{stem}{suffix}" for suffix in (".fio", ".json", ".stderr")
    )
    with stick_trouble(bench.raw):
        for stale in (json_file, stderr_file):
            stale.unlink(missing_ok=True)
        sync_path(bench.raw.parent)
        write_durably(job_file, text)
    readonly = ["--readonly"] if job.reads_only else []
    if mistake := find_mistake(job_file, *readonly):
        raise StepFailedError(
            Phrase(N_("fio refuses the job {job}: {error}"), job=job.name, error=mistake),
            blame="other",
        )
    with TemporaryDirectory() as folder:
        # First into RAM: what fio cannot write on the stick would look like a test without figures.
        output_file = Path(folder) / json_file.name
        # Each of its workers begins a session (backend.c, thread_main: setsid).
        command = in_pid_namespace(
            [
                "fio",
                f"--output={output_file}",
                "--output-format=json+",
                "--eta=never",
                *readonly,
                str(job_file),
            ]
        )
        if memory_max_bytes:
            command = bounded_command(command, memory_max_bytes=memory_max_bytes)
        before = bench.read_counters()
        poll = _watch(bench, job, label=label, before=before)
        done = run_watched(command, poll=poll, oom_score_adj=_OOM_SCORE_ADJ)
        after = bench.read_counters()
        json_text = sysfs.read_text(output_file)
    # Before the rows that name them: after power loss a figure without its source is worth little.
    with stick_trouble(bench.raw):
        write_durably(json_file, json_text)
        if done.stderr:
            write_durably(stderr_file, done.stderr)
    output = _read_output(bench, job, done, json_text)
    return FioRun(
        output=output,
        device_read_bytes=after.read_bytes - before.read_bytes,
        device_write_bytes=after.write_bytes - before.write_bytes,
        problem=_find_problem(job, done, output),
        is_buffered=_is_buffered(job),
        lacks_writes=after.lacks_writes,
        blame=_find_blame(bench, done, output),
    )


def _is_buffered(job: FioJob) -> bool:
    """Whether a write is over once RAM has it: by O_SYNC or O_DSYNC the drive has it as well.

    Of what is written to memory they know nothing.
    """
    options = dict(job.options)
    is_synced = options.get("sync", "0") not in {"0", "none"} and options.get("ioengine") != "mmap"
    return not job.direct and not is_synced


def _watch(bench: Bench, job: FioJob, *, label: str, before: DiskStats) -> Callable[[], None]:
    """What to do while fio runs: report progress, and abandon a drive that does not answer.

    Within its runtime a job may be silent: it has a think time, or RAM answers it.
    """
    start_s = read_s = time.monotonic()
    last, silent_since_s = before, start_s + job.runtime_s
    array = bench.array
    backing_before = array.read_members().backing.write_bytes if array else 0
    moved = 0

    def read(now_s: float) -> None:
        nonlocal last, silent_since_s, moved
        now = bench.read_counters()
        if _moves(now) != _moves(last):
            last, silent_since_s = now, max(now_s, silent_since_s)
        if job.runtime_s:
            return  # the time is what is shown
        written = now.write_bytes - before.write_bytes
        if array:
            # What its own counter lacks has reached the backing drive.
            written = max(written, array.read_members().backing.write_bytes - backing_before)
        moved = now.read_bytes - before.read_bytes + written

    def poll() -> None:
        nonlocal read_s
        now_s = time.monotonic()
        if now_s - read_s >= _READ_EVERY_S:
            read_s = now_s
            read(now_s)
        if now_s - silent_since_s >= _SILENCE_S:
            raise StepFailedError(
                Phrase(
                    N_(
                        "{job}: {device} has made no progress for {minutes} minutes, and fio does "
                        "not exit"
                    ),
                    job=job.name,
                    device=bench.device,
                    minutes=_SILENCE_S // 60,
                )
            )
        if job.runtime_s:
            # No figure in the text: a new text is shown at once, which a measurement would feel.
            done_s = min(int(now_s - start_s), job.runtime_s)
            bench.progress(in_seconds(label), done_s, job.runtime_s)
        else:
            bench.progress(label, min(moved, job.size_bytes), job.size_bytes)

    return poll


def _moves(counters: DiskStats) -> tuple[int, ...]:
    # Not the busy time: it also grows while a request is not answered.
    return counters.read_ios, counters.read_bytes, counters.write_ios, counters.write_bytes


def find_mistake(job_file: Path, *words: str) -> str:
    """What fio itself has against a job, in its words; empty where it takes it. Runs nothing."""
    answer = run(["fio", "--parse-only", *words, str(job_file)], check=False)
    return _first_words(answer) if answer.returncode else ""


def _read_output(bench: Bench, job: FioJob, done: Finished, text: str) -> FioOutput:
    if _NO_DIRECT.search(done.stderr):
        raise StepFailedError(
            Phrase(
                N_("{path} does not support O_DIRECT: the page cache cannot be bypassed there"),
                path=job.target,
            ),
            hint=N_("choose another file system, or page_cache = cold"),
            blame="other",
        )
    try:
        output = parse_fio(text)
    except FioOutputError as error:
        # An error of the drive would be in there: fio was killed, or has refused the job.
        raise StepFailedError(
            Phrase(
                "{job}: {error}; {output}", job=job.name, error=error, output=_first_words(done)
            ),
            blame="other",
        ) from error
    if not output.io_bytes:
        raise StepFailedError(
            Phrase(
                N_("{job}: fio moved no byte: {output}"), job=job.name, output=_first_words(done)
            ),
            blame=_find_blame(bench, done, output),
        )
    return output


def _find_blame(bench: Bench, done: Finished, output: FioOutput) -> Blame:
    """Whose fault it is that a job failed: not the drive's if the plan's options ask too much."""
    # A bare drive is full only where it has lost its capacity.
    has_lost_room = output.error == errno.ENOSPC and bench.folder is None
    if _FSYNC_FAILED in done.stderr or has_lost_room:
        return "drive"
    return "other" if output.error in _OF_THE_JOB else blame_of(OSError(output.error, ""))


def _find_problem(job: FioJob, done: Finished, output: FioOutput) -> str:
    error = output.error
    if done.returncode == 0 and not error and _FSYNC_FAILED not in done.stderr:
        return ""
    output_words = _first_words(done)
    if not error:
        return Phrase(N_("{job} ended with an error: {output}"), job=job.name, output=output_words)
    return Phrase(
        N_("{job} ended with an error ({error}): {output}"),
        job=job.name,
        error=os.strerror(error),
        output=output_words,
    )


def _first_words(done: Finished) -> str:
    """What fio said first: later lines follow from it."""
    for line in (done.stderr + "\n" + done.stdout).splitlines():
        if words := line.strip().removeprefix("fio: "):
            return printable(words)
    return Phrase(N_("exit code {code}"), code=done.returncode)


def judge(run: FioRun, **setup: Unpack[Setup]) -> CacheState:
    """The state that a job met; of one that reads and writes, the direction that proves less."""
    read_bytes, write_bytes = run.output.read.io_bytes, run.output.write.io_bytes
    states = []
    if read_bytes:
        states.append(
            judge_reads(app_read_bytes=read_bytes, device_read_bytes=run.device_read_bytes, **setup)
        )
    if write_bytes or not states:
        states.append(
            judge_writes(
                app_write_bytes=write_bytes,
                device_write_bytes=run.device_write_bytes,
                lacks_writes=run.lacks_writes,
                **setup,
            )
        )
    return weakest(states)


def weakest(states: Sequence[CacheState]) -> CacheState:
    """The first state that is unproven, or the last of all."""
    return next((state for state in states if state.proof == "unproven"), states[-1])


def make_results(
    variant: FioVariant | MatrixVariant | SweepVariant, run: FioRun, state: CacheState
) -> tuple[Result, ...]:
    """The rows of one job; one that reads and writes gets its rates in both directions as well."""
    output, whole = run.output, str(variant)
    figures: list[tuple[str, str, float]] = [
        (whole, "bw_bytes_s", output.bw_bytes_s),
        (whole, "iops", output.iops),
        *((whole, name, value) for name, value in find_percentiles(run.bins).items()),
        (whole, "seconds", output.seconds),
    ]
    if isinstance(variant, FioVariant) and output.read.io_bytes and output.write.io_bytes:
        for direction, way in (("read", output.read), ("write", output.write)):
            name = str(replace(variant, direction=direction))
            figures += [
                (name, "bw_bytes_s", way.bw_bytes_s),
                (name, "iops", way.iops),
                *(
                    (name, key, value)
                    for key, value in find_percentiles(way.bins).items()
                    if direction == "read" or not run.is_buffered
                ),
            ]
    figures += [
        (whole, "app_read_bytes", output.read.io_bytes),
        (whole, "app_write_bytes", output.write.io_bytes),
        (whole, "device_read_bytes", run.device_read_bytes),
    ]
    if not run.lacks_writes:
        figures.append((whole, "device_write_bytes", run.device_write_bytes))
    if output.read.io_bytes:
        ratio = hit_ratio(output.read.io_bytes, run.device_read_bytes)
        figures.append((whole, "hit_ratio", ratio))
    return tuple(
        Result(name, metric, value, state, valid=run.valid) for name, metric, value in figures
    )
