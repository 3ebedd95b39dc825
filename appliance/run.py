# SPDX-License-Identifier: Apache-2.0
"""The only place that starts a process.

Commands are lists, never shell lines. A failure is reported once, with the command to repeat it.
"""

import errno
import math
import os
import select
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from appliance.errors import KaltstartError, StepFailedError, UnreadableProgramError
from appliance.phrases import N_, Phrase

_ANSWER_S = 60.0
_END_PATIENCE_S = 10
_ASK_EVERY_S = 0.5
# A process that waits for its drive ends only when the drive answers, killed or not.
_GROUP_PATIENCE_S = 60.0
_LOOK_EVERY_S = 0.05
_LOOK_SELDOM_S = 1.0
# How soon a thread that waits for a command hears that it was left behind.
_HEAR_EVERY_S = 1.0
_this_thread = threading.local()
# What exec ends with where the file system the program lies on, or the medium below it, is broken.
_OF_THE_MEDIUM = frozenset(
    {errno.EIO, errno.ENODEV, errno.ENXIO, errno.ENOEXEC, errno.EUCLEAN, errno.EBADMSG}
)


class StillRunningError(KaltstartError):
    """A process that was killed does not end: what it works on is not free yet.

    Nothing more may be done with its drive for now, so this is no failure of a step.
    """

    exit_code = 4


@contextmanager
def unlimited() -> Iterator[None]:
    """Commands of this thread take what they take, for as long as the block lasts.

    For a thread that another one watches. A time that a command is given still holds, but one that
    is ended is waited for until it has: it may still be at its drive.
    """
    _this_thread.is_unlimited = True
    try:
        yield
    finally:
        _this_thread.is_unlimited = False


def _limit(seconds: float) -> float:
    return math.inf if getattr(_this_thread, "is_unlimited", False) else seconds


@dataclass(frozen=True, slots=True)
class Finished:
    """What a process left behind."""

    command: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str


def run(
    command: Sequence[str],
    *,
    check: bool = True,
    timeout_s: float | None = None,
    stdin: str = "",
) -> Finished:
    """Run `command` to its end.

    `timeout_s` None: a minute, or as long as it takes within `unlimited`. Raises StepFailedError
    when it cannot be started, does not end in time, or (with `check`) exits with anything but 0;
    UnreadableProgramError when it cannot be read from where it is installed; StillRunningError when
    it does not even end when it is killed.
    """
    limit_s = _limit(_ANSWER_S) if timeout_s is None else timeout_s
    words = tuple(command)
    try:
        # No `with`: leaving it would wait for the process, however long.
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=os.environ | {"LC_ALL": "C.UTF-8"},
        )
    except OSError as error:
        raise _not_started(words[0], error) from error
    try:
        stdout, stderr = _communicate(process, stdin, timeout_s=limit_s)
    except subprocess.TimeoutExpired:
        _kill(process, words)
        raise StepFailedError(
            Phrase(
                N_("no answer within {seconds} s: {command}"),
                seconds=f"{limit_s:.0f}",
                command=shlex.join(words),
            )
        ) from None
    except BaseException:
        _kill(process, words)
        raise
    done = Finished(words, process.returncode, stdout, stderr)
    if check and done.returncode != 0:
        reason = (done.stderr or done.stdout).strip().splitlines()
        raise StepFailedError(
            Phrase(
                N_("{command} failed with code {code}: {what}"),
                command=shlex.join(words),
                code=done.returncode,
                what=reason[-1] if reason else N_("no output"),
            )
        )
    return done


def _not_started(program: str, error: OSError) -> KaltstartError:
    if isinstance(error, FileNotFoundError):
        return StepFailedError(
            Phrase(N_("{program} is not installed"), program=program), blame="other"
        )
    message = Phrase(
        N_("{program} cannot be started: {error}"), program=program, error=error.strerror
    )
    if error.errno in _OF_THE_MEDIUM:
        return UnreadableProgramError(
            message,
            hint=N_(
                "the stick, or the drive this system was started from, has an unreadable "
                "place: switch off, check that it is plugged in firmly, switch on; if it "
                "happens again, copy the content of KALTSTART and write a new stick"
            ),
        )
    return StepFailedError(message, blame="other")


def _communicate(
    process: subprocess.Popen[str], stdin: str | None, *, timeout_s: float
) -> tuple[str, str]:
    """What it said until its end. Raises subprocess.TimeoutExpired."""
    end_s = time.monotonic() + timeout_s
    while True:
        left_s = end_s - time.monotonic()
        try:
            return process.communicate(stdin, timeout=max(0.0, min(left_s, _HEAR_EVERY_S)))
        except subprocess.TimeoutExpired:
            if left_s <= _HEAR_EVERY_S:
                raise
            stdin = None  # handed over by now, or on its way


