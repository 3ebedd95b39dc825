# SPDX-License-Identifier: Apache-2.0
"""cachestat(2): the real one where this kernel has it, else what a kernel without it leads to."""

import errno
import os
from pathlib import Path

import pytest

from appliance.caches.cachestat import (
    PAGE_BYTES,
    Extent,
    Pages,
    PagesUnknownError,
    page_stats,
    range_in,
    resident_bytes,
)
from appliance.errors import StepFailedError
from tests.unit.caches.conftest import Kernel


def test_a_file_just_written_is_in_ram(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(bytes(3 * PAGE_BYTES + 1))
    try:
        whole = page_stats(file)
    except PagesUnknownError as error:
        pytest.skip(error.message)
    assert whole.resident_bytes == 4 * PAGE_BYTES
    assert page_stats(file, offset=PAGE_BYTES, length=PAGE_BYTES).resident_bytes == PAGE_BYTES
    assert page_stats(file, offset=PAGE_BYTES - 1, length=2).resident_bytes == 2 * PAGE_BYTES
    assert page_stats(file, offset=9 * PAGE_BYTES).resident_bytes == 0
    assert resident_bytes([file, Extent(file, 0, 1)]) == 5 * PAGE_BYTES


def test_pages_are_counted_in_bytes(kernel: Kernel, tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.touch()
    kernel.pages["a"] = (5, 3, 1)
    assert page_stats(file, offset=8, length=9) == Pages(
        5 * PAGE_BYTES, 3 * PAGE_BYTES, 1 * PAGE_BYTES
    )
    assert kernel.asked == [("a", 8, 9)]


def test_a_kernel_without_the_call_says_so(kernel: Kernel, tmp_path: Path) -> None:
    kernel.error = OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    file = tmp_path / "a"
    file.touch()
    with pytest.raises(
        PagesUnknownError, match=r"/a is not known: cachestat: Function not implemented"
    ):
        page_stats(file)


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StepFailedError, match=r"/absent cannot be opened: No such file") as caught:
        page_stats(tmp_path / "absent")
    assert not isinstance(caught.value, PagesUnknownError)


def test_ranges_lie_within_their_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(100))
    with path.open("rb") as file:
        assert range_in(file.fileno(), Extent(path)) == (0, 100)
        assert range_in(file.fileno(), Extent(path, 60)) == (60, 100)
        assert range_in(file.fileno(), Extent(path, 60, 40)) == (60, 100)
        for outside in (Extent(path, 60, 41), Extent(path, 101), Extent(path, -1, 5)):
            with pytest.raises(StepFailedError, match=r"is not within the 100 bytes of /.*/a"):
                range_in(file.fileno(), outside)


def test_extents_are_named_by_their_bytes() -> None:
    device = Path("/dev/sdb")
    assert str(Extent(device)) == "/dev/sdb"
    assert str(Extent(device, 512)) == "/dev/sdb[512..end]"
    assert str(Extent(device, 512, 512)) == "/dev/sdb[512..1024]"
