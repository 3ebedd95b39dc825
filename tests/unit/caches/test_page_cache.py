# SPDX-License-Identifier: Apache-2.0
"""Dropping and warming, against a kernel whose page cache is ours."""

import errno
import os
import threading
from functools import partial
from pathlib import Path

import pytest

from appliance import sysfs
from appliance.caches import page_cache
from appliance.caches.cachestat import Extent, Pages
from appliance.caches.page_cache import drop_page_cache, judge_drop, kept_open, warm_page_cache
from appliance.drive_thread import DriveThread
from appliance.errors import StepFailedError
from tests.unit.caches.conftest import PAGE, Kernel, count_open_files


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two files: four pages less a byte, and one page."""
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_bytes(bytes(4 * PAGE - 1))
    b.write_bytes(bytes(PAGE))
    return [a, b]


def test_dropped_pages_are_proof(kernel: Kernel, files: list[Path]) -> None:
    kernel.pages = {"a": (4, 0, 0)}
    kernel.on_drop = kernel.pages.clear
    dropped = drop_page_cache(files)
    assert dropped.proven
    assert dropped.reason == "cachestat: no page of 2 files and devices in RAM"
    assert kernel.drops == 1


def test_pages_that_were_busy_go_at_the_second_try(kernel: Kernel, files: list[Path]) -> None:
    kernel.pages = {"a": (4, 0, 0)}
    kernel.on_drop = lambda: kernel.pages.clear() if kernel.drops == 2 else None
    assert drop_page_cache(files).proven
    assert kernel.drops == 2


def test_pages_that_stay_are_named(kernel: Kernel, files: list[Path]) -> None:
    kernel.pages = {"a": (4, 2, 1)}
    kernel.on_drop = lambda: None
    dropped = drop_page_cache(files)
    assert not dropped.proven
    assert kernel.drops == 3
    assert dropped.reason == (
        f"1 of 2 files and devices kept pages in RAM: {files[0]}: {4 * PAGE} bytes, "
        f"{2 * PAGE} dirty, {PAGE} under writeback"
    )


def test_a_range_is_examined_alone(kernel: Kernel, files: list[Path]) -> None:
    assert drop_page_cache([Extent(files[0], PAGE, PAGE)]).proven
    assert kernel.asked == [("a", PAGE, PAGE)]


def test_programs_that_map_a_file_are_named() -> None:
    dropped = judge_drop(total=1, left=[("/a", Pages(PAGE, 0, 0), "", ("fio (pid 7)",))])
    assert not dropped.proven
    assert dropped.reason == (
        f"1 of 1 file or device kept pages in RAM: /a: {PAGE} bytes, mapped by fio (pid 7)"
    )


def test_pages_that_nothing_explains_are_said_to_be_so() -> None:
    dropped = judge_drop(total=1, left=[("/a", Pages(PAGE, 0, 0), "", ())])
    assert dropped.reason.endswith(f"/a: {PAGE} bytes, clean and not mapped")


def test_long_lists_are_cut_short() -> None:
    left = [(f"/{number}", Pages(PAGE, 0, 0), "", ()) for number in range(5)]
    assert judge_drop(total=9, left=left).reason.endswith("; and 2 more")


def test_what_a_mounted_file_system_keeps_of_its_own_is_no_data() -> None:
    kept = ("/dev/sdb", Pages(8 * PAGE, 0, 0), "ext4", ())
    dropped = judge_drop(total=3, left=[kept])
    assert dropped.proven
    assert dropped.reason == (
        "cachestat: no page of 3 files and devices in RAM, "
        f"but {8 * PAGE} bytes that ext4 keeps of its own on /dev/sdb"
    )
    assert not judge_drop(total=3, left=[kept, ("/a", Pages(PAGE, 0, 0), "", ())]).proven


@pytest.mark.parametrize(
    ("target", "pages", "owner"),
    [
        (Path("/dev/sdb"), Pages(PAGE, 0, 0), "ext4"),
        (Path("/dev/sdb"), Pages(PAGE, PAGE, 0), ""),  # another program writes
        (Path("/dev/sdb"), Pages(PAGE, 0, PAGE), ""),
        (Extent(Path("/dev/sdb"), PAGE, PAGE), Pages(PAGE, 0, 0), ""),  # test data of its own
        (Path("/mnt/a"), Pages(PAGE, 0, 0), ""),
    ],
)
def test_only_clean_pages_of_a_whole_device_are_metadata(
    monkeypatch: pytest.MonkeyPatch, target: Path | Extent, pages: Pages, owner: str
) -> None:
    monkeypatch.setattr(page_cache, "is_block_device", lambda path: path == Path("/dev/sdb"))
    monkeypatch.setattr(page_cache, "mounted_file_system", lambda _: "ext4")
    assert page_cache._metadata_owner(target, pages) == owner


def test_a_drop_without_targets_proves_nothing(kernel: Kernel) -> None:
    dropped = drop_page_cache([])
    assert not dropped.proven
    assert "nothing was looked at" in dropped.reason


def test_a_kernel_without_cachestat_leaves_a_drop_unproven(
    kernel: Kernel, files: list[Path]
) -> None:
    kernel.error = OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    dropped = drop_page_cache(files)
    assert not dropped.proven
    assert "cachestat: Function not implemented" in dropped.reason
    assert kernel.drops == 1


def test_a_target_that_has_gone_fails_the_step(kernel: Kernel, tmp_path: Path) -> None:
    with pytest.raises(StepFailedError, match="cannot be opened"):
        drop_page_cache([tmp_path / "absent"])


def test_everything_is_written_back_before_it_is_dropped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done: list[str] = []
    monkeypatch.setattr(page_cache, "flush", lambda paths: done.append(f"flush {paths}"))
    monkeypatch.setattr(sysfs, "write_text", lambda path, text: done.append(f"{text} > {path}"))
    page_cache.drop_caches([tmp_path])
    assert done == [f"flush {[tmp_path]}", "3 > /proc/sys/vm/drop_caches"]


def test_a_drive_that_hangs_while_it_is_mounted_keeps_no_other_from_being_forgotten(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The kernel waits for each file system: only what is looked at is dropped."""
    is_mounted = threading.Event()
    asked: list[str] = []
    advised: list[tuple[str, int]] = []

    def write(path: Path, text: str) -> None:
        asked.append(text)
        is_mounted.wait()

    def advise(fd: int, _start: int, _length: int, advice: int) -> None:
        advised.append((Path(f"/proc/self/fd/{fd}").readlink().name, advice))

    # No time passes before the kernel was asked, however late the thread is.
    thread = partial(DriveThread, clock=lambda: page_cache._DROP_S if asked else 0.0)
    monkeypatch.setattr(page_cache, "DriveThread", thread)
    monkeypatch.setattr(page_cache, "_held_up", [])
    monkeypatch.setattr(sysfs, "write_text", write)
    monkeypatch.setattr(os, "posix_fadvise", advise)
    (tmp_path / "file").touch()
    for _ in range(2):
        page_cache.drop_caches([tmp_path / "file"])
    assert asked == ["3"], "it is not asked again while it hangs"
    assert advised == [("file", os.POSIX_FADV_DONTNEED)] * 2
    is_mounted.set()


