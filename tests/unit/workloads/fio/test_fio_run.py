# SPDX-License-Identifier: Apache-2.0
"""How long fio may be silent, and whose fault it is when it ends without figures."""

import errno
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.errors import StepFailedError, StickError
from appliance.run import Finished
from appliance.workloads.fio import run as fio_run
from appliance.workloads.fio.job import FioJob, Options, classic_options, layout_options
from appliance.workloads.fio.run import run_fio
from appliance.workloads.raw_files import write_durably
from tests.unit.workloads.fio.fio_bench import FioBench

MINUTE_S = 60
SIZE_BYTES = 32 << 20


class Clock:
    """In place of the time."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def monotonic(self) -> float:
        """Seconds."""
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(fio_run, "time", made)
    return made


def make_job(lab: FioBench, options: Options) -> FioJob:
    assert lab.bench.folder is not None
    return FioJob(
        name="job",
        options=options,
        target=lab.bench.folder / "fio.dat",
        size_bytes=SIZE_BYTES,
        seed=1,
        creates=True,
    )


def wait(lab: FioBench, clock: Clock, minutes: int, *, moved: bool) -> None:
    """Let fio run so long, looked at each minute."""

    def each_minute() -> None:
        for _ in range(minutes):
            clock.now_s += MINUTE_S
            lab.write_bytes += moved
            lab.poll()

    lab.during = each_minute


def test_a_layout_that_takes_days_is_not_ended(lab: FioBench, clock: Clock) -> None:
    wait(lab, clock, 3 * 24 * 60, moved=True)
    assert run_fio(lab.bench, make_job(lab, layout_options(SIZE_BYTES)), label="x").valid


def test_how_far_an_array_is_past_its_cache_is_seen_of_its_disk(
    lab: FioBench, clock: Clock
) -> None:
    """The array's own counter has none of it. The counters are read once a second."""
    array, lab.writes_past_cache = lab.on_array(), True

    def write_half() -> None:
        array.backing_write_bytes += SIZE_BYTES // 2
        for _ in range(2):
            clock.now_s += 0.5
            lab.poll()

    lab.during = write_half
    array.backing_write_bytes = 7 << 20
    run_fio(lab.bench, make_job(lab, layout_options(SIZE_BYTES)), label="x")
    assert lab.said == [*[("x", 0, SIZE_BYTES)] * 2, ("x", SIZE_BYTES // 2, SIZE_BYTES)]


def test_a_drive_that_does_not_answer_ends_its_job(lab: FioBench, clock: Clock) -> None:
    job = make_job(lab, layout_options(SIZE_BYTES))
    wait(lab, clock, 14, moved=False)
    assert run_fio(lab.bench, job, label="x").valid
    wait(lab, clock, 15, moved=False)
    with pytest.raises(StepFailedError, match="has made no progress for 15 minutes"):
        run_fio(lab.bench, job, label="x")


def test_silence_counts_from_the_end_of_the_runtime(lab: FioBench, clock: Clock) -> None:
    options, _ = classic_options(
        "seq-read", size_bytes=SIZE_BYTES, ioengine="psync", iodepth=1, runtime_s=60 * MINUTE_S
    )
    job = make_job(lab, options)
    wait(lab, clock, 74, moved=False)
    assert run_fio(lab.bench, job, label="x").valid
    wait(lab, clock, 75, moved=False)
    with pytest.raises(StepFailedError, match="fio does not exit"):
        run_fio(lab.bench, job, label="x")


def test_a_stick_that_keeps_nothing_is_not_the_drives_fault(lab: FioBench) -> None:
    job = make_job(lab, layout_options(SIZE_BYTES))
    bench = replace(lab.bench, raw=lab.bench.raw / "gone")
    with pytest.raises(StickError, match=r"raw/gone cannot be written: No such file"):
        run_fio(bench, job, label="x")
    assert lab.happened == []


def test_a_stick_that_goes_while_fio_runs_is_told_as_the_sticks(lab: FioBench) -> None:
    def lose() -> None:
        lab.bench.raw.rename(lab.bench.raw.with_name("moved"))

    lab.during = lose
    with pytest.raises(StickError, match=r"raw cannot be written: No such file"):
        run_fio(lab.bench, make_job(lab, layout_options(SIZE_BYTES)), label="x")


def test_what_fio_gave_is_durable_before_its_figures_are_returned(
    lab: FioBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    write = write_durably

    def note(path: Path, text: str) -> None:
        write(path, text)
        synced.append(path.suffix)

    monkeypatch.setattr(fio_run, "write_durably", note)
    run_fio(lab.bench, make_job(lab, layout_options(SIZE_BYTES)), label="x")
    assert synced[:2] == [".fio", ".json"]


def end_fio(lab: FioBench, monkeypatch: pytest.MonkeyPatch, *, error: int, stderr: str) -> None:
    """Each job moves no byte from now on, and has this error."""
    answer = lab.run_watched

    def fail(command: tuple[str, ...], *, poll: Callable[[], None], oom_score_adj: int) -> Finished:
        done = answer(command, poll=poll, oom_score_adj=oom_score_adj)
        direction = {
            "io_bytes": 0,
            "total_ios": 0,
            "bw_bytes": 0,
            "iops": 0.0,
            "runtime": 0,
            "lat_ns": {},
            "clat_ns": {},
        }
        job = {"error": error, "read": direction, "write": direction}
        output = next(word for word in command if word.startswith("--output=")).split("=", 1)[1]
        Path(output).write_text(json.dumps({"jobs": [job]}))
        return replace(done, returncode=1, stderr=stderr)

    monkeypatch.setattr(fio_run, "run_watched", fail)


@pytest.mark.parametrize(
    ("error", "is_bare", "blame"),
    [
        (errno.EIO, True, "drive"),
        (errno.ENODEV, True, "drive"),
        (errno.ENOENT, True, "drive"),
        (errno.EROFS, False, "drive"),
        # A bare drive that has no room any more has lost its capacity.
        (errno.ENOSPC, True, "drive"),
        (errno.ENOSPC, False, "other"),
        # Blocks that are not aligned to the drive's, as the plan's own options have them.
        (errno.EINVAL, True, "other"),
        (errno.EOPNOTSUPP, True, "other"),
        (errno.EAGAIN, True, "other"),
        # One of its processes was killed: RAM ran out.
        (0, True, "other"),
    ],
)
def test_a_job_that_moves_nothing_is_the_drives_fault_only_if_that_gave_the_error(
    lab: FioBench, monkeypatch: pytest.MonkeyPatch, *, error: int, is_bare: bool, blame: str
) -> None:
    end_fio(lab, monkeypatch, error=error, stderr="fio: what it says\n")
    bench = lab.bare(writable=True) if is_bare else lab.bench
    with pytest.raises(StepFailedError, match="fio moved no byte: what it says") as caught:
        run_fio(bench, make_job(lab, (("rw", "read"),)), label="x")
    assert caught.value.blame == blame


def test_a_job_that_fio_refuses_or_that_is_killed_is_not_the_drives_fault(lab: FioBench) -> None:
    lab.answers["read"] = "rate-min"
    with pytest.raises(StepFailedError, match="fio wrote no JSON") as caught:
        run_fio(lab.bench, make_job(lab, (("rw", "read"),)), label="x")
    assert caught.value.blame == "other"


@pytest.mark.parametrize(
    ("options", "is_buffered"),
    [
        ((("ioengine", "psync"),), True),
        ((("ioengine", "psync"), ("sync", "dsync")), False),
        # O_SYNC is nothing to what is written to memory.
        ((("ioengine", "mmap"), ("sync", "1")), True),
    ],
)
def test_a_write_to_memory_is_over_once_ram_has_it(
    lab: FioBench, options: Options, *, is_buffered: bool
) -> None:
    run = run_fio(lab.bench, make_job(lab, (("rw", "write"), *options)), label="x")
    assert run.is_buffered is is_buffered
    assert bool(run.bins) is not is_buffered
