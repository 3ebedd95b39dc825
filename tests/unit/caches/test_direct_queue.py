# SPDX-License-Identifier: Apache-2.0
"""Reads under way at once, on real files."""

import errno
import os
import tempfile
from pathlib import Path

import pytest

from appliance.caches.direct import DirectFile
from appliance.caches.direct_queue import Answer, DirectQueue
from appliance.errors import StepFailedError

_SIZE = 1 << 20
_REQUEST = 64 << 10


def _read_all(queue: DirectQueue, size_bytes: int) -> list[Answer]:
    answers: list[Answer] = []
    for start in range(0, size_bytes, _REQUEST):
        if queue.is_full:
            answers += queue.wait(5)
        queue.ask(start, _REQUEST)
    while queue.under_way:
        answers += queue.wait(5)
    return answers


def test_all_is_read_once_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(_SIZE))
    with (
        DirectFile(path) as file,
        DirectQueue(file.fileno(), depth=4, request_bytes=_REQUEST) as queue,
    ):
        answers = _read_all(queue, _SIZE)
        assert queue.wait(0) == []
    assert sorted(each.first_byte for each in answers) == list(range(0, _SIZE, _REQUEST))
    assert {each.got_bytes for each in answers} == {_REQUEST}
    assert {each.errno for each in answers} == {0}
    assert all(0 <= each.seconds <= each.latency_s for each in answers)


def test_beyond_the_end_there_is_less_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(_REQUEST + 4096))
    with (
        DirectFile(path) as file,
        DirectQueue(file.fileno(), depth=2, request_bytes=_REQUEST) as queue,
    ):
        answers = _read_all(queue, 2 * _REQUEST)
    assert [(each.asked_bytes, each.got_bytes, each.errno) for each in answers] == [
        (_REQUEST, _REQUEST, 0),
        (_REQUEST, 4096, 0),
    ]


def test_what_the_system_refuses_is_an_error_of_that_read_alone() -> None:
    # On a disk: a file system in RAM, where tmp_path may be, takes reads that are not aligned.
    with (
        tempfile.NamedTemporaryFile(dir="/var/tmp") as made,
        DirectFile(_fill(Path(made.name))) as file,
        DirectQueue(file.fileno(), depth=2, request_bytes=_REQUEST) as queue,
    ):
        assert _find_errno(queue) == errno.EINVAL
        assert not queue.under_way
        assert [each.got_bytes for each in _read_all(queue, _REQUEST)] == [_REQUEST]


def _fill(path: Path) -> Path:
    path.write_bytes(bytes(_SIZE))
    return path


def test_a_read_of_what_is_closed_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(_SIZE))
    with DirectFile(path) as file:
        number = file.fileno()
    with DirectQueue(number, depth=2, request_bytes=_REQUEST) as queue:
        with pytest.raises(OSError, match="Bad file descriptor") as caught:
            queue.ask(0, _REQUEST)
        assert caught.value.errno == errno.EBADF
        assert not queue.under_way


def test_a_queue_longer_than_the_kernel_allows_is_an_error_in_words(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(_SIZE))
    depth = int(Path("/proc/sys/fs/aio-max-nr").read_text()) + 1
    with (
        DirectFile(path) as file,
        pytest.raises(StepFailedError, match="io_setup failed: Resource temporarily unavailable"),
        DirectQueue(file.fileno(), depth=depth, request_bytes=512),
    ):
        pass


def test_a_read_larger_than_the_buffer_is_a_bug(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(_SIZE))
    with (
        DirectFile(path) as file,
        DirectQueue(file.fileno(), depth=2, request_bytes=_REQUEST) as queue,
        pytest.raises(ValueError, match="more than"),
    ):
        queue.ask(0, 2 * _REQUEST)


def _find_errno(queue: DirectQueue) -> int | None:
    """Of a read that is not aligned: the kernel refuses some at once."""
    try:
        queue.ask(1, 4096)
    except OSError as error:
        return error.errno
    return queue.wait(5)[0].errno