def test_a_warm_cache_holds_every_page(kernel: Kernel, files: list[Path]) -> None:
    kernel.pages = {"a": (4, 0, 0), "b": (1, 0, 0)}
    told: list[tuple[str, int, int]] = []
    warmed = warm_page_cache(files, progress=lambda *each: told.append(each))
    assert warmed.proven
    assert warmed.reason == f"cachestat: all {5 * PAGE} bytes of 2 files and devices in RAM"
    assert told[-1] == ("Reading into RAM", 5 * PAGE - 1, 5 * PAGE - 1)


def test_a_cache_that_lost_pages_is_not_warm(kernel: Kernel, files: list[Path]) -> None:
    kernel.pages = {"a": (3, 0, 0), "b": (1, 0, 0)}
    warmed = warm_page_cache(files)
    assert not warmed.proven
    assert warmed.reason == (
        f"cachestat: only {4 * PAGE} of {5 * PAGE} bytes stayed in RAM; not all of {files[0]}"
    )


def test_a_range_is_warm_with_every_page_it_touches(kernel: Kernel, files: list[Path]) -> None:
    kernel.pages = {"a": (2, 0, 0)}
    told: list[tuple[str, int, int]] = []
    warmed = warm_page_cache(
        [Extent(files[0], PAGE - 1, 2)], progress=lambda *each: told.append(each)
    )
    assert warmed.proven
    assert warmed.reason == f"cachestat: all {2 * PAGE} bytes of 1 file or device in RAM"
    assert told[-1] == ("Reading into RAM", 2, 2)


def test_warming_without_cachestat_is_unproven(kernel: Kernel, files: list[Path]) -> None:
    kernel.error = OSError(errno.EPERM, os.strerror(errno.EPERM))
    warmed = warm_page_cache(files)
    assert not warmed.proven
    assert "Operation not permitted" in warmed.reason


def test_warming_nothing_proves_nothing(kernel: Kernel) -> None:
    assert not warm_page_cache([]).proven


def test_a_stop_ends_warming(kernel: Kernel, files: list[Path]) -> None:
    def stop(what: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    before = count_open_files()
    with pytest.raises(KeyboardInterrupt):
        warm_page_cache(files, progress=stop)
    assert count_open_files() == before


def test_what_cannot_be_read_is_named(kernel: Kernel, tmp_path: Path) -> None:
    with pytest.raises(StepFailedError, match="cannot be opened"):
        warm_page_cache([tmp_path / "absent"])
    file = tmp_path / "a"
    file.write_bytes(bytes(10))
    with pytest.raises(StepFailedError, match="is not within"):
        warm_page_cache([Extent(file, 0, 11)])


def test_targets_are_held_open_once_each(files: list[Path]) -> None:
    before = count_open_files()
    with kept_open([files[0], Extent(files[0], PAGE, PAGE), files[1]]):
        assert count_open_files() == before + 2
    assert count_open_files() == before
