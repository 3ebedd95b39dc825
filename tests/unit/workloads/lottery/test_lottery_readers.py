# SPDX-License-Identifier: Apache-2.0
"""How passes read a file: what ends early or cannot be read, and a program's own cache."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.errors import StepFailedError
from appliance.workloads.base import Bench
from appliance.workloads.lottery.draw import LotteryFile
from appliance.workloads.lottery.keys import LotteryPass
from appliance.workloads.lottery.passes import BufferedReader, MappedReader, Pulse
from appliance.workloads.lottery.workload import LotteryWorkload
from tests.unit.workloads.lottery.lottery_bench import (
    PLAN,
    SIZE,
    TICKETS,
    make_lottery_bench,
    make_machine,
)
from tests.unit.workloads.stops import start_next_boot


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return make_lottery_bench(tmp_path, make_machine(monkeypatch))


@pytest.mark.parametrize("part", ["cold", "direct", "mmap", "buffered-app"])
def test_a_failing_stick_is_no_failing_drive(bench: Bench, part: LotteryPass) -> None:
    plan = replace(PLAN, passes=(part,))

    def fail(what: str, done: int, total: int) -> None:
        if total:
            raise OSError("of the stick")

    workload = LotteryWorkload(plan)
    workload.prepare(bench)
    with pytest.raises(OSError, match="of the stick"):
        workload.run_part(replace(bench, progress=fail), part, finished={})


@pytest.mark.parametrize("part", ["cold", "direct", "mmap", "buffered-app"])
def test_a_file_that_ends_early_fails_the_step(bench: Bench, part: str) -> None:
    workload = LotteryWorkload(PLAN)
    workload.prepare(bench)
    assert bench.folder
    for name, _ in TICKETS:
        os.truncate(bench.folder / "lottery" / name, 1 << 20)

    with pytest.raises(StepFailedError, match=f"1048576 bytes instead of {SIZE}|ended at byte"):
        workload.run_part(bench, part, finished={})


def test_a_page_that_cannot_be_read_fails_the_step_and_not_the_engine(tmp_path: Path) -> None:
    """Beyond the end of a file a load would raise SIGBUS, as it does where a drive has an error."""
    path = tmp_path / "a"
    path.write_bytes(bytes(1 << 20))
    size = 3 << 20

    def shorten(what: str, done: int, total: int) -> None:
        os.truncate(path, 4096)

    os.truncate(path, size)
    pulse = Pulse(shorten, "", size)

    with pytest.raises(
        StepFailedError, match="cannot be read through its mapping between byte 1048576 and 2097152"
    ):
        MappedReader().read(LotteryFile("a", path, size), pulse)


def test_the_programs_cache_lets_the_least_recently_used_go(tmp_path: Path) -> None:
    files = {}
    for name in "abc":
        (tmp_path / name).write_bytes(name.encode() * 5000)
        files[name] = LotteryFile(name, tmp_path / name, 5000)
    reader = BufferedReader(limit_bytes=10_000)
    pulse = Pulse(start_next_boot, "", 0)

    answered = [reader.read(files[name], pulse) for name in "abacab"]

    assert answered == [False, False, True, False, True, False]


def test_a_program_without_room_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(5000))
    reader = BufferedReader(limit_bytes=4999)
    pulse = Pulse(start_next_boot, "", 0)

    assert [reader.read(LotteryFile("a", tmp_path / "a", 5000), pulse) for _ in "ab"] == [False] * 2
