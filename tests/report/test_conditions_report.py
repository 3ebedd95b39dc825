# SPDX-License-Identifier: Apache-2.0
"""What a campaign was measured on, in its report: as it was then, and what changed on the way."""

import csv
import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.campaign.drives.condition_values import list_drive_values, list_machine_values
from appliance.drives.block_settings import BlockSettings
from appliance.drives.facts.kernel import KernelTexts
from appliance.drives.model import Drive
from appliance.machine.facts import FixedFacts
from appliance.report.conditions import find_condition_findings, make_conditions
from appliance.report.csv_files import render_rows
from appliance.report.export import export_campaign
from appliance.store.maintenance.merge import merge_database
from appliance.store.read.campaign import select_campaign
from appliance.store.tables.conditions import find_changes, insert_conditions, select_conditions
from tests.databases import seal
from tests.report.database import make_database

FIXED = FixedFacts(
    vendor="Dell Inc.",
    model="OptiPlex <7010>",
    serial="",
    board="Dell Inc. 0WR7PY",
    firmware="uefi",
    firmware_version="A29 06/28/2018",
    secure_boot="off",
    processor="Intel(R) Core(TM) i5-3470 CPU @ 3.20GHz",
    processors=4,
    is_virtual=False,
    ram_bytes=8_239_321_088,
    versions={"Linux": "6.12.57+deb13-amd64", "fio": "3.39-1", "Python": "3.13.5"},
)
DISK = Drive("/dev/sda", "LAB-HDD-1", "", "Lab disk", "2.5+", 4 << 30, True, "sata", 512, 4096)
SETTINGS = BlockSettings(("ahci",), "mq-deadline", 128 << 10, 64, 32, "write back")


def note(
    connection: sqlite3.Connection,
    *,
    fixed: FixedFacts = FIXED,
    disk: Drive = DISK,
    governor: str = "powersave",
) -> None:
    """As the engine does at a start, for the machine and the disk."""
    (drive_id,) = connection.execute(
        "SELECT id FROM drive WHERE serial = ?", [disk.serial]
    ).fetchone()
    kernel = KernelTexts(sata_speed="6.0 Gbps")
    for owner, values in (
        (None, list_machine_values(fixed, governors=[governor], frequency_drivers=[])),
        (drive_id, list_drive_values(disk, settings=SETTINGS, kernel=kernel, smart="")),
    ):
        changes = find_changes(select_conditions(connection, 1, owner), values)
        insert_conditions(connection, 1, owner, changes)


def export(connection: sqlite3.Connection, tmp_path: Path) -> Path:
    return export_campaign(
        connection, campaign_id=1, reports=tmp_path / "reports", raw=tmp_path / "raw"
    )


def test_machine_programs_and_drive_are_shown(lab: sqlite3.Connection) -> None:
    note(lab)
    view = make_conditions(select_campaign(lab, campaign_id=1))
    assert view is not None
    facts = dict(view.facts)
    assert facts["Model"] == "OptiPlex <7010>"
    assert facts["Memory"] == "7.7 GiB"
    assert facts["Programs"] == "Linux 6.12.57+deb13-amd64, fio 3.39-1, Python 3.13.5"
    assert "Frequency driver" not in facts
    ((label, values),) = view.drives
    shown = dict(zip(view.columns, values, strict=True))
    assert label == "LAB-HDD-1"
    assert (shown["Link"], shown["Read-ahead"], shown["Driver"]) == (
        "6.0 Gb/s",
        "128 KiB",
        "ahci",
    )


