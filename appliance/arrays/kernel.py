"""bcache's control files, each access with a deadline, and the waits for what follows from them.

Nearly all of them, reading included, take the one lock that the kernel holds while it registers,
attaches or frees a device (bch_register_lock in drivers/md/bcache), and it waits for the drives
meanwhile: with a drive that does not answer, whoever asks waits as long, and cannot be killed. So
each access is left to a thread of its own that is given up after a while.
"""

import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

from appliance.arrays.model import ArrayStuckError
from appliance.errors import StepFailed
from appliance.progress import Progress
from appliance.run import run
from appliance.sysfs import read_text, write_text

BLOCK = Path("/sys/block")
SETS = Path("/sys/fs/bcache")

# The kernel gives a SATA or SCSI drive 30 s for a command and tries six times (SD_TIMEOUT and
# SD_MAX_RETRIES in drivers/scsi/sd.h); resets of the link come on top.
_ANSWER_S = 300.0
_LOOK_EVERY_S = 0.2
LET_GO_HINT = "switch the machine off and on, then resume"


def silent(_text: str, _done: int, _total: int) -> None:
    """Progress for where nobody can be asked to stop."""


def read(path: Path) -> str:
    """The file's text; empty where it is not there. Raises ArrayStuckError."""
    return _bounded(lambda: read_text(path), f"reading {path}")


def write(path: Path, text: str) -> None:
    """Give the kernel `text`. Raises StepFailed where it refuses, ArrayStuckError."""
    _bounded(lambda: write_text(path, text), f"writing {text!r} to {path}")


def _bounded[T](access: Callable[[], T], what: str) -> T:
    results: list[T] = []
    errors: list[StepFailed] = []

    def work() -> None:
        try:
            results.append(access())
        except StepFailed as error:
            errors.append(error)

    thread = Thread(target=work, name="bcache", daemon=True)
    thread.start()
    thread.join(_ANSWER_S)
    if errors:
        raise errors[0]
    if thread.is_alive():
        raise ArrayStuckError(
            f"bcache does not answer ({what}, {_ANSWER_S:.0f} s)", hint=LET_GO_HINT
        )
    return results[0]


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
    """Let the kernel take up a member. Raises StepFailed, with the reason in its log."""
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
