# SPDX-License-Identifier: Apache-2.0
"""Commands with a deadline: with real processes."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from appliance import run as run_module
from appliance.drive_thread import DriveSilentError, DriveThread, Signs, Silence
from appliance.errors import StepFailedError, StickError, UnreadableProgramError
from appliance.progress import ignore_progress
from appliance.run import StillRunningError, run, run_watched, unlimited


def test_input_output_and_code() -> None:
    done = run(["sh", "-c", "cat; echo said >&2; exit 3"], check=False, stdin="given")
    assert (done.stdout, done.stderr, done.returncode) == ("given", "said\n", 3)


@pytest.fixture
def pid_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a command puts a number: its time counts from then on, however late it begins."""
    path = tmp_path / "pid"
    communicate = run_module._communicate

    def communicate_once_begun(
        process: "subprocess.Popen[str]", stdin: str | None, *, timeout_s: float
    ) -> tuple[str, str]:
        while not (path.exists() and path.read_text()) and process.poll() is None:
            time.sleep(0.01)
        return communicate(process, stdin, timeout_s=timeout_s)

    monkeypatch.setattr(run_module, "_communicate", communicate_once_begun)
    return path


def test_a_command_that_takes_too_long_is_ended(pid_file: Path) -> None:
    with pytest.raises(StepFailedError, match=r"no answer within 1 s: sh -c"):
        run(["sh", "-c", 'echo $$ > "$1"; exec sleep 600', "sh", str(pid_file)], timeout_s=1)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_what_does_not_even_end_when_killed_is_said(
    pid_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A process that waits for its drive cannot be had here; one that keeps the pipes open is waited
    # for in the same way.
    monkeypatch.setattr(run_module, "_GROUP_PATIENCE_S", 0.5)
    hold = 'sleep 600 & echo $! > "$1"; exec sleep 600'
    with pytest.raises(StillRunningError, match="does not answer"):
        run(["sh", "-c", hold, "sh", str(pid_file)], timeout_s=1)
    os.kill(int(pid_file.read_text()), signal.SIGKILL)


def test_in_a_thread_that_is_watched_a_command_takes_what_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_module, "_ANSWER_S", 0.2)
    with unlimited():
        assert run(["sh", "-c", "cat; sleep 1; echo said"], stdin="given ").stdout == "given said\n"
    with pytest.raises(StepFailedError, match="no answer within 0 s"):
        run(["sleep", "600"])


@pytest.mark.parametrize("start", [run, lambda command: run_watched(command, poll=lambda: None)])
def test_a_thread_that_is_left_behind_ends_its_command_and_then_itself(
    start: Callable[[list[str]], object], tmp_path: Path
) -> None:
    """For as long as it is at the drive, the thread is."""
    pid_file = tmp_path / "pid"
    silences: list[Silence] = []

    def has_begun() -> bool:
        return pid_file.exists() and bool(pid_file.read_text())

    thread = DriveThread(
        "drive LAB-1",
        read_signs=lambda: {"sda": Signs((0,), 1)},
        limit_s=1.0,
        tell=ignore_progress,
        on_silence=silences.append,
        clock=lambda: 1000.0 if has_begun() else 0.0,
    )
    command = ["sh", "-c", 'echo $$ > "$1"; exec sleep 600', "sh", str(pid_file)]
    with pytest.raises(DriveSilentError), thread as hand:
        hand.do(lambda: start(command), "clearing")
    while silences[0].is_held():
        time.sleep(0.01)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def _watch(command: list[str]) -> object:
    return run_watched(command, poll=lambda: None)


@pytest.mark.parametrize("start", [run, _watch])
def test_a_program_that_is_damaged_is_trouble_with_what_it_was_read_from(
    start: Callable[[list[str]], object], tmp_path: Path
) -> None:
    program = tmp_path / "program"
    program.write_bytes(bytes(4096))
    program.chmod(0o755)
    with pytest.raises(
        UnreadableProgramError, match=r"program cannot be started: Exec format"
    ) as told:
        start([str(program)])
    assert isinstance(told.value, StickError), "no drive is to be given up for it"
    assert "plugged in firmly" in told.value.hint


@pytest.mark.parametrize("start", [run, _watch])
@pytest.mark.parametrize(
    ("program", "said"),
    [("/nowhere/at-all", "is not installed"), ("/", "cannot be started: Permission denied")],
)
def test_a_program_that_cannot_be_had_fails_the_step_and_not_the_drive(
    start: Callable[[list[str]], object], program: str, said: str
) -> None:
    with pytest.raises(StepFailedError, match=said) as told:
        start([program])
    assert told.value.blame == "other"
