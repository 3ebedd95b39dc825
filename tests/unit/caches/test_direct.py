# SPDX-License-Identifier: Apache-2.0
"""Reads past the page cache; the drive is a file, where its file system knows O_DIRECT."""

import errno
import os
from pathlib import Path

import pytest

from appliance.caches.cachestat import Extent
from appliance.caches.direct import DirectFile, make_buffer
from appliance.errors import StepFailedError
from tests.unit.caches.conftest import count_open_files

BLOCK = 4096


@pytest.fixture
def content(tmp_path: Path) -> bytes:
    """Three blocks and a bit, which lie in `tmp_path / "a"`."""
    data = os.urandom(3 * BLOCK + 100)
    (tmp_path / "a").write_bytes(data)
    return data


@pytest.fixture(autouse=True)
def plain_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where tests run, the file system need not know O_DIRECT; drives are 4K here."""
    monkeypatch.setattr(os, "O_DIRECT", 0)
    monkeypatch.setattr("appliance.caches.direct._logical_block_bytes", lambda _: BLOCK)


def test_a_whole_file_is_read_to_its_last_byte(tmp_path: Path, content: bytes) -> None:
    told: list[int] = []
    buffer = make_buffer(2 * BLOCK)
    with DirectFile(tmp_path / "a") as file:
        assert file.size_bytes == len(content)
        assert file.read_all(buffer, poll=told.append) == len(content)
        assert file.read_all(buffer) == len(content)
    assert told == [2 * BLOCK, len(content)]
    assert buffer[: BLOCK + 100] == content[2 * BLOCK :]


def test_a_range_is_read_and_no_more(tmp_path: Path, content: bytes) -> None:
    buffer = make_buffer(4 * BLOCK)
    with DirectFile(Extent(tmp_path / "a", BLOCK, BLOCK)) as file:
        assert file.read_all(buffer) == BLOCK
    assert buffer[:BLOCK] == content[BLOCK : 2 * BLOCK]
    assert not any(buffer[BLOCK:])
    with DirectFile(Extent(tmp_path / "a", 2 * BLOCK)) as file:
        assert file.size_bytes == BLOCK + 100


@pytest.mark.parametrize(("offset", "length"), [(512, BLOCK), (0, 512)])
def test_ranges_off_the_blocks_are_refused(
    tmp_path: Path, content: bytes, offset: int, length: int
) -> None:
    before = count_open_files()
    with (
        pytest.raises(StepFailedError, match=r"is not aligned to the 4096 bytes of a block"),
        DirectFile(Extent(tmp_path / "a", offset, length)),
    ):
        pass
    assert count_open_files() == before


def test_ranges_beyond_the_end_are_refused(tmp_path: Path, content: bytes) -> None:
    with (
        pytest.raises(StepFailedError, match="is not within"),
        DirectFile(Extent(tmp_path / "a", 0, 4 * BLOCK)),
    ):
        pass


def test_a_buffer_must_be_made_of_blocks(tmp_path: Path, content: bytes) -> None:
    with (
        DirectFile(tmp_path / "a") as file,
        pytest.raises(ValueError, match="not made of whole blocks"),
    ):
        file.read_all(make_buffer(512))


def test_a_file_system_without_o_direct_is_named(
    tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, flags: int) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")

    with monkeypatch.context() as patch:  # pytest itself opens the folder when it takes it away
        patch.setattr(os, "open", refuse)
        with (
            pytest.raises(StepFailedError, match=r"/a cannot be read past .* not support O_DIRECT"),
            DirectFile(tmp_path / "a"),
        ):
            pass


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.EINVAL, r"does not support O_DIRECT"),  # some find out only here
        (errno.EIO, r"/a cannot be read at byte 0: Input/output error"),
    ],
)
def test_a_drive_that_fails_is_named(
    tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch, number: int, says: str
) -> None:
    def fail(fd: int, buffers: list[memoryview], offset: int) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "preadv", fail)
    with DirectFile(tmp_path / "a") as file, pytest.raises(StepFailedError, match=says):
        file.read_all(make_buffer(BLOCK))


def test_a_file_that_shrank_is_named(tmp_path: Path, content: bytes) -> None:
    with DirectFile(tmp_path / "a") as file:
        os.truncate(tmp_path / "a", BLOCK)
        with pytest.raises(StepFailedError, match=rf"ended at byte {BLOCK}, not {len(content)}"):
            file.read_all(make_buffer(BLOCK))


def test_an_absent_file_cannot_be_opened(tmp_path: Path) -> None:
    with (
        pytest.raises(StepFailedError, match=r"/absent cannot be opened: No such file"),
        DirectFile(tmp_path / "absent"),
    ):
        pass