def test_of_twins_each_has_its_own_and_neither_has_changed(lab: sqlite3.Connection) -> None:
    """They have the same serial number, and are in the plan by their WWNs."""
    wwn = "0x5000c50087654321"
    note(lab)
    note(lab, disk=replace(DISK, serial="LAB-SSD-1", model="Another model"))
    lab.execute("UPDATE drive SET serial = 'LAB-HDD-1', wwn = ? WHERE serial = 'LAB-SSD-1'", (wwn,))
    lab.execute("UPDATE condition SET checksum = NULL")
    seal(lab, "condition")
    rows = select_campaign(lab, campaign_id=1)
    assert find_condition_findings(rows) == ()
    twins = [drive for drive in rows.drives if drive.identity == "LAB-HDD-1"]
    assert [rows.find_condition(drive, "model") for drive in twins] == ["Lab disk", "Another model"]
    lines = csv.DictReader(render_rows(rows.conditions).splitlines())
    assert {line["drive_wwn"] for line in lines if line["name"] == "model"} == {"", wwn}


def test_the_page_and_the_files_have_it(lab: sqlite3.Connection, tmp_path: Path) -> None:
    note(lab)
    folder = export(lab, tmp_path)
    page = (folder / "report.html").read_text()
    assert "<h2>Measured on</h2>" in page
    assert "OptiPlex &lt;7010&gt;" in page
    with (folder / "conditions.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    scheduler = next(row for row in rows if row["name"] == "scheduler")
    assert (scheduler["drive_serial"], scheduler["value"]) == ("LAB-HDD-1", "mq-deadline")
    assert len(json.loads((folder / "results.json").read_text())["conditions"]) == len(rows)


def test_a_campaign_of_which_nothing_was_noted_has_no_section(report: Path) -> None:
    assert "Measured on" not in (report / "report.html").read_text()
    assert not (report / "conditions.csv").exists()


def test_what_changed_on_the_way_is_a_doubt(lab: sqlite3.Connection, tmp_path: Path) -> None:
    note(lab)
    assert find_condition_findings(select_campaign(lab, campaign_id=1)) == ()
    note(lab, governor="performance")
    lab.execute("UPDATE condition SET checksum = NULL, since = '2026-11-21T03:30:00.000Z'")
    (found,) = find_condition_findings(select_campaign(lab, campaign_id=1))
    assert (found.kind, found.subject) == ("remark", "the machine")
    assert found.text == (
        "changed during the campaign: Frequency governor powersave, from 2026-11-21 03:30:00 UTC"
        " performance. Figures from before and after were measured under different conditions."
    )
    assert found.text in (export(lab, tmp_path) / "report.html").read_text()


@pytest.mark.parametrize("noted", [True, False])
def test_new_firmware_does_not_change_an_old_report(
    lab: sqlite3.Connection,
    tmp_path: Path,
    noted: bool,  # noqa: FBT001 - a parameter
) -> None:
    if noted:
        note(lab)
    lab.execute("UPDATE drive SET firmware = '3.0' WHERE serial = 'LAB-HDD-1'")
    folder = export(lab, tmp_path)
    firmware = {
        drive["serial"]: drive["firmware"]
        for drive in json.loads((folder / "results.json").read_text())["drives"]
    }
    # Of campaigns from before it was noted there is the newest only.
    assert firmware["LAB-HDD-1"] == ("2.5+" if noted else "3.0")
    assert ("firmware 3.0" in (folder / "report.html").read_text()) is not noted


def test_another_stick_takes_the_conditions_over(lab: sqlite3.Connection, tmp_path: Path) -> None:
    note(lab)
    note(lab, disk=replace(DISK, transport="usb"))
    theirs = select_campaign(lab, campaign_id=1).conditions
    lab.close()
    mine = make_database(tmp_path / "mine.sqlite", name="mine", disks=())
    merge_database(mine, tmp_path / "kaltstart.sqlite", room_bytes=1 << 30)
    taken = select_campaign(mine, campaign_id=2).conditions
    assert [(row.drive_serial, row.name, row.value, row.since) for row in taken] == [
        (row.drive_serial, row.name, row.value, row.since) for row in theirs
    ]
    assert [row.value for row in taken if row.name == "transport"] == ["sata", "usb"]
    mine.close()
