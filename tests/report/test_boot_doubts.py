# SPDX-License-Identifier: Apache-2.0
"""What speaks against a boot is a doubt on that boot, and on no other."""

import sqlite3
from pathlib import Path

import pytest

from appliance.report.boots.doubts import find_doubts
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
    assert find_doubts(select_campaign(lab, campaign_id=1)) == ()


def test_early_boots_are_named_with_how_early_they_were(
    lab: sqlite3.Connection, raw: Path, tmp_path: Path
) -> None:
    set_skew(lab, 2, -12.3)
    set_skew(lab, 5, -31.0)
    (found,) = find_doubts(select_campaign(lab, campaign_id=1))
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


@pytest.mark.parametrize(
    ("skew_s", "told"),
    [
        (5400.0, "boot 2 began 5400 s after its alarm: the alarm did not switch the machine on"),
        (-7200.0, "boot 2 the clock jumped back by 3540 s or more: when the machine was switched"),
    ],
)
def test_a_late_alarm_and_a_clock_that_jumped_are_told(
    lab: sqlite3.Connection, skew_s: float, told: str
) -> None:
    set_skew(lab, 2, skew_s)
    (found,) = find_doubts(select_campaign(lab, campaign_id=1))
    assert found.kind == "remark"
    assert found.text.startswith(told)


def test_kernel_errors_of_the_drive_mark_the_boot(
    lab: sqlite3.Connection, raw: Path, tmp_path: Path
) -> None:
    said = "I/O error, dev sda, sector 2048"
    lab.execute(
        "UPDATE boot_sample SET kernel_errors = ?, drive_celsius = 41.4, checksum = NULL"
        " WHERE cycle_id = (SELECT min(id) FROM cycle)",
        (said,),
    )
    (found,) = find_doubts(select_campaign(lab, campaign_id=1))
    assert found.text == f"boot 1: the kernel reported {said}."
    page = export_campaign(lab, campaign_id=1, reports=tmp_path / "reports", raw=raw)
    text = (page / "report.html").read_text()
    assert text.count('<span class="sub">kernel errors of the drive</span>') == 1
    assert "<td>41</td>" in text


def test_a_clock_that_was_set_back_is_told_once(lab: sqlite3.Connection) -> None:
    lab.execute("UPDATE event SET at = '2026-11-22T00:00:01.000Z' WHERE event = 'cycle-failed'")
    lab.execute("UPDATE event SET at = '2026-11-21T23:40:00.000Z' WHERE event = 'campaign-done'")
    (found,) = find_doubts(select_campaign(lab, campaign_id=1))
    assert (found.kind, found.subject) == ("remark", "the machine's clock")
    assert found.text == (
        "was set back while the campaign ran (2026-11-22 00:00:01, then 2026-11-21 23:40:00 UTC):"
        " only the order of its boots, steps and events is known."
    )


def test_a_time_that_the_stick_has_spoilt_is_left_out(lab: sqlite3.Connection) -> None:
    lab.execute("UPDATE event SET at = '2026-11-22T00:00:01.000Z' WHERE event = 'cycle-failed'")
    lab.execute("UPDATE event SET at = '' WHERE event = 'ready'")
    lab.execute("UPDATE event SET at = '2026-11-2 T00' WHERE event = 'campaign-start'")
    lab.execute("UPDATE event SET at = '2026-11-21T23:40:00.000Z' WHERE event = 'campaign-done'")
    (found,) = find_doubts(select_campaign(lab, campaign_id=1))
    assert found.subject == "the machine's clock"


def test_a_report_written_later_by_another_clock_is_no_doubt(lab: sqlite3.Connection) -> None:
    lab.execute(
        "INSERT INTO event (campaign_id, at, monotonic_s, boot_id, level, event, detail)"
        " VALUES (1, '2020-01-01T00:00:00.000Z', 12.5, '', 'info', 'report', '')"
    )
    assert find_doubts(select_campaign(lab, campaign_id=1)) == ()
