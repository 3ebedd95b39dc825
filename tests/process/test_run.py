"""Commands with a deadline: with real processes."""

import os
from pathlib import Path

import pytest

from appliance import run as run_module
from appliance.errors import StepFailed
from appliance.run import StillRunning, run


def test_input_output_and_code() -> None:
    done = run(["sh", "-c", "cat; echo said >&2; exit 3"], check=False, stdin="given")
    assert (done.stdout, done.stderr, done.returncode) == ("given", "said\n", 3)


def test_a_command_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    with pytest.raises(StepFailed, match=r"no answer within 1 s: sh -c"):
        run(["sh", "-c", 'echo $$ > "$1"; exec sleep 600', "sh", str(pid_file)], timeout_s=1)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_what_does_not_even_end_when_killed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    # A process that waits for its drive cannot be had here; one that keeps the pipes open is waited
    # for in the same way.
    monkeypatch.setattr(run_module, "_GROUP_PATIENCE_S", 0.5)
    with pytest.raises(StillRunning, match="does not answer"):
        run(["sh", "-c", "sleep 5 & sleep 600"], timeout_s=1)
