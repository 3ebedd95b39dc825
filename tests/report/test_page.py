# SPDX-License-Identifier: Apache-2.0
"""What is on the page, that it needs nothing from elsewhere, and that no text can break it."""

import json
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from appliance.phrases import Phrase
from appliance.report import pages
from appliance.report.export import export_campaign
from tests.report.database import LAB, Boot, Disk, make_boots, make_database
from tests.report.pages_read import PageReader, find_charts, read_report

HOSTILE = '<script>alert("1")</script>\x1b[31m\'"&amp;]]>\u202e -->\x07\r\n'


def _export(tmp_path: Path, disks: Sequence[Disk], *, name: str = "hostile") -> Path:
    connection = make_database(tmp_path / "other.sqlite", name=name, disks=disks)
    folder = export_campaign(
        connection, campaign_id=1, reports=tmp_path / "reports", raw=tmp_path / "raw"
    )
    connection.close()
    return folder


def _read(folder: Path) -> PageReader:
    return read_report(folder)


@pytest.fixture(params=["lab", "hostile", "empty", "no drive"])
def any_report(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    disks: dict[str, Sequence[Disk]] = {
        "lab": LAB,
        "hostile": [
            Disk(
                HOSTILE,
                HOSTILE,
                transport=HOSTILE,
                wwn=HOSTILE,
                boots=[
                    Boot(1, 20.0, cold_reason=HOSTILE),
                    Boot(2, None, reason=HOSTILE),
                    Boot(1, 30.0, charted=1),
                ],
            )
        ],
        "empty": [Disk("EMPTY", "never booted")],
        "no drive": [],
    }
    name = HOSTILE if request.param == "hostile" else "a campaign"
    return _export(tmp_path, disks[request.param], name=name)


def test_page_is_well_formed(any_report: Path) -> None:
    page = _read(any_report)
    assert len(page.ids) == len(set(page.ids))
    text = (any_report / "report.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>\n<html lang=")
    # Only the line feed of our own templates.
    assert not [c for c in text if ord(c) < 32 and c != "\n"]


def test_the_first_sentence_breaks_no_serial_number(tmp_path: Path) -> None:
    """A browser ends lines at hyphens; the text itself stays as it is, to be copied."""
    folder = _export(tmp_path, LAB)
    page = (folder / "report.html").read_text(encoding="utf-8")
    (sentence,) = re.findall(r'<p class="sentence">(.*)</p>', page)
    named = [disk.serial for disk in LAB if disk.serial in sentence]
    assert named
    whole = re.findall(r'<span class="whole">([^<]*)</span>', sentence)
    assert set(whole) == set(named)
    text = re.sub(r"</?span[^>]*>", "", sentence)
    assert text in _read(folder).words
    assert sum(text.count(serial) for serial in named) == len(whole)


def test_chart_is_well_formed(any_report: Path) -> None:
    page = (any_report / "report.html").read_text(encoding="utf-8")
    charts = find_charts(page)
    assert len(charts) == (0 if "No valid boot" in page else 1)
    for chart in charts:
        root = ET.fromstring(chart)  # noqa: S314 - our own
        # What replaces the picture.
        assert root.get("role") == "img"
        named = [child.get("id") for child in root if child.tag in {"title", "desc"}]
        assert root.get("aria-labelledby") == " ".join(map(str, named))
        assert all(child.text for child in root if child.tag in {"title", "desc"})


def test_page_needs_nothing_from_elsewhere(any_report: Path) -> None:
    page = _read(any_report)
    assert page.tags.isdisjoint({"script", "link", "iframe", "object", "img", "base", "form"})
    links = [v for k, v in page.attributes if k in {"href", "src", "xlink:href", "action", "data"}]
    assert all(re.fullmatch(r"bootcharts/[A-Za-z0-9_-]+\.svg", link) for link in links)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    text = (any_report / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"https?:|//[a-z]|url\(|@import", text)


def test_names_from_outside_are_shown_not_run(tmp_path: Path) -> None:
    disk = Disk(HOSTILE, HOSTILE, boots=[Boot(1, 20.0), Boot(2, 20.1)])
    folder = _export(tmp_path, [disk], name=HOSTILE)
    assert re.fullmatch(r"1-[A-Za-z0-9_-]+", folder.name)
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert "<script" not in text.lower()
    for character in ("\x1b", "\x07", "\r", "\u202e"):
        assert character not in text
    assert '<script>alert("1")</script>\\x1b[31m\'"&amp;]]>' in _read(folder).words


def test_table_has_each_boot_with_three_decimals(report: Path) -> None:
    words = _read(report).words
    for boot in ("106.212", "106.034", "106.118", "46.021", "27.204", "28.117", "25.104", "25.733"):
        assert boot in words
    assert "failed it did not come back within 300 s, 3 times" in words


def test_the_parts_of_a_boot_say_what_lay_between_and_leave_empty_columns_out(
    report: Path,
) -> None:
    words = _read(report).words
    # The loader's time is known of none of them.
    assert (
        "Cycle Boot firmware kernel initrd userspace wait session I/O quiet read reads off wake"
        " skew 1 106.212 1.250 2.500 4.000 57.227 0.200 42.485"
    ) in words
    assert "drive °C" not in words


def test_charted_boots_stand_apart(report: Path) -> None:
    timed, charted = _read(report).words.split("Charted boots")
    assert "29.870" not in timed
    assert "29.870" in charted
    assert 'href="bootcharts/1-LAB-SSHD-1-cycle-001.svg"' in (report / "report.html").read_text()


def test_every_drive_is_in_the_legend(tmp_path: Path) -> None:
    disks = [Disk(f"DRIVE-{n}", "disk", boots=[Boot(1, 20.0 + n)]) for n in range(12)]
    page = (_export(tmp_path, disks) / "report.html").read_text()
    for n in range(12):
        assert f'<span class="legend color-{n % 8} line-{n % 4}">DRIVE-{n}</span>' in page


def test_every_figure_has_its_cache_state(report: Path) -> None:
    words = _read(report).words
    assert "Page cache cold: empty at the start of every timed boot" in words
    assert "cold powered off, not proven; no earlier boot unproven" in words
    assert "cold power-cycled, proven; 1 earlier boot proven" in words


def test_a_restart_that_nothing_shows_to_be_warm_is_not_called_so(tmp_path: Path) -> None:
    said = "asked for warm, and nothing shows whether power stayed: no power-cycle count was read"
    boots = [
        Boot(1, 20.0, power="warm", cold_reason=said),
        Boot(2, 20.0, power="warm", cold_reason=said),
        Boot(3, 20.0, cold_proof="warm", cold_reason="ATA attribute 12 did not rise"),
    ]
    words = _read(_export(tmp_path, [Disk("A", "disk", boots=boots)])).words
    assert "1 warm boot. 2 boots asked for warm, unproven." in words
    assert "Cold boots" not in words
    assert f"warm: unproven (2 boots): {said}." in words
    assert "A dot per boot: warm: unproven warm" in words
    assert "restarted, not proven that it kept power; no earlier boot" in words
    assert "kept power; 2 earlier boots" in words


def test_boots_that_train_a_drive_are_shown_and_in_no_figure(tmp_path: Path) -> None:
    """What the drive has learned before, its timed boots do not show: no gain is reported."""
    times = (46.0, 27.2, 27.3, 27.1, 27.2, 27.3, 27.2)
    disk = Disk("A", "hybrid", boots=make_boots(*times))
    trained = replace(disk, boots=[Boot(1, 46.0, trained=1), *(Boot(n, 27.2) for n in range(2, 8))])
    timed = tmp_path / "timed"
    timed.mkdir()
    words, untimed = (
        _read(_export(folder, [each])).words
        for folder, each in ((timed, disk), (tmp_path, trained))
    )
    assert "as fast as at its first boot" in words
    assert "46.000" in words
    assert "as fast as" not in untimed
    assert "46." not in untimed
    assert "its first boot was not timed, so no gain over it can be stated" in untimed
    assert "the first boot was not timed: a drive that learns may have learned from it" in untimed
    assert "After boots that were not timed: A (27.2 s)." in untimed
    assert "6 of 6 boots measured, 1 of 1 before them made and not timed" in untimed
    assert "1 earlier boot" in untimed  # the first timed one knows of it


def _alternate(*pairs: tuple[float, float], proven: bool = True) -> list[Boot]:
    times = [boot_s for pair in pairs for boot_s in pair]
    return [
        Boot(
            cycle,
            boot_s,
            power="cold" if cycle % 2 else "warm",
            cold_proof=("proven" if cycle % 2 else "warm") if proven else "unproven",
        )
        for cycle, boot_s in enumerate(times, start=1)
    ]


PAIRS = ((46.0, 20.1), (27.2, 20.2), (27.3, 20.0), (27.1, 20.1), (27.2, 20.2), (27.3, 20.1))


def test_cold_and_warm_boots_are_in_no_figure_together(tmp_path: Path) -> None:
    disk = Disk("A", "hybrid", boots=_alternate(*PAIRS))
    folder = _export(tmp_path, [disk])
    words = _read(folder).words
    series = json.loads((folder / "results.json").read_text())["boot_series"]
    assert [(each["power"], each["valid_boots"]) for each in series] == [("cold", 6), ("warm", 6)]
    assert series[0]["settled_median_s"] == pytest.approx(27.2)
    assert series[1]["settled_median_s"] == pytest.approx(20.1)
    assert series[0]["gain"] == pytest.approx(46.0 / 27.2)
    assert series[1]["gain"] is None
    assert "each follows a cold boot, so no gain over a first one can be stated" in words
    assert "warm boots take 20.1 s against 27.2 s, 6 and 5 settled boots: 1.35 times" in words
    assert "A filled dot: cold start proven; a ring: not proven, or a warm boot." in words


@pytest.mark.parametrize(
    ("boots", "told"),
    [
        (_alternate(*PAIRS, proven=False), "not of all is it proven"),
        (_alternate(*PAIRS[:4]), "both must have settled in 5 boots or more"),
    ],
)
def test_cold_and_warm_boots_are_compared_only_where_both_are_proven_and_settled(
    tmp_path: Path, boots: list[Boot], told: str
) -> None:
    words = _read(_export(tmp_path, [Disk("A", "hybrid", boots=boots)])).words
    assert f"cold and warm boots are not compared: {told}" in words
    assert "warm boots take" not in words
    assert ("cold: unproven" in words, "warm: unproven" in words) == (len(boots) > 8,) * 2
    assert ("A dot per boot: cold or warm: unproven" in words) == (len(boots) > 8)


def test_charted_boots_count_as_earlier_boots(tmp_path: Path) -> None:
    boots = [Boot(1, 20.0), Boot(1, 25.0, charted=1), Boot(2, 20.0)]
    words = _read(_export(tmp_path, [Disk("A", "disk", boots=boots)])).words
    assert "not proven; 2 earlier boots" in words


def test_a_page_cache_that_was_not_cold_is_not_called_empty(
    lab: sqlite3.Connection, raw: Path
) -> None:
    lab.execute("UPDATE boot_sample SET page_cache = 'partial' WHERE cycle_id = 1")
    words = _read(export_campaign(lab, campaign_id=1, reports=raw.parent / "r", raw=raw)).words
    assert "Page cache cold, partial" in words
    assert "empty at the start" not in words


def test_a_doubtful_boot_is_shown_but_not_counted(tmp_path: Path) -> None:
    boots = [Boot(cycle, 20.0) for cycle in (1, 3, 4, 5, 6)] + [Boot(2, 99.0, valid=0)]
    words = _read(_export(tmp_path, [Disk("A", "disk", boots=boots)])).words
    assert "99.000" in words
    assert "doubtful, not counted" in words
    assert "all 5 boots within ±0.0 % of the median 20.0 s" in words


def test_only_the_last_events_are_shown(lab: sqlite3.Connection, raw: Path) -> None:
    lab.executemany(
        "INSERT INTO event (campaign_id, at, monotonic_s, boot_id, level, event, detail)"
        " VALUES (1, '2026-11-21T04:00:00.000Z', 1, 'b', 'info', 'tick', ?)",
        [(f"number {number}.",) for number in range(300)],
    )
    folder = export_campaign(lab, campaign_id=1, reports=raw.parent / "r", raw=raw)
    words = _read(folder).words
    assert "number 299." in words
    assert "number 100." in words
    assert "number 99." not in words
    assert "103 earlier ones are in results.json" in words
    assert len(json.loads((folder / "results.json").read_text())["events"]) == 303


def test_an_interval_is_shown_where_there_are_enough_boots(tmp_path: Path) -> None:
    boots = [Boot(cycle, 20.0 + cycle / 100) for cycle in range(1, 7)]
    words = _read(_export(tmp_path, [Disk("A", "disk", boots=boots)])).words
    assert "20.010 to 20.060" in words


def test_many_drives_and_cycles_fit(tmp_path: Path) -> None:
    disks = [
        Disk(f"DRIVE-{n}", "disk", boots=[Boot(cycle, 20.0 + n) for cycle in range(1, 61)])
        for n in range(8)
    ]
    page = _read(_export(tmp_path, disks))
    assert "DRIVE-7" in page.words


def test_a_phrase_on_a_page_is_made_printable_as_any_text() -> None:
    template = pages._environment().from_string("{{ said }}")
    assert template.render(said=Phrase("drive {drive}", drive="\x1b[2J")) == "drive \\x1b[2J"
