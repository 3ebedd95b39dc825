# SPDX-License-Identifier: Apache-2.0
"""What a page says first, and where the rest of it is."""

import re
import shutil
import sqlite3
from pathlib import Path

import pytest

from appliance.report.answer import split_findings
from appliance.report.boots.findings import Finding
from appliance.report.export import export_campaign
from tests.report.database import LAB, Boot, Disk, make_boots, make_database
from tests.report.pages_read import export, find_charts, words_of

CHART = Path(__file__).parents[1] / "fixtures/bootchart/debian-12-read.svg"


def _sentence(folder: Path) -> str:
    page = (folder / "report.html").read_text(encoding="utf-8")
    (found,) = re.findall(r'<p class="sentence">(.*)</p>', page)
    return re.sub(r"</?span[^>]*>", "", found)


def _export(tmp_path: Path, *disks: Disk) -> Path:
    tmp_path.mkdir(exist_ok=True)
    connection = make_database(tmp_path / "a.sqlite", disks=disks)
    folder = export(connection, tmp_path)
    connection.close()
    return folder


def test_a_gain_is_the_answer_and_its_chart_the_first(report: Path) -> None:
    assert _sentence(report) == (
        "LAB-SSHD-1 starts in 27.5 s from boot 2 on, 1.7 times (1.6 to 1.7) as fast as at its first"
        " boot. LAB-HDD-1 and LAB-SSD-1: no gain."
    )
    page = (report / "report.html").read_text(encoding="utf-8")
    assert "Cold boots: 5 proven, 12 unproven." in page
    assert page.index('class="sentence"') < page.index('id="chart-boot-times"')
    assert page.index('id="chart-boot-times"') < page.index("<h2>Doubts</h2>")
    # What is folded comes after all that is not.
    assert page.index(">Details</h2>") < page.index("<summary><h2>")


def test_a_gain_without_a_control_drive_says_so(tmp_path: Path) -> None:
    said = "There is no control drive, so the machine itself may have changed."
    assert said in words_of(_export(tmp_path, LAB[1]))
    assert said not in words_of(_export(tmp_path / "b", *LAB))


def test_no_gain_is_an_answer_too(tmp_path: Path) -> None:
    assert _sentence(_export(tmp_path, LAB[0])) == "No gain from repeating: LAB-HDD-1 (106.2 s)."


def test_a_small_gain_is_not_called_none(tmp_path: Path) -> None:
    small = Disk("A", "disk", boots=make_boots(22.0, 20.4, 20.5, 20.5, 20.4, 20.5))
    assert _sentence(_export(tmp_path, small)) == (
        "No gain as large as 10 % from repeating: A (20.5 s)."
    )
    assert _sentence(_export(tmp_path / "b", small, LAB[1])) == (
        "LAB-SSHD-1 starts in 27.5 s from boot 2 on, 1.7 times (1.6 to 1.7) as fast as at its first"
        " boot. A: no gain as large as 10 %."
    )


def test_what_is_not_settled_is_no_answer_yet(tmp_path: Path) -> None:
    folder = _export(tmp_path, Disk("A", "disk", boots=make_boots(40.0, 30.0)))
    assert _sentence(folder) == "Not decided yet: A (30.0 to 40.0 s)."
    assert "gain" not in words_of(folder).split("Doubts")[0]


def test_many_drives_are_counted_and_not_named(tmp_path: Path) -> None:
    disks = [
        Disk(f"D{number}", "disk", boots=make_boots(*(20.0 + number,) * 6)) for number in range(9)
    ]
    assert _sentence(_export(tmp_path, *disks)) == (
        "No gain from repeating: 9 drives, 20.0 to 28.0 s."
    )


def test_many_gains_are_one_sentence(tmp_path: Path) -> None:
    disks = [
        Disk(f"D{number}", "disk", boots=make_boots(36.0, *(20.0 + number,) * 6))
        for number in range(5)
    ]
    flat = Disk("E", "disk", boots=make_boots(*(20.0,) * 6))
    assert _sentence(_export(tmp_path, *disks, flat)) == (
        "5 drives start faster after their first boots: in 20.0 to 24.0 s, 1.50 to 1.80 times as"
        " fast. E: no gain."
    )


def test_without_a_boot_nothing_is_answered(tmp_path: Path) -> None:
    assert _sentence(_export(tmp_path, Disk("A", "disk"))) == "No valid boot."


def test_what_is_proven_is_no_doubt(report: Path) -> None:
    results, doubts = words_of(report).split("Doubts")
    assert "cold: proven (5 boots)" in results
    assert "cold: unproven (12 boots)" in doubts


