# SPDX-License-Identifier: Apache-2.0
"""The lottery's files: laid out once, found again, refused where they do not fit."""

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.errors import StepFailedError
from appliance.samples.diskstats import DiskStats
from appliance.units import format_size
from appliance.workloads import progress_meter
from appliance.workloads.base import Bench
from appliance.workloads.lottery import files as module
from appliance.workloads.lottery.files import prepare_files
from appliance.workloads.lottery.keys import LotteryPlan
from tests.unit.workloads.stops import StoppedError

SIZE = (3 << 20) + 8192
PLAN = LotteryPlan(
    on=(),
    filesystem="ext4",
    file_size_bytes=SIZE,
    tickets=(("a", 2), ("b", 1)),
    passes=("cold",),
    repeat=1,
    seed=1,
)


def start_next_boot(what: str, done: int, total: int) -> None:
    assert 0 <= done <= total


def stop_in_the_second_file(what: str, done: int, total: int) -> None:
    if done > SIZE:
        raise StoppedError


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(
        device="/dev/sdx",
        folder=tmp_path,
        writable=True,
        raw=tmp_path,
        size_bytes=1 << 30,
        progress=start_next_boot,
        read_counters=lambda: DiskStats(0, 0, 0, 0),
        drive_state="",
    )


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        path.name: (path.stat().st_ino, path.read_bytes())
        for path in (folder / "lottery").iterdir()
    }


def test_files_of_their_size_that_nothing_can_compress(bench: Bench, tmp_path: Path) -> None:
    files = prepare_files(PLAN, bench)

    assert [(file.name, file.length, file.offset) for file in files] == [
        ("a", SIZE, 0),
        ("b", SIZE, 0),
    ]
    a, b = (file.path.read_bytes() for file in files)
    assert len(a) == len(b) == SIZE
    pages = {text[at : at + 4096] for text in (a, b) for at in range(0, SIZE, 4096)}
    assert len(pages) == 2 * SIZE // 4096


def test_the_second_start_writes_nothing(bench: Bench, tmp_path: Path) -> None:
    prepare_files(PLAN, bench)
    before = contents(tmp_path)

    # No room is needed for what is there.
    prepare_files(PLAN, replace(bench, size_bytes=0, progress=stop_in_the_second_file))

    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    "change",
    [{"seed": 2}, {"file_size_bytes": SIZE - 4096}, {"tickets": (("a", 2), ("c", 1))}],
    ids=str,
)
def test_another_plan_lays_out_again(
    bench: Bench, tmp_path: Path, change: dict[str, object]
) -> None:
    prepare_files(PLAN, bench)
    before = contents(tmp_path)
    plan = replace(PLAN, **change)  # type: ignore[arg-type]  # fields by parameter

    files = prepare_files(plan, bench)

    after = contents(tmp_path)
    assert after["manifest.json"][1] != before["manifest.json"][1]
    assert set(after) == {name for name, _ in plan.tickets} | {"manifest.json"}
    assert all(file.path.stat().st_size == plan.file_size_bytes for file in files)


def test_a_stop_in_the_middle_leaves_no_manifest(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_meter, "_POLL_S", 0.0)
    with pytest.raises(StoppedError):
        prepare_files(PLAN, replace(bench, progress=stop_in_the_second_file))
    assert not (tmp_path / "lottery" / "manifest.json").exists()

    prepare_files(PLAN, bench)

    assert {name: len(text) for name, (_, text) in contents(tmp_path).items()}.items() >= {
        ("a", SIZE),
        ("b", SIZE),
    }


def test_a_failing_stick_is_no_full_drive(bench: Bench) -> None:
    """What shows the progress writes files of its own."""

    def fail(what: str, done: int, total: int) -> None:
        raise OSError(errno.ENOSPC, "of the stick")

    with pytest.raises(OSError, match="of the stick"):
        prepare_files(PLAN, replace(bench, progress=fail))


def test_a_file_that_became_shorter_is_laid_out_again(bench: Bench, tmp_path: Path) -> None:
    files = prepare_files(PLAN, bench)
    os.truncate(files[0].path, SIZE - 1)

    prepare_files(PLAN, bench)

    assert files[0].path.stat().st_size == SIZE


def test_files_that_do_not_fit_are_refused_before_anything_is_written(
    bench: Bench, tmp_path: Path
) -> None:
    with pytest.raises(
        StepFailedError,
        match=f"the lottery's 2 files of {format_size(SIZE)} need {format_size(2 * SIZE)}; "
        f"the file system has {format_size(2 * SIZE - 1)} free",
    ):
        prepare_files(PLAN, replace(bench, size_bytes=2 * SIZE - 1))

    assert list(tmp_path.iterdir()) == []


def test_what_lies_there_already_counts_as_room(bench: Bench) -> None:
    prepare_files(PLAN, bench)

    prepare_files(replace(PLAN, seed=2), replace(bench, size_bytes=4096))


@pytest.mark.parametrize(
    ("number", "message"),
    [(errno.ENOSPC, "1 GiB free"), (errno.EIO, "failed: Input/output error")],
)
def test_a_drive_that_fills_up_or_fails(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, number: int, message: str
) -> None:
    def fail(fd: int, content: bytes) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(module, "_write_all", fail)

    with pytest.raises(StepFailedError, match=message):
        prepare_files(PLAN, bench)


def test_a_bare_drive_is_only_divided(bench: Bench, tmp_path: Path) -> None:
    bare = replace(bench, folder=None, writable=False, size_bytes=64 << 20)

    files = prepare_files(PLAN, bare)

    assert [(file.path, file.offset, file.length) for file in files] == [
        (Path("/dev/sdx"), 0, SIZE),
        (Path("/dev/sdx"), 60 << 20, SIZE),
    ]
    assert list(tmp_path.iterdir()) == []


def test_a_bare_drive_that_is_too_small(bench: Bench) -> None:
    with pytest.raises(
        StepFailedError, match="do not fit on /dev/sdx: 2 regions of 4194304 bytes in 7"
    ):
        prepare_files(PLAN, replace(bench, folder=None, size_bytes=7))
