"""The only place that starts a process.

Commands are lists, never shell lines. A failure is reported once, with the command to repeat it.
"""

import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from appliance.errors import StepFailed


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
    exits with anything but 0.
    """
    words = tuple(command)
    try:
        done = subprocess.run(
            words,
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
            env=os.environ | {"LC_ALL": "C.UTF-8"},
        )
    except FileNotFoundError:
        raise StepFailed(f"{words[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise StepFailed(f"no answer within {timeout_s:.0f} s: {shlex.join(words)}") from None
    if check and done.returncode != 0:
        reason = (done.stderr or done.stdout).strip().splitlines()
        raise StepFailed(
            f"{shlex.join(words)} failed with code {done.returncode}: "
            f"{reason[-1] if reason else 'it said nothing'}"
        )
    return Finished(words, done.returncode, done.stdout, done.stderr)
