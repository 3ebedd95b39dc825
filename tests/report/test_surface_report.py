# SPDX-License-Identifier: Apache-2.0
"""A surface scan in the report and its files: the profile, the ranges, and what was not read."""

import csv
import json
import re
import sqlite3
from collections.abc import Iterable
from pathlib import Path

import pytest

from appliance.samples.model import LbaRange, Result, SliceSample
from appliance.store.read.workloads import RangeRow, SliceRow
from appliance.store.rows import list_columns, read_rows
from appliance.store.tables.steps import insert_part, insert_ranges, insert_slices, select_slices
from tests.databases import seal
from tests.report.database import Disk, make_database
from tests.report.pages_read import export, find_charts, words_of
from tests.report.states import BYPASS
from tests.report.test_page import HOSTILE
from tests.report.workloads import MB, add_results, add_step, end_step, make_results

_SLICE = 10 << 20
_BAD = LbaRange("unreadable", 5 * _SLICE + 4096, 8192, 3.0, "Input/output error")
_SLOW = LbaRange("slow", 2 * _SLICE, 1 << 20, 0.75, "slow again when read again")


def _add_scan(
    connection: sqlite3.Connection,
    *,
    slices: int = 100,
    ranges: Iterable[LbaRange] = (),
    whole: bool = True,
    serial: str = "A",
    **more: float,
) -> int:
    step = add_step(connection, "surface", serial, position="AB".index(serial))
    found = tuple(ranges)
    samples = [
        SliceSample(
            n, n * _SLICE, (n + 1) * _SLICE, _SLICE, 0, 80 * MB, (120 - n / 2) * MB, 130 * MB
        )
        for n in range(slices)
    ]
    for each in samples:
        add_results(
            connection,
            step,
            make_results(
                f"{each.slice:03}", BYPASS, app=each.read_bytes, bw_bytes_s=each.mean_bytes_s
            ),
        )
    insert_slices(connection, step, samples)
    insert_ranges(connection, step, "002", found)
    if whole:
        add_results(
            connection,
            step,
            make_results(
                "whole",
                BYPASS,
                bw_bytes_s=95 * MB,
                app_read_bytes=slices * _SLICE,
                unreadable_bytes=sum(e.size_bytes for e in found if e.kind == "unreadable"),
                min_slice_bytes_s=70.5 * MB,
                max_slice_bytes_s=120 * MB,
                lat_p50_ns=11e6,
                lat_p99_ns=13e6,
                slow_ranges=float(sum(e.kind == "slow" for e in found)),
                **more,
            ),
        )
    end_step(connection, step, "done" if whole else "failed")
    return step


@pytest.fixture
def one(tmp_path: Path) -> sqlite3.Connection:
    """A campaign with one drive and nothing measured."""
    return make_database(tmp_path / "one.sqlite", disks=[Disk("A", "disk")])


def _export(connection: sqlite3.Connection, tmp_path: Path) -> tuple[Path, str]:
    folder = export(connection, tmp_path)
    return folder, words_of(folder)


def test_the_profile_and_the_ranges_are_shown(one: sqlite3.Connection, tmp_path: Path) -> None:
    step = _add_scan(one, ranges=[_BAD, _SLOW])
    folder, words = _export(one, tmp_path)
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert "<h2>Surface</h2>" in text
    assert f'id="chart-surface-{step}"' in text
    assert "speed over the drive" in words
    assert "100 of 100" in words
    # In the order of the drive, by byte and by LBA.
    slow = f"{2 * _SLICE} {2 * _SLICE // 512} 1 MiB slow"
    bad = f"{_BAD.first_byte} {_BAD.first_byte // 512} 8 KiB unreadable"
    assert words.index(slow) < words.index(bad)
    assert "slow again when read again" in words
    assert "Input/output error" in words
    assert "nothing is known of the rest" not in words
    assert "surface: 1 range of 8 KiB in all: cannot be read." in words
    assert "surface: 1 range of 1 MiB in all: much slower than the rest around." in words
    assert "95.0 MB/s (slices from 70.5 to 120)" in words
    assert "11.0 ms 13.0 ms 1 bypass" in words  # how many ranges are slow is a whole number


def test_a_sound_drive_has_no_table_of_ranges(one: sqlite3.Connection, tmp_path: Path) -> None:
    _add_scan(one)
    _, words = _export(one, tmp_path)
    assert "where something is wrong" not in words
    assert "cannot be read" not in words


def test_what_was_not_read_is_said(one: sqlite3.Connection, tmp_path: Path) -> None:
    step = _add_scan(one, slices=7, ranges=[_BAD])
    for number in range(7, 100):
        insert_part(one, step, f"{number:03}", results=0)
    _, words = _export(one, tmp_path)
    assert "7 of 100" in words
    assert "only 7 of 100 slices were read" in words
    assert "nothing is known of the rest" in words


