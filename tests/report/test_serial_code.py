# SPDX-License-Identifier: Apache-2.0
"""The serial number as a code on the sheet: only what a scanner would type as it is."""

import sqlite3
from pathlib import Path

import pytest

from appliance.report.export import export_campaign
from appliance.report.serial_code import draw_serial_code


def test_a_serial_number_is_a_code_without_its_text() -> None:
    code = draw_serial_code("WD-WX41A47H2291")
    assert code.startswith("<svg")
    assert "WD-WX41A" not in code
    assert code != draw_serial_code("WD-WX41A47H2292")


@pytest.mark.parametrize("serial", ["", " A", "A\x1b1", "Ä", "A" * 65, "A\n"])
def test_what_a_scanner_could_not_type_has_none(serial: str) -> None:
    assert draw_serial_code(serial) == ""


def test_a_sheet_has_it_but_not_of_a_number_in_doubt(
    tmp_path: Path, judged: sqlite3.Connection
) -> None:
    judged.execute("UPDATE campaign_drive SET serial_doubt = 'the bridge has it' WHERE slot = 0")
    folder = export_campaign(judged, campaign_id=1, reports=tmp_path / "codes", raw=tmp_path)
    sheets = (folder / "verdicts.html").read_text().split("<article")[1:]
    # LAB-ODD has a control character.
    assert ['class="code"' in sheet for sheet in sheets] == [False, True, True, True, False, True]
