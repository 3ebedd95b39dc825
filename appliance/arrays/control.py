# SPDX-License-Identifier: Apache-2.0
"""bcache's control files, and waiting until the kernel has acted on them.

Nearly all of them, reading included, take the one lock that the kernel holds while it registers,
attaches or frees a device (bch_register_lock in drivers/md/bcache), and it waits for the drives
meanwhile: with a drive that does not answer, the caller waits as long and cannot be killed. So
call them only in a `DriveThread`, or in a thread that nothing waits for.
"""

import time
from collections.abc import Callable
from pathlib import Path

from appliance.progress import Progress
from appliance.run import run
from appliance.sysfs import read_text, write_text

BLOCK = Path("/sys/block")
SETS = Path("/sys/fs/bcache")

_LOOK_EVERY_S = 0.2
POWER_CYCLE_HINT = "switch the machine off and on, then resume"


def read(path: Path) -> str:
    """The file's text; empty where it is not there."""
    return read_text(path)


def write(path: Path, text: str) -> None:
    """Give the kernel `text`. Raises StepFailedError where it refuses."""
    write_text(path, text)


def block(name: str) -> Path:
    """What the kernel shows of a block device."""
    return BLOCK / name


def control(drive: str) -> Path:
    """The control files of a member, by the kernel's name of the drive."""
    return block(drive) / "bcache"


def set_folder(set_uuid: str) -> Path:
    """The control files of a cache set."""
    return SETS / set_uuid.lower()


def linked(path: Path) -> str:
    """The last part of where a link leads; empty where there is none. Takes no lock."""
    try:
        return path.readlink().name
    except OSError:
        return ""


def register(path: str) -> None:
    """Let the kernel take up a member. Raises StepFailedError, with the reason in its log."""
    if not SETS.is_dir():
        run(["modprobe", "bcache"])
    write(SETS / "register", path)


def wait_until(
    reached: Callable[[], bool], *, text: Callable[[], str], timeout_s: float, tell: Progress
) -> bool:
    """Look until it is so; False when it was not in time. `text` is what is waited for."""
    end_s = time.monotonic() + timeout_s
    while not reached():
        if time.monotonic() > end_s:
            return False
        tell(text(), 0, 0)
        time.sleep(_LOOK_EVERY_S)
    return True
