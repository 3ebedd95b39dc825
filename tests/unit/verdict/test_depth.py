# SPDX-License-Identifier: Apache-2.0
"""How deep a campaign looked at a drive: by what is stored of it, in doubt never the deeper."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.samples.model import DISCARDED, Result
from appliance.verdict.depth import Coverage, describe_depth, find_deepest
from appliance.verdict.gather import gather_evidence
from tests.report import judged
from tests.report.judged import BYPASS, GOOD, add_surface, make_rows
from tests.report.workloads import add_results, add_step, end_step

UNPROVEN = replace(BYPASS, page_cache="partial", proof="unproven", proof_reason="RAM answered")


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(make_rows(tmp_path)) as connection:
        yield connection


def depth_of(connection: sqlite3.Connection) -> tuple[str, float, str]:
    (found,) = [each for each in gather_evidence(connection, 1) if each.name == GOOD.serial]
    return found.depth, round(found.read_percent, 1), found.surface_unread


def test_boots_alone_are_a_quick_look(rows: sqlite3.Connection) -> None:
    assert depth_of(rows) == ("quick look", 0, "surface not read")


def test_a_whole_scan_is_a_surface_read(rows: sqlite3.Connection) -> None:
    add_surface(rows, GOOD, position=0, mean_mb_s=180)
    assert depth_of(rows) == ("surface read", 100, "")


def test_what_was_discarded_before_is_no_surface_read(
    rows: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A drive answers for it without a look at its flash."""
    discarded = replace(BYPASS, drive_state=f"after 1 earlier step; {DISCARDED}")
    monkeypatch.setattr(judged, "BYPASS", discarded)
    add_surface(rows, GOOD, position=0, mean_mb_s=180)
    assert depth_of(rows) == ("quick look", 0, "discarded before it was read")


def test_unreadable_bytes_were_looked_at_too(rows: sqlite3.Connection) -> None:
    add_surface(rows, GOOD, position=0, mean_mb_s=180, unreadable_bytes=65536)
    assert depth_of(rows) == ("surface read", 100, "")


@pytest.mark.parametrize(
    ("slices", "share", "reason", "percent"),
    [(100, 0.02, "", 2.0), (50, 1.0, "too hot", 50.0), (99, 1.0, "", 99.0)],
)
def test_a_part_of_it_is_a_quick_look(
    rows: sqlite3.Connection, slices: int, share: float, reason: str, percent: float
) -> None:
    add_surface(
        rows, GOOD, position=0, mean_mb_s=180, slices=slices, share=share, reason=reason
    )  # fmt: skip
    assert depth_of(rows) == ("quick look", percent, f"{percent} % of the surface read")


def test_that_slices_reach_the_end_does_not_mean_that_they_were_read(
    rows: sqlite3.Connection,
) -> None:
    """All slices are there, and the row that would tell of a sample is not."""
    add_surface(rows, GOOD, position=0, mean_mb_s=180, share=0.02)
    rows.execute("DELETE FROM result WHERE metric = 'sampled_places'")
    assert depth_of(rows)[:2] == ("quick look", 2.0)


def test_what_something_else_may_have_answered_does_not_count(rows: sqlite3.Connection) -> None:
    step = add_surface(rows, GOOD, position=0, mean_mb_s=180)
    slice_bytes = GOOD.size_bytes // 100
    add_results(
        rows, step,
        [Result("000", "app_read_bytes", slice_bytes, BYPASS),
         Result("001", "app_read_bytes", slice_bytes, UNPROVEN)],
    )  # fmt: skip
    assert depth_of(rows) == ("quick look", 99.0, "99.0 % of the surface read")


def _verify(rows: sqlite3.Connection, *, written: int, met: object = BYPASS) -> None:
    step = add_step(rows, "verify", GOOD.serial, position=5)
    assert met in {BYPASS, UNPROVEN}
    state = BYPASS if met is BYPASS else UNPROVEN
    add_results(
        rows, step,
        [Result("write", "app_write_bytes", written, BYPASS),
         Result("read", "app_read_bytes", written, state)],
    )  # fmt: skip
    end_step(rows, step, "done")


def test_a_whole_verify_is_deeper_than_a_scan(rows: sqlite3.Connection) -> None:
    add_surface(rows, GOOD, position=0, mean_mb_s=180)
    _verify(rows, written=GOOD.size_bytes)
    assert depth_of(rows) == ("written and read back", 100, "")


def test_a_verify_of_a_part_is_not(rows: sqlite3.Connection) -> None:
    _verify(rows, written=GOOD.size_bytes // 4)
    assert depth_of(rows) == ("quick look", 25.0, "25.0 % of it written and read back")


def test_nor_one_that_the_drive_may_not_have_answered(rows: sqlite3.Connection) -> None:
    _verify(rows, written=GOOD.size_bytes, met=UNPROVEN)
    assert depth_of(rows)[:2] == ("quick look", 0.0)


def test_two_halves_are_not_a_whole() -> None:
    half = Coverage("quick look", 50.0, "50.0 % of the surface read")
    assert find_deepest([half, half]) == half
    assert find_deepest([]) == Coverage()


@pytest.mark.parametrize(
    ("depth", "percent", "words"),
    [
        ("quick look", 2.0, "quick look, 2 % read"),
        ("quick look", 0.4, "quick look, 0.4 % read"),
        ("quick look", 0.01, "quick look, less than 0.1 % read"),
        ("quick look", 99.9, "quick look, 99 % read"),
        ("quick look", 0.0, "quick look, surface not read"),
        ("surface read", 100.0, "surface read"),
        ("written and read back", 100.0, "written and read back"),
    ],
)
def test_a_depth_in_words(depth: str, percent: float, words: str) -> None:
    assert describe_depth(depth, percent) == words  # type: ignore[arg-type]
