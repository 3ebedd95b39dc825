# SPDX-License-Identifier: Apache-2.0
"""Which drive is which: its activity light blinks as it is read, and its slot's own light is lit.

Reads at most SECONDS long, past the page cache, and stores nothing. Never while a campaign runs:
requests for it are refused then. A drive that hangs blocks nothing: its thread is left behind.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from appliance import sysfs
from appliance.caches.direct import DirectFile, make_buffer
from appliance.drives.facts.location import find_slot_folder
from appliance.drives.model import Drive
from appliance.errors import StepFailedError

SECONDS = 20
_BEAT_S = 0.5
"""Reading, and as long nothing: quicker than the heartbeat of a slot that is lit for a fault."""
_READ_BYTES = 1 << 20
_STRIDE_BYTES = 64 << 20
"""From read to read: what lies in the drive's own cache may not reach its light."""
_END_S = 2.0


@contextmanager
def blinking(drive: Drive, *, sys: Path = Path("/sys")) -> Iterator[Callable[[], str]]:
    """Within it the lights show the drive. Gives why it cannot be read; empty as long as it can."""
    stop = threading.Event()
    trouble: list[str] = []
    thread = threading.Thread(
        target=partial(_read_in_beats, drive, stop, trouble), name="blinking", daemon=True
    )
    thread.start()
    try:
        with _slot_lit(drive, sys=sys):
            yield lambda: "".join(trouble[:1])
    finally:
        stop.set()
        thread.join(_END_S)


def _read_in_beats(drive: Drive, stop: threading.Event, trouble: list[str]) -> None:
    buffer = make_buffer(_READ_BYTES)
    offset, room = 0, max(drive.size_bytes - _READ_BYTES, 1)
    try:
        with DirectFile(Path(drive.path)) as file:
            while not stop.is_set():
                until_s = time.monotonic() + _BEAT_S
                while time.monotonic() < until_s and not stop.is_set():
                    os.preadv(file.fileno(), [buffer], offset)
                    offset = (offset + _STRIDE_BYTES) % room // _READ_BYTES * _READ_BYTES
                stop.wait(_BEAT_S)
    except OSError as error:
        trouble.append(error.strerror or str(error))
    except StepFailedError as error:
        trouble.append(str(error))


@contextmanager
def _slot_lit(drive: Drive, *, sys: Path) -> Iterator[None]:
    """The light of its slot, where an enclosure has one for that and it is not lit already."""
    folder = find_slot_folder(drive.name, sys=sys)
    switch = folder / "locate" if folder else None
    if switch is None or sysfs.read_text(switch) != "0":
        yield
        return
    with suppress(StepFailedError):  # the enclosure may refuse; the drive's light is enough
        sysfs.write_text(switch, "1")
    try:
        yield
    finally:
        with suppress(StepFailedError):
            sysfs.write_text(switch, "0")
