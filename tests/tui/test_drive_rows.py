# SPDX-License-Identifier: Apache-2.0
"""Rows of the list of drives, and their temperatures."""

from dataclasses import replace

import pytest

from tests.tui.drive_answers import ANSWERED, DISK_DETAILS, DISK_HEALTH
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD, NO_SERIAL, SSHD
from tui.drives.rows import draw_temperatures, lay_out
from tui.drives.texts import describe_health, describe_note
from tui.model.drives import DriveRow
from tui.roles import BAD, GOOD, WARNING


@pytest.fixture
def drives(engine: FakeEngine) -> tuple[DriveRow, ...]:
    """Five, of which one is the stick."""
    return engine.port().read_snapshot().drives


def test_a_row_has_two_lines_as_long_as_all_fit(drives: tuple[DriveRow, ...]) -> None:
    assert lay_out(drives, 76, 10).lines == 2
    cells = lay_out(drives, 76, 9)
    assert cells.lines == 1
    assert not [cell for row in cells.rows for cell in row if "\n" in cell.plain]


@pytest.mark.parametrize("width", [60, 76, 100, 156])
@pytest.mark.parametrize("height", [4, 20])
def test_columns_fill_the_width_and_no_serial_number_is_cut_for_a_link(
    drives: tuple[DriveRow, ...], width: int, height: int
) -> None:
    cells = lay_out((*drives[:3], drives[-1]), width, height)
    assert sum(columns + 1 for _title, columns in cells.columns) <= width
    for row in cells.rows:
        for cell, (_title, columns) in zip(row, cells.columns, strict=True):
            assert max(map(len, cell.plain.split("\n"))) <= columns
    if height > 4:
        assert "4C530001231120117142" in cells.rows[3][1].plain


@pytest.mark.parametrize(
    ("passed", "celsius", "findings", "told"),
    [
        (True, 38.0, (), "+ passed"),
        (True, 60.0, (), "! hot"),
        (True, None, ("a worn cable",), "! check"),
        (False, 70.0, (), "× FAILING"),
        (None, None, (), "not known"),
    ],
)
def test_health_is_told_by_a_sign_and_a_word(
    drives: tuple[DriveRow, ...],
    *,
    passed: bool | None,
    celsius: float | None,
    findings: tuple[str, ...],
    told: str,
) -> None:
    health = replace(DISK_HEALTH, passed=passed, temperature_celsius=celsius, limit_celsius=60.0)
    details = replace(DISK_DETAILS, findings=findings)
    drive = replace(drives[0], health=health, details=details)
    word, _, warm = lay_out([drive], 76, 10).rows[0][3].plain.partition("\n")
    assert word == told
    assert warm == ("" if celsius is None else f"{celsius:.0f} °C")


def test_a_temperature_has_the_sign_and_the_colour_of_its_distance_to_the_limit(
    drives: tuple[DriveRow, ...],
) -> None:
    warm = [
        replace(
            drive,
            health=replace(DISK_HEALTH, temperature_celsius=celsius, limit_celsius=60.0),
        )
        for drive, celsius in zip(drives, (49.0, 51.0, 60.0), strict=False)
    ]
    drawn = draw_temperatures([*warm, drives[3]], 60)
    assert [line[0] for line in drawn.plain.splitlines()] == ["+", "!", "×"]
    assert max(map(len, drawn.plain.splitlines())) <= 60
    roles = [str(span.style) for span in drawn.spans if str(span.style) in {GOOD, WARNING, BAD}]
    assert roles == [GOOD, GOOD, WARNING, WARNING, BAD, BAD]


@pytest.fixture
def asked(engine: FakeEngine) -> tuple[DriveRow, ...]:
    """Three, of which the first has answered."""
    engine.show_drives(HDD, SSHD, NO_SERIAL, asked={HDD: ANSWERED})
    found = engine.port().read_snapshot().drives
    return tuple(sorted(found, key=lambda drive: drive.health is None))


def test_few_drives_on_a_large_screen_have_a_third_line_with_what_is_to_be_known_first(
    asked: tuple[DriveRow, ...],
) -> None:
    notes = [describe_note(drive, ()) for drive in asked]
    cells = lay_out(asked, 102, 18, notes)
    assert cells.lines == 3
    third = [cell.plain.split("\n")[2] for cell in cells.rows[0]]
    assert third[1] == "5,400 rpm"
    assert third[3] == "12,345 h"
    assert third[4].startswith("! the link runs at 1.5 Gb/s")
    assert lay_out(asked, 102, 17, notes).lines == 2, "half of the height is for what is below"
    assert lay_out(asked, 76, 18, notes).lines == 2, "no column is wide enough for a note"


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("PCI 0000:00:1f.2 (ahci), ATA port 1", "ATA port 1"),
        ("slot 12, PCI 0000:03:00.0 (mpt3sas), SCSI 0:3:0", "slot 12"),
        ("slot 12", "5,400 rpm, slot 12"),
    ],
)
def test_of_a_place_that_is_cut_remains_what_tells_drives_apart(
    engine: FakeEngine, location: str, shown: str
) -> None:
    details = replace(DISK_DETAILS, location=location)
    answers = replace(ANSWERED, details=details)
    engine.show_drives(HDD, SSHD, asked={HDD: answers, SSHD: answers})
    drives = engine.port().read_snapshot().drives
    cells = lay_out(drives, 102, 18, [describe_note(drive, ()) for drive in drives])
    assert cells.rows[0][1].plain.split("\n")[2] == shown


def test_a_drive_that_is_not_offered_says_why_in_its_row(drives: tuple[DriveRow, ...]) -> None:
    stick = next(drive for drive in drives if not drive.offered)
    assert describe_note(stick, ()) == "this is the Kaltstart stick itself"
    cells = lay_out([stick], 102, 30, [describe_note(stick, ())])
    assert cells.rows[0][4].plain.endswith("\nthis is the Kaltstart stick itself")


def test_counters_are_a_table_where_they_fit(asked: tuple[DriveRow, ...]) -> None:
    health = asked[0].health
    assert health is not None
    table = describe_health(health, table_columns=40)
    assert "  reallocated sectors         0" in table
    assert "  host write           37.5 TiB" in table
    assert not [line for line in table if line.startswith("Counters:")]
    narrow = describe_health(health, table_columns=20)
    assert [line for line in narrow if line.startswith("Counters: reallocated sectors 0, ")]


def test_counters_with_the_same_doubt_share_a_line(asked: tuple[DriveRow, ...]) -> None:
    health = asked[0].health
    assert health is not None
    first, second, third, *_ = health.counters
    doubted = (replace(first, doubt="a"), replace(second, doubt="b"), replace(third, doubt="a"))
    lines = describe_health(replace(health, counters=doubted))
    assert lines[1:] == [
        "! In doubt: reallocated sectors 0, crc errors 1,203: a",
        "! In doubt: pending sectors 8: b",
    ]
