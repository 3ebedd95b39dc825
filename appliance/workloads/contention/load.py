# SPDX-License-Identifier: Apache-2.0
"""Reading drives as a load: one after the other from a place on, past the page cache.

Each drive is read by a thread of its own, so one that fails or hangs ends its own reading only.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from appliance.errors import KaltstartError
from appliance.workloads.surface.drive import DirectDrive
from appliance.workloads.surface.slices import REQUEST_BYTES, Piece

_JOIN_S = 5.0
"""A drive that does not answer keeps its thread until it does: nothing waits for it."""


class _Ended(Exception):  # noqa: N818 - no error: the load is no longer wanted
    """The drive keeps one waiting, and nothing more is wanted of it."""


def walk_pieces(
    size_bytes: int, *, first_byte: int, goes_on: Callable[[], bool]
) -> Iterator[Piece]:
    """Requests from there on, and again from the start behind the drive's end. Pure.

    The part of a request at the end is left out: it would be shorter than the others.
    """
    count = max(1, size_bytes // REQUEST_BYTES)
    number = first_byte // REQUEST_BYTES
    while goes_on():
        start = number % count * REQUEST_BYTES
        yield Piece(start, min(REQUEST_BYTES, size_bytes - start))
        number += 1


class Load:
    """The drives at these paths are read for as long as the block lasts."""

    def __init__(self, paths: Sequence[str], *, place: float) -> None:
        """`place`: from which share of each drive on."""
        self._place = place
        self._ended = threading.Event()
        self._failed: dict[str, str] = {}
        self._threads = {
            path: threading.Thread(
                target=self._read, args=(path,), name=f"load {path}", daemon=True
            )
            for path in paths
        }

    @property
    def busy(self) -> int:
        """How many are being read still."""
        return sum(thread.is_alive() for thread in self._threads.values())

    @property
    def failed(self) -> dict[str, str]:
        """By path why a drive is not read any more."""
        return dict(self._failed)

    def __enter__(self) -> Self:
        for thread in self._threads.values():
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for path, thread in self._threads.items():
            thread.join(_JOIN_S)
            if thread.is_alive():
                self._failed.setdefault(path, "it does not answer")

    def _read(self, path: str) -> None:
        """In its thread."""
        try:
            with suppress(_Ended), DirectDrive(Path(path), poll=self._raise_if_ended) as drive:
                pieces = walk_pieces(
                    drive.size_bytes,
                    first_byte=int(drive.size_bytes * self._place),
                    goes_on=lambda: not self._ended.is_set(),
                )
                for answer in drive.read_run(pieces):
                    if answer.got_bytes < answer.asked_bytes:
                        self._failed[path] = "a read of it failed"
                        return
        except (KaltstartError, OSError) as error:
            self._failed[path] = str(error)

    def _raise_if_ended(self) -> None:
        if self._ended.is_set():
            raise _Ended
