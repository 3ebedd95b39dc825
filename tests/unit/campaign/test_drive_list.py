"""The rows of drives.json, and how the command line shows them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.campaign.drive_lines import describe_row
from appliance.campaign.drive_list import compose_rows, merge_rows
from appliance.drives.asking import Answer
from tests.unit.drives.single import Single, load_single


@pytest.fixture
def disk(tmp_path: Path) -> Single:
    return load_single("sata-disk", tmp_path)


def test_a_row_before_anything_was_asked(disk: Single) -> None:
    (row,) = compose_rows([disk.drive], {}, {}, stick=disk.drive)
    assert (row["answer"], row["details"], row["health"]) == ("asking", None, None)
    assert not row["offered"], "it is the stick here"


def test_rows_are_json_with_all_that_was_said(disk: Single) -> None:
    (row,) = compose_rows([disk.drive], {disk.drive.path: disk.answer()}, {}, stick=None)
    read = json.loads(json.dumps(row))
    assert read["answer"] == "answered"
    assert read["details"]["rotation_rpm"] == 7200
    assert {each["name"] for each in read["health"]["counters"]} >= {"power_cycles"}


def test_answers_go_with_the_drive_that_gave_them(disk: Single) -> None:
    known = compose_rows([disk.drive], {disk.drive.path: disk.answer()}, {}, stick=None)
    (same,) = merge_rows([disk.drive], known, stick=None)
    assert same["answer"] == "answered"
    (other,) = merge_rows([replace(disk.drive, serial="ANOTHER")], known, stick=None)
    assert (other["answer"], other["details"], other["serial"]) == ("asking", None, "ANOTHER")


def test_lines_for_people(disk: Single) -> None:
    (row,) = compose_rows([disk.drive], {disk.drive.path: disk.answer()}, {}, stick=None)
    head, facts, finding = describe_row(row)
    assert disk.drive.serial in head
    assert facts.strip().startswith("512n, 7200 rpm, 1.5 Gb/s, write cache on, no TRIM")
    assert finding.strip().startswith("! connected with 1.5 Gb/s")


def test_a_silent_drive_says_so_and_nothing_of_it_acts_on_a_terminal(disk: Single) -> None:
    drive = replace(disk.drive, serial="\x1b[31mX", model="\x07")
    answer = Answer("not answering", "no answer within 15 s\x1b[0m")
    (row,) = compose_rows([drive], {drive.path: answer}, {}, stick=None)
    lines = describe_row(row)
    assert "not answering: no answer within 15 s" in lines[1]
    assert not any(character < " " for line in lines for character in line)
