# SPDX-License-Identifier: Apache-2.0
"""The session set: the files a desktop would read while a person logs in, the same on every drive.

Sizes follow a log-normal distribution (median 24 KiB, a few large files): many small files and a
few libraries, read in an order unrelated to their place on the drive. All of it follows from the
seed.
"""

import math
import random
from dataclasses import dataclass
from pathlib import Path

from appliance.flush import flush
from appliance.phrases import N_, Phrase
from appliance.progress import Progress

_SEED = 1
_MEDIAN_BYTES = 24 << 10
_SIGMA = 1.6
_MIN_BYTES = 4 << 10
_MAX_BYTES = 8 << 20
_CHUNK_BYTES = 1 << 20
_FLUSH_BYTES = 32 << 20
_SIZE_FILE = "size"


@dataclass(frozen=True, slots=True)
class SessionFile:
    """One file of the set."""

    name: str
    size_bytes: int


def list_session_files(total_bytes: int) -> tuple[SessionFile, ...]:
    """The set's files in the order in which they are written.

    Their sizes add up to `total_bytes`.
    """
    draw = random.Random(_SEED)
    files: list[SessionFile] = []
    remaining_bytes = total_bytes
    while remaining_bytes > 0:
        size = int(draw.lognormvariate(math.log(_MEDIAN_BYTES), _SIGMA))
        size = min(max(size, _MIN_BYTES), _MAX_BYTES, remaining_bytes)
        number = len(files)
        files.append(SessionFile(f"{number % 64:02d}/{number:06d}", size))
        remaining_bytes -= size
    return tuple(files)


def order_of_reading(files: tuple[SessionFile, ...]) -> tuple[SessionFile, ...]:
    """The same files as a session would ask for them: scattered, and the same way each time."""
    order = list(files)
    random.Random(_SEED + 1).shuffle(order)
    return tuple(order)


def write_session_set(folder: Path, total_bytes: int, *, progress: Progress) -> None:
    """Write the set below `folder`."""
    done = 0
    (folder / _SIZE_FILE).write_text(str(total_bytes))
    fill = random.Random(_SEED + 2)
    for file in list_session_files(total_bytes):
        path = folder / file.name
        path.parent.mkdir(exist_ok=True)
        with path.open("wb") as out:
            for start in range(0, file.size_bytes, _CHUNK_BYTES):
                progress(N_("session set"), done + start, total_bytes)
                out.write(fill.randbytes(min(_CHUNK_BYTES, file.size_bytes - start)))
            if (done + file.size_bytes) // _FLUSH_BYTES > done // _FLUSH_BYTES:
                # A single flush of everything at the end could not be stopped.
                flush([folder])
        done += file.size_bytes


def read_session_set(folder: Path) -> int:
    """Read the set below `folder` through the page cache, as programs do; return the bytes read.

    Raises OSError.
    """
    total_bytes = int((folder / _SIZE_FILE).read_text())
    done = 0
    buffer = bytearray(_CHUNK_BYTES)
    for file in order_of_reading(list_session_files(total_bytes)):
        with (folder / file.name).open("rb", buffering=0) as source:
            while count := source.readinto(buffer):
                done += count
    if done != total_bytes:
        raise OSError(
            Phrase(
                N_("the session set has {bytes} bytes instead of {wanted}"),
                bytes=done,
                wanted=total_bytes,
            )
        )
    return done
