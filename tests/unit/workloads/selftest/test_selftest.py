# SPDX-License-Identifier: Apache-2.0
"""The self-test as a step: a drive that answers as smartctl does, on a clock of its own."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from appliance.errors import StepFailedError
from appliance.progress import Progress
from appliance.run import Finished
from appliance.samples.diskstats import DiskStats
from appliance.workloads.base import Bench, PartResult
from appliance.workloads.selftest import workload as selftest
from appliance.workloads.selftest.keys import SelftestPlan
from appliance.workloads.selftest.workload import SelftestWorkload
from tests.unit.workloads.stops import StoppedError, start_next_boot, stop_after

type Json = dict[str, Any]


class CrashError(BaseException):
    """The engine ends without another word."""


@dataclass
class TestingDrive:
    """An ATA drive whose short test takes as long as is set."""

    __test__ = False

    takes_s: float = 100.0
    result: int = 0
    logs: bool = True
    begins_after_s: float = 0.0
    """How long it takes until it says that it tests itself; infinite for one that only nods."""
    supported: bool = True
    now_s: float = 1000.0
    started_s: float | None = None
    log: list[Json] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)

    def monotonic(self) -> float:
        """As time.monotonic."""
        return self.now_s

    def sleep(self, seconds: float) -> None:
        """As time.sleep."""
        self.now_s += seconds

    def run(self, command: Sequence[str], **_: object) -> Finished:
        """As smartctl."""
        self._settle()
        about: Json = {"smartctl": {"exit_status": 0}, "device": {"protocol": "ATA"}}
        if "--abort" in command:
            self.commands.append("abort")
            self.started_s = None
        elif any(word.startswith("--test=") for word in command):
            self.commands.append("start")
            self.started_s = self.now_s
            self._settle()
        else:
            about |= self._state()
        return Finished(tuple(command), 0, json.dumps(about), "")

    def run_unless_aborted(self, command: Sequence[str], **more: object) -> Finished:
        """As smartctl, for an engine that has no time left to end anything."""
        if "--abort" in command:
            raise CrashError
        return self.run(command, **more)

    def _settle(self) -> None:
        if self._tests_itself() and self.now_s - (self.started_s or 0.0) >= self.takes_s:
            self.started_s = None
            if self.logs:
                status = {"value": self.result, "string": f"ended with {self.result:#x}"}
                self.log.insert(0, {"type": {"string": "Short"}, "status": status})

    def _tests_itself(self) -> bool:
        return self.started_s is not None and self.now_s - self.started_s >= self.begins_after_s

    def _state(self) -> Json:
        running = self._tests_itself()
        value = 0xF5 if running else self.result
        left = {"remaining_percent": 50} if running else {}
        return {
            "ata_smart_data": {
                "capabilities": {"self_tests_supported": self.supported},
                "self_test": {
                    "status": {"value": value, "string": "", **left},
                    "polling_minutes": {"short": 2},
                },
            },
            "ata_smart_self_test_log": {"standard": {"table": self.log}},
        }


@pytest.fixture
def drive(monkeypatch: pytest.MonkeyPatch) -> TestingDrive:
    made = TestingDrive()
    monkeypatch.setattr(selftest, "time", made)
    monkeypatch.setattr(selftest, "run", made.run)
    return made


def run_short(folder: Path, progress: Progress = start_next_boot) -> PartResult:
    bench = Bench(
        device="/dev/sdb",
        folder=None,
        writable=False,
        raw=folder,
        size_bytes=0,
        progress=progress,
        read_counters=lambda: DiskStats(0, 0, 0, 0),
        drive_state="",
    )
    workload = SelftestWorkload(SelftestPlan(on=(), test="short"))
    workload.prepare(bench)
    (part,) = workload.parts
    return workload.run_part(bench, part, finished={})


def values(result: PartResult) -> dict[str, float]:
    assert {one.variant for one in result.results} == {"short"}
    return {one.metric: one.value for one in result.results}


@pytest.mark.parametrize(("ended", "passed"), [(0x00, 1.0), (0x75, 0.0)])
def test_a_test_that_ends_is_a_result(
    drive: TestingDrive, tmp_path: Path, ended: int, passed: float
) -> None:
    drive.result = ended
    told: list[int] = []
    result = run_short(tmp_path, lambda _what, done, _total: told.append(done))
    assert values(result)["selftest_passed"] == passed
    assert 100 <= values(result)["seconds"] <= 106
    assert result.notes == (f"ended with {ended:#x}",)
    assert set(told) == {50}
    assert drive.commands == ["start"]


def test_a_test_that_ends_at_once_is_a_result_too(drive: TestingDrive, tmp_path: Path) -> None:
    drive.takes_s = 0
    assert values(run_short(tmp_path)) == {"seconds": 0, "selftest_passed": 1}


def test_a_log_that_is_full_of_equal_lines_does_not_hide_the_end(
    drive: TestingDrive, tmp_path: Path
) -> None:
    drive.log = [{"type": {"string": "Short"}, "status": {"value": 0, "string": "as ever"}}]
    drive.logs = False
    assert values(run_short(tmp_path))["selftest_passed"] == 1


OLD = {"type": {"string": "Short"}, "status": {"value": 0, "string": "passed last year"}}


def test_a_drive_that_only_nods_has_not_passed(drive: TestingDrive, tmp_path: Path) -> None:
    drive.log = [OLD]
    drive.begins_after_s = math.inf
    told: list[int] = []
    with pytest.raises(StepFailedError, match="no sign that the self-test ran"):
        run_short(tmp_path, lambda _what, done, _total: told.append(done))
    assert 30 <= drive.now_s - 1000 <= 32
    assert set(told) == {0}


def test_the_old_line_of_a_log_is_not_that_of_a_test_that_begins_late(
    drive: TestingDrive, tmp_path: Path
) -> None:
    drive.log = [OLD]
    drive.begins_after_s = 3
    drive.result = 0x75
    result = run_short(tmp_path)
    assert values(result)["selftest_passed"] == 0
    assert result.notes == ("ended with 0x75",)


def test_a_stop_ends_the_drives_test_and_it_is_done_again(
    drive: TestingDrive, tmp_path: Path
) -> None:
    with pytest.raises(StoppedError):
        run_short(tmp_path, stop_after(10))
    assert drive.commands == ["start", "abort"]
    assert values(run_short(tmp_path))["selftest_passed"] == 1
    assert drive.commands == ["start", "abort", "start"]


def crash(drive: TestingDrive, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that starts a test and is killed right after."""
    with monkeypatch.context() as patch:
        patch.setattr(SelftestWorkload, "_await_end", _raise)
        patch.setattr(Path, "unlink", _raise)  # nor does it tidy up
        patch.setattr(selftest, "run", drive.run_unless_aborted)
        with pytest.raises(CrashError):
            run_short(folder)


