# SPDX-License-Identifier: Apache-2.0
"""A drive (or a file in its place) for a surface scan: O_DIRECT, its queue kept full."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Self, override

from appliance.caches.direct import DirectFile
from appliance.caches.direct_queue import Answer, DirectQueue
from appliance.workloads.surface.reader import ReadableDrive
from appliance.workloads.surface.slices import DEPTH, REQUEST_BYTES, Piece

_POLL_S = 0.2


class DirectDrive(ReadableDrive):
    """Open for reading from entering to leaving it, which waits for reads that are under way.

    `poll` is called at least five times a second while a drive keeps one waiting, and may raise.
    Raises StepFailedError on entering.
    """

    def __init__(self, path: Path, *, poll: Callable[[], None] = lambda: None) -> None:
        self._file = DirectFile(path)
        self._poll = poll
        self._queue: DirectQueue | None = None
        self._answered: deque[Answer] = deque()
        """Found together with one that was handed on, and not handed on yet."""
        self._stack = ExitStack()

    @property
    @override
    def size_bytes(self) -> int:
        """The drive's."""
        return self._file.size_bytes

    @property
    @override
    def block_bytes(self) -> int:
        """Its logical block."""
        return self._file.block_bytes

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            file = stack.enter_context(self._file)
            self._queue = stack.enter_context(
                DirectQueue(file.fileno(), depth=DEPTH, request_bytes=REQUEST_BYTES)
            )
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @override
    def read_run(self, pieces: Iterator[Piece]) -> Iterator[Answer]:
        """All `pieces`, in their order; see ReadableDrive."""
        queue = self._entered()
        while True:
            refused = None
            while not queue.is_full and refused is None and (piece := next(pieces, None)):
                refused = _ask(queue, piece)
            if queue.under_way and not self._answered:
                self._answered.extend(self._wait(queue))
            is_over = not self._answered
            while self._answered:
                yield self._answered.popleft()
            if refused:
                yield refused
            elif is_over:
                return

    @override
    def read_once(self, piece: Piece) -> Answer:
        """One piece alone."""
        queue = self._entered()
        return _ask(queue, piece) or self._wait(queue)[0]

    def _wait(self, queue: DirectQueue) -> list[Answer]:
        while not (answers := queue.wait(_POLL_S)):
            self._poll()
        return answers

    def _entered(self) -> DirectQueue:
        if self._queue is None:
            raise ValueError("the drive is not open")
        return self._queue


def _ask(queue: DirectQueue, piece: Piece) -> Answer | None:
    """The answer where there is one at once: the system refused to ask."""
    try:
        queue.ask(*piece)
    except OSError as error:
        return Answer(piece.first_byte, piece.size_bytes, 0, error.errno or 0, 0.0, 0.0)
    return None
