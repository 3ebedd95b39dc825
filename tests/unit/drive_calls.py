# SPDX-License-Identifier: Apache-2.0
"""A drive whose calls do not come back, for tests of what waits for it: no process, no device."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import override

from appliance.drive_thread import DriveThread, Signs, Silence
from appliance.progress import Progress, ignore_progress


@dataclass
class StuckDrive:
    """What the kernel counts of it, and a call that waits until it is released."""

    answered: int = 0
    under_way: int = 0
    now_s: float = 1000.0
    """By the clock of the thread that waits. One passes each time progress is reported while a call
    has not come back: what the other thread does takes no time, however late it is."""
    is_free: threading.Event = field(default_factory=threading.Event)
    silences: list[Silence] = field(default_factory=list)

    def call(self) -> None:
        """As a system call: until it has come back nothing can be raised in its thread."""
        self.under_way += 1
        self.is_free.wait()
        self.under_way -= 1
        self.answered += 1

    def read_signs(self) -> Mapping[str, Signs]:
        """What anybody can read of it."""
        return {"sda": Signs((self.answered,), self.under_way)}

    def open_thread(
        self, *, limit_s: float = 1200.0, tell: Progress = ignore_progress, second_s: float = 1.0
    ) -> DriveThread:
        """The thread that works on it."""

        def pass_time(text: str, done: int, total: int) -> None:
            if self.under_way and not self.is_free.is_set():
                self.now_s += second_s
            tell(text, done, total)

        return DriveThread(
            "drive LAB-1",
            read_signs=self.read_signs,
            limit_s=limit_s,
            tell=pass_time,
            on_silence=self.silences.append,
            clock=lambda: self.now_s,
        )


class SameThread(DriveThread):
    """In the place of a thread: all is done at once, and progress is heard as it is reported."""

    def __init__(self, tell: Progress = ignore_progress) -> None:
        super().__init__("drive", read_signs=dict, limit_s=1.0, tell=tell)

    @override
    def _is_within(self) -> bool:
        return True

    @override
    def tell(self, text: str, done: int, total: int) -> None:
        self._tell(text, done, total)

    @override
    def ask[T](self, call: Callable[[], T]) -> T:
        return call()