def _raise(*_: object, **_more: object) -> None:
    raise CrashError


def test_the_next_engine_goes_on_watching(
    drive: TestingDrive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash(drive, tmp_path, monkeypatch)
    drive.now_s += 10
    found = values(run_short(tmp_path))
    assert found["selftest_passed"] == 1
    assert 100 <= found["seconds"] <= 106
    assert drive.commands == ["start"]


def test_a_test_that_ended_while_the_engine_was_down_has_no_time(
    drive: TestingDrive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash(drive, tmp_path, monkeypatch)
    drive.now_s += 500
    result = run_short(tmp_path)
    assert values(result) == {"selftest_passed": 1}
    assert "ended while the engine was down" in result.notes[1]
    assert drive.commands == ["start"]


def test_after_a_restart_of_the_machine_it_is_done_again(
    drive: TestingDrive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash(drive, tmp_path, monkeypatch)
    drive.started_s = None  # its power was gone
    other = tmp_path / "boot_id"
    other.write_text("another boot\n")
    monkeypatch.setattr(selftest, "_BOOT_ID", other)
    assert values(run_short(tmp_path))["selftest_passed"] == 1
    assert drive.commands == ["start", "start"]


def test_a_test_that_outlived_a_restart_is_ended_and_done_again(
    drive: TestingDrive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash(drive, tmp_path, monkeypatch)
    other = tmp_path / "boot_id"
    other.write_text("another boot\n")
    monkeypatch.setattr(selftest, "_BOOT_ID", other)
    assert values(run_short(tmp_path))["selftest_passed"] == 1
    assert drive.commands == ["start", "abort", "start"]


def test_a_test_that_another_program_started_is_left_alone(
    drive: TestingDrive, tmp_path: Path
) -> None:
    drive.started_s = drive.now_s
    with pytest.raises(StepFailedError, match="already running a self-test"):
        run_short(tmp_path)
    assert drive.commands == []


def test_a_drive_without_self_tests_is_no_success(drive: TestingDrive, tmp_path: Path) -> None:
    drive.supported = False
    with pytest.raises(StepFailedError, match="the drive has no self-test"):
        run_short(tmp_path)
    assert drive.commands == []


def test_a_test_that_was_ended_early_says_nothing(drive: TestingDrive, tmp_path: Path) -> None:
    drive.result = 0x25
    with pytest.raises(StepFailedError, match="ended early: ended with 0x25"):
        run_short(tmp_path)


def test_a_test_without_end_is_ended(drive: TestingDrive, tmp_path: Path) -> None:
    drive.takes_s = 1e9
    with pytest.raises(StepFailedError, match="did not end within 14 minutes"):
        run_short(tmp_path)
    assert drive.commands == ["start", "abort"]