def _kill(process: subprocess.Popen[str], words: Sequence[str]) -> None:
    def kill() -> None:
        process.kill()
        try:
            _communicate(process, None, timeout_s=_limit(_GROUP_PATIENCE_S))
        except subprocess.TimeoutExpired:
            raise _still_running(shlex.join(words)) from None

    _end_for_certain(kill)


def _end_for_certain(end: Callable[[], None]) -> None:
    """Do `end`, also where the thread is left behind in the middle of it.

    For as long as a process is at a drive, its thread is.
    """
    try:
        end()
    except StillRunningError:
        raise
    except BaseException:
        end()
        raise


def _still_running(what: str) -> StillRunningError:
    return StillRunningError(
        Phrase(N_("{what} is still running: its drive does not answer"), what=what),
        hint=N_("switch the drive off and on"),
    )


def run_watched(
    command: Sequence[str],
    *,
    poll: Callable[[], None],
    every_s: float = 0.2,
    oom_score_adj: int | None = None,
) -> Finished:
    """Run a long `command` and call `poll` until it ends; never raises for its exit code.

    What `poll` raises ends the command first: how long it may take is for `poll` to say. Nothing
    the command started is left behind. `oom_score_adj` is the kernel's (proc_pid_oom_score_adj(5)),
    inherited by all that it starts; without it the command is as precious as this program. What
    starts sessions of its own is to be run `in_pid_namespace`.

    Raises StepFailedError when it cannot be started, UnreadableProgramError, StillRunningError when
    a process of it does not end.
    """
    words = tuple(command)
    if oom_score_adj is not None:
        # Before the command's first instruction, so that nothing it starts can miss it.
        words = ("choom", "-n", str(oom_score_adj), "--", *words)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                env=os.environ | {"LC_ALL": "C.UTF-8"},
            )
        except OSError as error:
            raise _not_started(words[0], error) from error
        try:
            _await_end(process, poll, every_s=every_s)
        finally:
            _end_group(process, words)
        out.seek(0)
        err.seek(0)
        return Finished(
            words,
            process.returncode,
            out.read().decode(errors="replace"),
            err.read().decode(errors="replace"),
        )


def _await_end(
    process: subprocess.Popen[bytes], poll: Callable[[], None], *, every_s: float
) -> None:
    """Until it has ended, woken up for `poll` alone.

    `Popen.wait` with a timeout looks at the process twenty times a second, which a measurement
    beside it feels.
    """
    descriptor = os.pidfd_open(process.pid)
    try:
        ended = select.poll()
        ended.register(descriptor, select.POLLIN)
        while not ended.poll(every_s * 1000):
            poll()
    finally:
        os.close(descriptor)
    process.wait()


def in_pid_namespace(command: Sequence[str]) -> list[str]:
    """`command`, for one that starts sessions, which no signal to its process group reaches.

    However it ends, the kernel kills all that it started, and it is not gone before them
    (pid_namespaces(7)). As the first process of its namespace it gets only signals that it handles,
    and SIGKILL from outside.
    """
    return ["unshare", "--pid", "--fork", "--kill-child", "--", *command]


def _end_group(process: subprocess.Popen[bytes], words: Sequence[str]) -> None:
    """The command and what it started: asked first while it runs, then killed until none is left.

    What it started outlives it where it was killed itself, and goes on with the drive.
    """

    def end() -> None:
        if process.poll() is None:
            _ask_group(process)
        _kill_group(process, words)

    _end_for_certain(end)


def _ask_group(process: subprocess.Popen[bytes]) -> None:
    """Again and again: one that has not come to handle SIGTERM yet may not get it."""
    give_up_s = time.monotonic() + _END_PATIENCE_S
    with suppress(ProcessLookupError):
        while time.monotonic() < give_up_s:
            os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(min(_ASK_EVERY_S, _END_PATIENCE_S))
                return


def _kill_group(process: subprocess.Popen[bytes], words: Sequence[str]) -> None:
    give_up_s = time.monotonic() + _limit(_GROUP_PATIENCE_S)
    pause_s = _LOOK_EVERY_S
    while True:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            process.wait()
            return
        # The command itself counts until it is waited for; of the others init takes care.
        process.poll()
        if time.monotonic() > give_up_s:
            raise _still_running(f"a process of {shlex.join(words)}")
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _LOOK_SELDOM_S)