def test_a_scan_without_an_end_has_no_sum(one: sqlite3.Connection, tmp_path: Path) -> None:
    _add_scan(one, slices=3, whole=False)
    _, words = _export(one, tmp_path)
    assert "3 of 100" in words
    assert "the scan did not finish" in words
    assert "slices from" not in words


def test_a_sample_says_what_it_is_worth(one: sqlite3.Connection, tmp_path: Path) -> None:
    _add_scan(one, sampled_places=300.0)
    _, words = _export(one, tmp_path)
    assert "(slices from 70.5 to 120; a sample, with the ways to it); page cache" in words
    assert "a sample of 300 places" in words
    assert "with 95 % probability if 1.0 % of all such places are bad" in words


def test_files_have_the_views_rows(one: sqlite3.Connection, tmp_path: Path) -> None:
    step = _add_scan(one, slices=3, ranges=[_SLOW, _BAD])
    folder, _ = _export(one, tmp_path)
    for name, columns, number in (
        ("slices", list_columns(SliceRow), 3),
        ("ranges", list_columns(RangeRow), 2),
    ):
        rows = one.execute(f"SELECT * FROM {name}").fetchall()  # noqa: S608 - two names
        assert tuple(rows[0].keys()) == columns
        with (folder / f"{name}.csv").open(newline="") as file:
            found = list(csv.reader(file))
        assert tuple(found[0]) == columns
        assert len(found) == number + 1
        in_json = json.loads((folder / "results.json").read_text())[name]
        assert [dict(row) for row in rows] == in_json
    query = (
        "SELECT kind, first_byte, size_bytes, seconds, detail FROM lba_range ORDER BY first_byte"
    )
    assert tuple(read_rows(one, LbaRange, query)) == (_SLOW, _BAD)
    assert [each.slice for each in select_slices(one, step)] == [0, 1, 2]


def test_too_many_ranges_are_in_the_file(one: sqlite3.Connection, tmp_path: Path) -> None:
    _add_scan(one, ranges=[LbaRange("slow", n << 20, 4096, 0.5) for n in range(0, 500, 2)])
    folder, words = _export(one, tmp_path)
    assert "50 more ranges in ranges.csv." in words
    assert len((folder / "ranges.csv").read_text().splitlines()) == 251


def test_hostile_details_stay_text(one: sqlite3.Connection, tmp_path: Path) -> None:
    _add_scan(one, ranges=[LbaRange("unreadable", 0, 4096, 1.0, HOSTILE)])
    folder, _ = _export(one, tmp_path)
    assert "<script" not in (folder / "report.html").read_text(encoding="utf-8").lower()


def test_invalid_results_give_no_figure(one: sqlite3.Connection, tmp_path: Path) -> None:
    step = _add_scan(one, slices=2, whole=False)
    add_results(one, step, [Result("whole", "bw_bytes_s", 77 * MB, BYPASS.read(), valid=False)])
    _, words = _export(one, tmp_path)
    assert "invalid:" in words
    assert "77.0" not in words


def test_all_drives_stand_in_one_chart(verdicts: Path) -> None:
    page = (verdicts / "report.html").read_text(encoding="utf-8")
    (chart,) = [one for one in find_charts(page) if 'id="chart-surface-drives-0"' in one]
    names = set(re.findall(r'class="end">([^<]*)</text>', chart))
    assert names == {"LAB-GOOD-1", "LAB-SLOW-1", "LAB-BAD-1", "LAB-NVME-1"}
    # It is what the page of a judged campaign begins with.
    assert page.index(chart) < page.index("<h2>Verdicts</h2>")


def test_an_unfinished_scan_is_not_drawn_to_the_end(tmp_path: Path) -> None:
    two = make_database(tmp_path / "two.sqlite", disks=[Disk("A", "disk"), Disk("B", "disk")])
    _add_scan(two)
    _add_scan(two, slices=50, whole=False, serial="B")
    page = (export(two, tmp_path) / "report.html").read_text(encoding="utf-8")
    (chart,) = [one for one in find_charts(page) if 'id="chart-surface-drives-0"' in one]
    assert "A: 120 at 0.5, 70.5 at 99.5" in chart
    assert "B: 120 at 0.5, 95.5 at 49.5" in chart


def test_beside_other_drives_the_state_is_not_called_unproven(
    one: sqlite3.Connection, tmp_path: Path
) -> None:
    step = _add_scan(one)
    one.execute("UPDATE result SET beside = 3, checksum = NULL WHERE step_id = ?", (step,))
    seal(one, "result")
    _, words = _export(one, tmp_path)
    findings = words[: words.index("The rules behind")]
    assert "neither the state of the page cache" not in findings
    assert "surface: 101 of 101 figures were taken while other drives were tested" in findings
    assert "95.0 MB/s (slices" not in findings
