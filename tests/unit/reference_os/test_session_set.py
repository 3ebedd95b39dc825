# SPDX-License-Identifier: Apache-2.0
"""The session set: the same files with the same content, everywhere and for ever."""

import hashlib
from pathlib import Path

import pytest

from appliance.reference_os.session_set import (
    list_session_files,
    order_of_reading,
    read_session_set,
    write_session_set,
)

SMALL = 1 << 20
FIRST = [("00/000000", 64955), ("01/000001", 24022), ("02/000002", 176129)]
FIRST_READ = ["09/000009", "03/000003", "06/000006"]
DIGEST = "b36a7e9e50aca5918443c8ff4776de92e73963a508644a86333d09c55218ce2b"


@pytest.mark.parametrize("total", [0, 1, 4096, 4097, SMALL, 64 << 20])
def test_sizes_add_up(total: int) -> None:
    files = list_session_files(total)
    assert sum(file.size_bytes for file in files) == total
    assert all(0 < file.size_bytes <= 8 << 20 for file in files)
    # Only the last one may be cut to fit.
    assert all(file.size_bytes >= 4096 for file in files[:-1])


def _ignore(_label: str, _done: int, _total: int) -> None:
    pass


def test_names_are_unique_and_spread_over_folders() -> None:
    names = [file.name for file in list_session_files(64 << 20)]
    assert len(set(names)) == len(names)
    assert {name.split("/")[0] for name in names} == {f"{number:02d}" for number in range(64)}


def test_most_files_are_small_and_a_few_are_large() -> None:
    sizes = sorted(file.size_bytes for file in list_session_files(256 << 20))
    assert 16 << 10 < sizes[len(sizes) // 2] < 32 << 10
    assert sizes[-1] > 1 << 20


def test_the_set_is_the_same_for_ever() -> None:
    """Samples taken with different versions of this program must stay comparable."""
    files = list_session_files(SMALL)
    assert files == list_session_files(SMALL)
    assert order_of_reading(files) == order_of_reading(files)
    assert [(file.name, file.size_bytes) for file in files[:3]] == FIRST
    assert [file.name for file in order_of_reading(files)[:3]] == FIRST_READ


def test_reading_is_scattered_and_leaves_nothing_out() -> None:
    files = list_session_files(64 << 20)
    order = order_of_reading(files)
    assert set(order) == set(files)
    assert len(order) == len(files)
    assert order != files


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_session_set(tmp_path, SMALL, progress=_ignore)
    assert read_session_set(tmp_path) == SMALL


def test_the_content_is_the_same_each_time(tmp_path: Path) -> None:
    digests = set()
    for name in "ab":
        (tmp_path / name).mkdir()
        write_session_set(tmp_path / name, SMALL, progress=_ignore)
        content = b"".join(
            (tmp_path / name / file.name).read_bytes() for file in list_session_files(SMALL)
        )
        digests.add(hashlib.sha256(content).hexdigest())
    assert digests == {DIGEST}


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    write_session_set(tmp_path, SMALL, progress=_ignore)
    (tmp_path / list_session_files(SMALL)[-1].name).unlink()
    with pytest.raises(OSError, match="No such file"):
        read_session_set(tmp_path)


def test_a_file_cut_short_is_an_error(tmp_path: Path) -> None:
    """As an unclean file system leaves it."""
    write_session_set(tmp_path, SMALL, progress=_ignore)
    name = list_session_files(SMALL)[0].name
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-1])
    with pytest.raises(OSError, match=f"has {SMALL - 1} bytes instead of {SMALL}"):
        read_session_set(tmp_path)


def test_no_set_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        read_session_set(tmp_path)


def test_a_stop_is_answered_between_any_two_pieces(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []

    def stop_half_way(_label: str, done: int, total: int) -> None:
        told.append((done, total))
        if done > SMALL // 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        write_session_set(tmp_path, SMALL, progress=stop_half_way)
    assert told == sorted(told)
    assert told[-1][1] == SMALL
