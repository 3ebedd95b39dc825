# SPDX-License-Identifier: Apache-2.0
"""Reporting a part's progress from within loops that are timed or use the drive.

Distinguishes what a stop, or the stick, raises in the midst of it: it is no failure of the drive.
"""

import errno
import time
from collections.abc import Iterator
from contextlib import contextmanager

from appliance.errors import StepFailedError, blame_of
from appliance.phrases import N_, Phrase
from appliance.progress import Progress

_POLL_S = 0.2


class ProgressMeter:
    """Seldom enough to cost nothing in a timed loop."""

    def __init__(self, progress: Progress, what: str) -> None:
        self._progress = progress
        self._what = what
        self._done = self._total = 0
        self._next_s = 0.0
        self.raised: BaseException | None = None
        """What the progress has raised: to be raised again unchanged, whatever came of it."""

    def tell(self, done: int, total: int) -> None:
        """So far it is. Raises what a stop raises."""
        self._done, self._total = done, total
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        self._next_s = now_s + _POLL_S
        try:
            self._progress(self._what, done, total)
        except BaseException as error:
            self.raised = error
            raise

    def repeat(self) -> None:
        """Report the same progress again: for waits. Raises what a stop raises."""
        self.tell(self._done, self._total)

    @contextmanager
    def on_drive(self, what: str, *, full: StepFailedError | None = None) -> Iterator[None]:
        """Around using files of the drive: raises StepFailedError for what the system refuses.

        `what` failed then; `full` is raised where the file system has no room left.
        """
        try:
            yield
        except OSError as error:
            if error is self.raised:
                raise
            if full is not None and error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise full from None
            message = Phrase(N_("{what} failed: {error}"), what=what, error=error.strerror)
            raise StepFailedError(message, blame=blame_of(error)) from error

    def handle(self) -> int:
        """SQLite's progress handler: nothing may be raised through C, so it is kept for later."""
        try:
            self.repeat()
        except BaseException:  # noqa: BLE001 - open_database raises it again
            return 1
        return 0
