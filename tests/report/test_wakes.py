"""A boot that began before its alarm is a doubt on that boot, and no other one is."""

import sqlite3
from pathlib import Path

import pytest

from appliance.report.boots.wakes import find_wake_findings
from appliance.report.export import export_campaign
from appliance.store.read.campaign import select_campaign


def set_skew(connection: sqlite3.Connection, cycle: int, skew_s: float | None) -> None:
    """Of the disk's boot with this number."""
    connection.execute(
        "UPDATE boot_sample SET wake_skew_s = ?, checksum = NULL WHERE cycle_id = (SELECT c.id"
        " FROM cycle c JOIN drive d ON d.id = c.drive_id"
        " WHERE d.serial = 'LAB-HDD-1' AND c.cycle = ?)",
        [skew_s, cycle],
    )


@pytest.mark.parametrize("skew_s", [None, -1.0, -0.4, 0.0, 240.0])
def test_the_clocks_own_seconds_and_slow_firmware_are_no_doubt(
    lab: sqlite3.Connection, skew_s: float | None
) -> None:
    set_skew(lab, 2, skew_s)
    assert find_wake_findings(select_campaign(lab, campaign_id=1)) == ()


def test_early_boots_are_named_with_how_early_they_were(
    lab: sqlite3.Connection, raw: Path, tmp_path: Path
) -> None:
    set_skew(lab, 2, -12.3)
    set_skew(lab, 5, -31.0)
    (found,) = find_wake_findings(select_campaign(lab, campaign_id=1))
    assert (found.kind, found.subject) == ("remark", "LAB-HDD-1")
    assert found.text == (
        "boot 2 began 12 s before its alarm, boot 5 began 31 s before its alarm: something else"
        " than the clock switched the machine on, and it was off for a shorter time than planned."
    )
    page = export_campaign(lab, campaign_id=1, reports=tmp_path / "reports", raw=raw)
    text = (page / "report.html").read_text()
    doubts = text.split("<h2>Doubts</h2>")[1].split("</section>")[0]
    assert found.text in doubts
    # In the table of boots and in that of their parts, on these boots alone.
    assert text.count('<span class="sub">began 12 s before its alarm</span>') == 1
    assert text.count("; began 31 s before its alarm</td>") == 1
