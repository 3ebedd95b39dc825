# SPDX-License-Identifier: Apache-2.0
"""Nothing that a watched command started is left behind: with real processes."""

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from appliance import run as run_module
from appliance.run import StillRunningError, in_pid_namespace, run_watched

# The command's number is that of its group; what it starts does not listen to SIGTERM.
_STUBBORN = """trap '' TERM; echo $$ > "$1"; sleep 600 & sleep 600 & """


class _StopError(Exception):
    pass


def _command(pid_file: Path, then: str) -> list[str]:
    return ["sh", "-c", _STUBBORN + then, "sh", str(pid_file)]


def _assert_gone(pid_file: Path) -> None:
    with pytest.raises(ProcessLookupError):
        os.killpg(int(pid_file.read_text()), 0)


def test_what_outlives_the_command_is_ended(tmp_path: Path) -> None:
    done = run_watched(_command(tmp_path / "pid", "echo out; exit 3"), poll=lambda: None)
    assert (done.returncode, done.stdout) == (3, "out\n")
    _assert_gone(tmp_path / "pid")


def test_what_outlives_a_command_that_was_killed_is_ended(tmp_path: Path) -> None:
    done = run_watched(_command(tmp_path / "pid", "kill -KILL $$"), poll=lambda: None)
    assert done.returncode == -9
    _assert_gone(tmp_path / "pid")


def test_a_stop_ends_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop() -> None:
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
            raise _StopError

    monkeypatch.setattr(run_module, "_END_PATIENCE_S", 0.1)
    with pytest.raises(_StopError):
        run_watched(_command(tmp_path / "pid", "wait"), poll=stop)
    _assert_gone(tmp_path / "pid")


def test_a_command_is_asked_before_it_is_killed(tmp_path: Path) -> None:
    ready, asked = tmp_path / "ready", tmp_path / "asked"

    def stop() -> None:
        if ready.exists():
            raise _StopError

    script = 'trap \'echo yes > "$2"; exit\' TERM; : > "$1"; while :; do sleep 0.01; done'
    with pytest.raises(_StopError):
        run_watched(["sh", "-c", script, "sh", str(ready), str(asked)], poll=stop)
    assert asked.read_text() == "yes\n"


def test_a_command_that_comes_to_listen_late_is_asked_again(tmp_path: Path) -> None:
    """The first process of a namespace does not get what it does not handle yet."""
    asked = tmp_path / "asked"

    def stop() -> None:
        raise _StopError

    script = "sleep 1; trap 'echo yes > \"$1\"; exit' TERM; while :; do sleep 0.01; done"
    with pytest.raises(_StopError):
        run_watched(in_pid_namespace(["sh", "-c", script, "sh", str(asked)]), poll=stop)
    assert asked.read_text() == "yes\n"


def test_a_process_that_does_not_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    # As if the kernel could not deliver the signal: what waits for a drive looks like this.
    monkeypatch.setattr(run_module, "_GROUP_PATIENCE_S", 0)
    monkeypatch.setattr(os, "killpg", lambda _group, _signal: None)
    with pytest.raises(StillRunningError, match="a process of true is still running"):
        run_watched(["true"], poll=lambda: None)


def test_a_command_that_ended_on_its_own_leaves_its_code(tmp_path: Path) -> None:
    done = run_watched(["sh", "-c", "echo said >&2; exit 7"], poll=lambda: None)
    assert (done.returncode, done.stderr) == (7, "said\n")
    assert subprocess.run(["true"], check=False).returncode == 0  # no other process was ended


def test_the_kernel_is_told_whom_to_end_first() -> None:
    look = ["sh", "-c", "cat /proc/self/oom_score_adj"]  # of a process that the command started
    done = run_watched(look, poll=lambda: None, oom_score_adj=500)
    assert done.stdout == "500\n"
    assert done.command[-3:] == tuple(look)


def _find_fio(folder: Path) -> dict[int, int]:
    """The parent of each fio that works in `folder`."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            if str(folder) in (process / "cmdline").read_text():
                name, fields = (process / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
                if name == "fio":
                    found[int(process.name)] = int(fields.split()[1])
    return found


def test_workers_of_a_killed_fio_end_with_it(tmp_path: Path) -> None:
    """Each began a session, so that no signal to fio's process group reaches it."""
    job = ["--name=busy", f"--directory={tmp_path}", "--size=1M", "--rw=randread", "--rate=1M"]

    def kill_above_its_worker() -> None:
        found = _find_fio(tmp_path)
        for parent in set(found.values()) & found.keys():
            os.kill(parent, signal.SIGKILL)

    done = run_watched(
        in_pid_namespace(["fio", *job, "--time_based", "--runtime=60"]), poll=kill_above_its_worker
    )
    assert done.returncode == -signal.SIGKILL
    assert not _find_fio(tmp_path)


def test_a_command_is_not_looked_at_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """`Popen.wait` with a time looks twenty times a second, beside a measurement."""
    limits: list[float | None] = []
    polls: list[None] = []
    wait = subprocess.Popen.wait

    def note(process: "subprocess.Popen[bytes]", timeout: float | None = None) -> int:
        limits.append(timeout)
        return wait(process, timeout)

    monkeypatch.setattr(subprocess.Popen, "wait", note)
    done = run_watched(["sleep", "0.3"], poll=lambda: polls.append(None), every_s=0.1)
    assert done.returncode == 0
    assert polls
    assert set(limits) == {None}
