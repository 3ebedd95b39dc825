"""The only place that starts a process.

Commands are lists, never shell lines. A failure is reported once, with the command to repeat it.
"""

import errno
import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from appliance.errors import KaltstartError, StepFailed, UnreadableProgram

_END_PATIENCE_S = 10
# A process that waits for its drive ends only when the drive answers, killed or not.
_GROUP_PATIENCE_S = 60
_LOOK_EVERY_S = 0.05
# What exec ends with where the file system the program lies on, or the medium below it, is broken.
_OF_THE_MEDIUM = frozenset(
    {errno.EIO, errno.ENODEV, errno.ENXIO, errno.ENOEXEC, errno.EUCLEAN, errno.EBADMSG}
)


class StillRunning(KaltstartError):
    """A process that was killed does not end: what it works on is not free yet.

    Nothing more may be done with its drive for now, so this is no failure of a step.
    """

    exit_code = 4


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
    timeout_s: float = 60,
    stdin: str = "",
) -> Finished:
    """Run `command` to its end.

    Raises StepFailed when it cannot be started, does not end within `timeout_s`, or (with `check`)
    exits with anything but 0; UnreadableProgram when it cannot be read from where it is installed;
    StillRunning when it does not even end when it is killed.
    """
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
        stdout, stderr = process.communicate(stdin, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        _kill(process, words)
        raise StepFailed(f"no answer within {timeout_s:.0f} s: {shlex.join(words)}") from None
    except BaseException:
        process.kill()
        raise
    done = Finished(words, process.returncode, stdout, stderr)
    if check and done.returncode != 0:
        reason = (done.stderr or done.stdout).strip().splitlines()
        raise StepFailed(
            f"{shlex.join(words)} failed with code {done.returncode}: "
            f"{reason[-1] if reason else 'it said nothing'}"
        )
    return done


def _not_started(program: str, error: OSError) -> KaltstartError:
    if isinstance(error, FileNotFoundError):
        return StepFailed(f"{program} is not installed", blame="other")
    said = f"{program} cannot be started: {error.strerror}"
    if error.errno in _OF_THE_MEDIUM:
        return UnreadableProgram(
            said,
            hint="the stick, or the drive this system was started from, cannot be read there: "
            "switch off, see that it is plugged in well, switch on; where it comes again, copy "
            "what is on KALTSTART and write a new stick",
        )
    return StepFailed(said, blame="other")


def _kill(process: subprocess.Popen[str], words: Sequence[str]) -> None:
    process.kill()
    try:
        process.communicate(timeout=_GROUP_PATIENCE_S)
    except subprocess.TimeoutExpired:
        raise StillRunning(
            f"{shlex.join(words)} is still running: its drive does not answer",
            hint="switch the drive off and on",
        ) from None


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
    inherited by all that it starts; without it the command is as precious as this program. Raises
    StepFailed when it cannot be started, UnreadableProgram, StillRunning when a process of it does
    not end.
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
            while True:
                try:
                    process.wait(every_s)
                    break
                except subprocess.TimeoutExpired:
                    poll()
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


def _end_group(process: subprocess.Popen[bytes], words: Sequence[str]) -> None:
    """The command and what it started: asked first while it runs, then killed until none is left.

    What it started outlives it where it was killed itself (fio's workers, for one), and goes on
    with the drive.
    """
    if process.poll() is None:
        with suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(_END_PATIENCE_S)
    give_up_s = time.monotonic() + _GROUP_PATIENCE_S
    while True:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            process.wait()
            return
        # The command itself counts until it is waited for; of the others init takes care.
        process.poll()
        if time.monotonic() > give_up_s:
            raise StillRunning(
                f"a process of {shlex.join(words)} is still running: its drive does not answer",
                hint="switch the drive off and on",
            )
        time.sleep(_LOOK_EVERY_S)
