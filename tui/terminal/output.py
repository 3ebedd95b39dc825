# SPDX-License-Identifier: Apache-2.0
"""What is drawn goes to the terminal at once as far as that takes it, the rest by a thread.

Textual hands all to a thread, because a serial line takes half a second for a page and the app must
hear keys meanwhile. That thread has to wake up and wait for its turn: after a key a fifth of the
time until something is seen.

Only lines take no more than they have room for. A virtual console draws all of it, and waits while
the kernel writes messages of its own.
"""

import os
import select
from collections.abc import Callable
from threading import RLock
from typing import TextIO

_EXACT = "surrogateescape"
"""Half a letter that is left over becomes the same bytes again."""


class Output:
    """The terminal, as Textual's writer thread has it: what it is handed may wait."""

    def __init__(self, file: TextIO) -> None:
        self._descriptor = file.fileno()
        self._encoding, self._errors = file.encoding, file.errors or "strict"
        self._at_once = _open_again(self._descriptor)
        # Textual's signal handlers write as well, at any place of what they interrupt.
        self._lock = RLock()
        # Each is changed by one thread at a time.
        self._handed = self._written = 0

    def put(self, text: str, hand: Callable[[str], None]) -> None:
        """Write what the terminal takes at once; `hand` gets what the thread is to write.

        Behind what the thread has not written yet nothing is written at once. May be called by any
        thread; two calls are not mixed.
        """
        with self._lock:
            data = text.encode(self._encoding, self._errors)
            if self._at_once is not None and self._handed == self._written:
                data = data[self._try_to_write(self._at_once, data) :]
            if data:
                self._handed += 1
                try:
                    hand(data.decode(self._encoding, _EXACT))
                except BaseException:
                    self._handed -= 1
                    raise

    def write(self, text: str) -> None:
        """Write all of it, however long the terminal takes. For the thread.

        Of a terminal that is gone nothing is said: the interface ends with it, by its reader.
        """
        data = text.encode(self._encoding, _EXACT)
        try:
            while data:
                data = data[self._write_some(data) :]
        except OSError:
            pass  # a thread that ended would leave the app waiting for it
        finally:
            self._written += 1

    def _write_some(self, data: bytes) -> int:
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:  # somebody has set what all share not to wait
            room = select.poll()
            room.register(self._descriptor, select.POLLOUT)
            room.poll()
            return 0

    def flush(self) -> None:
        """Nothing is held back."""

    def fileno(self) -> int:
        """The descriptor that waits."""
        return self._descriptor

    @staticmethod
    def _try_to_write(descriptor: int, data: bytes) -> int:
        """How many bytes it took. What fails is left to the thread, as if it had been tried."""
        try:
            return os.write(descriptor, data)
        except OSError:
            return 0


def _open_again(descriptor: int) -> int | None:
    """The same terminal, never waiting; None where it is none.

    Another opening of it: not waiting is a thing of all who share one, as the shell may.
    """
    try:
        return os.open(
            os.ttyname(descriptor), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        )
    except OSError:
        return None
