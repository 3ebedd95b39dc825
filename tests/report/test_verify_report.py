# SPDX-License-Identifier: Apache-2.0
"""What verify found, in the report: phases, ranges with addresses, and what was not read."""

import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.samples.model import LbaRange
from appliance.store.tables.steps import insert_ranges
from tests.report.database import Disk, make_database
from tests.report.pages_read import export, words_of
from tests.report.states import BYPASS
from tests.report.workloads import MB, add_results, add_step, end_step, make_results

_SIZE = 512 << 20
_POWERED = replace(BYPASS, drive_state="first step on it; power-cycled, abrupt")
_ALIAS = LbaRange("alias", 0, 256 << 20, detail=f"holds what was written to byte {256 << 20}")
_LOST = LbaRange("lost", 7 << 20, 4096, detail="what was there before the last write is there")


@pytest.fixture
def one(tmp_path: Path) -> sqlite3.Connection:
    """A campaign with one drive and nothing measured."""
    return make_database(tmp_path / "one.sqlite", disks=[Disk("A", "disk")])


def _add_verify(
    connection: sqlite3.Connection,
    *,
    ranges: Iterable[LbaRange] = (),
    phases: Iterable[str] = ("write", "read", "read-cold"),
    read_bytes: int = _SIZE,
) -> None:
    step = add_step(connection, "verify", "A", position=0)
    found = tuple(ranges)
    insert_ranges(connection, step, "read-00", found)
    for phase in phases:
        figures = {"bw_bytes_s": 95 * MB, "unreadable_bytes": 0}
        if phase == "write":
            figures["app_write_bytes"] = _SIZE
        else:
            figures["app_read_bytes"] = read_bytes
            figures["mismatch_bytes"] = sum(each.size_bytes for each in found)
        cache = _POWERED if phase == "read-cold" else BYPASS
        add_results(connection, step, make_results(phase, cache, **figures))
    end_step(connection, step, "done")


def _read(connection: sqlite3.Connection, tmp_path: Path) -> str:
    folder = export(connection, tmp_path)
    return words_of(folder)


def test_every_fault_stands_there_with_its_address(one: sqlite3.Connection, tmp_path: Path) -> None:
    _add_verify(one, ranges=[_ALIAS, _LOST])
    words = _read(one, tmp_path)
    assert f"256 MiB alias – holds what was written to byte {256 << 20}" in words
    assert f"{7 << 20} {(7 << 20) // 512} 4 KiB lost" in words
    assert "read back after the power-off 512 MiB 95.0 256 MiB 0 B" in words.replace(
        "256.0 MiB", "256 MiB"
    )
    assert "power-cycled, abrupt" in words


def test_a_good_drive_has_no_table_of_faults(one: sqlite3.Connection, tmp_path: Path) -> None:
    _add_verify(one)
    words = _read(one, tmp_path)
    assert "where something is wrong" not in words
    assert "nothing is known" not in words


def test_what_was_not_read_is_never_called_sound(one: sqlite3.Connection, tmp_path: Path) -> None:
    _add_verify(one, phases=("write",))
    assert "it was not read back to the end" in _read(one, tmp_path)


def test_a_phase_that_was_abandoned_says_what_it_left(
    one: sqlite3.Connection, tmp_path: Path
) -> None:
    _add_verify(one, phases=("write", "read"), read_bytes=_SIZE // 2)
    assert "256 MiB were not read" in _read(one, tmp_path)


def test_each_kind_of_fault_is_a_doubt(one: sqlite3.Connection, tmp_path: Path) -> None:
    again = replace(_ALIAS, detail="found after the power-off, too")
    _add_verify(one, ranges=[_ALIAS, again, _LOST, replace(_LOST, first_byte=9 << 20)])
    doubts = _read(one, tmp_path).split("Doubts", 1)[1].split("Details", 1)[0]
    assert "verify: 1 range of 256 MiB in all: holds what was written elsewhere." in doubts
    assert "verify: 2 ranges of 8 KiB in all: lost with the power." in doubts
    assert "None was found" not in doubts