def test_every_boot_has_its_dot_with_its_proof(report: Path) -> None:
    page = (report / "report.html").read_text(encoding="utf-8")
    (dots,) = re.findall(r'aria-label="LAB-SSD-1: ([^"]*)"', page)
    assert dots == (
        "boot 1 proven, boot 2 proven, boot 3 failed, boot 4 proven, boot 5 proven, boot 6 proven"
    )
    assert page.count('<span class="dot unproven color-0"') == 6
    assert page.count('<span class="dot failed color-2"') == 1


def test_the_gain_of_a_workload_comes_with_the_chart_of_all_drives(workloads: Path) -> None:
    assert _sentence(workloads) == (
        "LAB-SSHD-1: in the lottery&#39;s direct pass repeats were 3.0 times as fast as first"
        " touches."
    )
    page = (workloads / "report.html").read_text(encoding="utf-8")
    assert (
        '<p class="note">RAM answered 0 % of the repeats: this is the drive&#39;s, though its own'
        " RAM may hold the 500 MiB that were read.</p>"
    ) in page
    (chart, *_) = find_charts(page)
    assert 'id="chart-lottery-drives-0-0"' in chart
    assert all(f">{serial}</text>" in chart for serial in ("LAB-HDD-1", "LAB-SSHD-1", "LAB-SSD-1"))
    assert page.count('id="chart-lottery-drives-0-0"') == 1


def test_judged_drives_are_the_answer_where_that_was_asked(verdicts: Path) -> None:
    assert _sentence(verdicts) == (
        "6 drives judged: 1 accept, 2 accept with remarks (1 after a quick look), "
        "2 reject (1 after a quick look; LAB-BAD-1 and LAB-ODD\\x1b1), 1 no verdict."
    )


def test_nothing_to_judge_takes_one_line(judged: sqlite3.Connection, tmp_path: Path) -> None:
    with judged:
        judged.execute("UPDATE step SET kind = 'fio'")
        judged.execute("UPDATE verdict SET checksum = NULL, verdict = 'accept'")
    words = words_of(export(judged, tmp_path))
    assert "No step was run to judge the drives." in words
    assert "Verdicts" not in words


def test_results_are_ranked_and_asides_folded() -> None:
    plain = [Finding("flat", f"drive {number}", "as before") for number in range(8)]
    aside = Finding("flat", "RAM", "answered", is_aside=True)
    doubt, unproven = Finding("remark", "A", "failed"), Finding("proof", "A", "unproven")
    results, more, doubts = split_findings([aside, unproven, *plain, doubt])
    assert results == tuple(plain[:6])
    assert more == (*plain[6:], aside)
    assert doubts == (doubt, unproven)


@pytest.mark.parametrize(("boots", "charts"), [((1,), 2), ((1, 2, 3), 4)])
def test_the_first_recorded_boot_stands_above_the_last(
    tmp_path: Path, boots: tuple[int, ...], charts: int
) -> None:
    disk = Disk("A", "disk", boots=[Boot(number, 30.0, charted=1) for number in boots])
    connection = make_database(tmp_path / "a.sqlite", disks=[disk])
    for (cycle,) in connection.execute("SELECT id FROM cycle").fetchall():
        (tmp_path / f"raw/cycle-{cycle}").mkdir(parents=True)
        shutil.copy(CHART, tmp_path / f"raw/cycle-{cycle}/bootchart.svg")
    folder = export_campaign(
        connection, campaign_id=1, reports=tmp_path / "r", raw=tmp_path / "raw"
    )
    connection.close()
    page = (folder / "report.html").read_text(encoding="utf-8")
    found = [chart for chart in find_charts(page) if 'id="chart-recording-' in chart]
    assert len(found) == charts
    # Only figures get into the page: nothing that the file itself holds.
    assert "Top CPU" not in page
    assert "gzip" not in page
    assert sum(map(len, found)) < 60_000


def test_a_broken_recording_costs_only_its_picture(tmp_path: Path) -> None:
    disk = Disk("A", "disk", boots=[Boot(1, 30.0, charted=1)])
    connection = make_database(tmp_path / "a.sqlite", disks=[disk])
    (tmp_path / "raw/cycle-1").mkdir(parents=True)
    (tmp_path / "raw/cycle-1/bootchart.svg").write_bytes(b"<svg>\xff")
    folder = export_campaign(
        connection, campaign_id=1, reports=tmp_path / "r", raw=tmp_path / "raw"
    )
    connection.close()
    assert (folder / "bootcharts/0-A-cycle-001.svg").exists()
    assert "chart-recording" not in (folder / "report.html").read_text(encoding="utf-8")
