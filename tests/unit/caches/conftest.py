# SPDX-License-Identifier: Apache-2.0
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from appliance.caches import cachestat

PAGE = cachestat.PAGE_BYTES


class Kernel:
    """A page cache of our own: what cachestat says of each file, and what a drop does to it."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[int, int, int]] = {}
        self.drops = 0
        self.on_drop: Callable[[], None] = self.pages.clear
        self.asked: list[tuple[str, int, int]] = []
        self.error: OSError | None = None

    def cachestat(self, fd: int, offset: int, length: int) -> tuple[int, int, int]:
        """As the system call."""
        if self.error:
            raise self.error
        name = Path(f"/proc/self/fd/{fd}").readlink().name
        self.asked.append((name, offset, length))
        return self.pages.get(name, (0, 0, 0))

    def drop(self, _paths: object = ()) -> None:
        """As `drop_caches`."""
        self.drops += 1
        self.on_drop()


def count_open_files() -> int:
    """Descriptors of this process."""
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - with pathlib it would be len(list())


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """A kernel whose page cache is empty, in the place of the real one."""
    fake = Kernel()
    monkeypatch.setattr("appliance.caches.cachestat.call_cachestat", fake.cachestat)
    monkeypatch.setattr("appliance.caches.page_cache.drop_caches", fake.drop)
    monkeypatch.setattr("appliance.caches.page_cache._PAUSE_S", 0.0)
    return fake
