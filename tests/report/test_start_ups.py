# SPDX-License-Identifier: Apache-2.0
"""What start-up waited for: two boots of a drive above each other, and the files for programs."""

import csv
import json
import sqlite3
from pathlib import Path

from appliance.report.export import export_campaign
from appliance.samples.unit_times import UnitTime
from appliance.store.connect import transaction
from appliance.store.tables.boots import insert_start_up
from tests.report.database import Disk, make_boots, make_database
from tests.report.pages_read import find_charts


def _add_units(
    connection: sqlite3.Connection, *, cycle: int, slow_s: float, extra: tuple[UnitTime, ...] = ()
) -> None:
    (boot,) = connection.execute(
        "SELECT id FROM cycle WHERE cycle = ? AND NOT charted", (cycle,)
    ).fetchone()
    units = (
        UnitTime("disk.mount", 1.0, 2.0, 2),
        UnitTime("slow.service", 2.0, 2.0 + slow_s, 1),
        UnitTime("graphical.target", 9.0, 9.0, 0),
        *extra,
    )
    with transaction(connection):
        insert_start_up(connection, boot, units)


def _export(connection: sqlite3.Connection, tmp_path: Path) -> tuple[Path, str]:
    folder = export_campaign(
        connection, campaign_id=1, reports=tmp_path / "reports", raw=tmp_path / "raw"
    )
    connection.close()
    return folder, (folder / "report.html").read_text(encoding="utf-8")


def test_the_first_boot_stands_above_the_settled_one_nearest_to_their_median(
    tmp_path: Path,
) -> None:
    boots = make_boots(46.0, 27.2, 28.1, 27.4, 27.7, 27.5)
    connection = make_database(tmp_path / "a.sqlite", disks=[Disk("A", "disk", boots=boots)])
    for cycle in range(1, 7):
        _add_units(connection, cycle=cycle, slow_s=8.0 / cycle)
    folder, page = _export(connection, tmp_path)
    charts = [each for each in find_charts(page) if 'id="chart-start-up-' in each]
    assert len(charts) == 2
    assert "boot 1 above boot 6, settled" in page
    # For those who do not see the bars; both have the same units.
    assert "slow.service 2.00 to 10.00" in charts[0]
    assert "slow.service 2.00 to 3.33" in charts[1]
    assert "-6.667" in page
    with (folder / "units.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 18
    assert rows[0] == {
        "campaign_id": "1", "drive_serial": "A", "cycle": "1", "charted": "0",
        "unit": "disk.mount", "began_s": "1.0", "ready_s": "2.0", "chain": "2", "drive_wwn": "",
    }  # fmt: skip
    stored = json.loads((folder / "results.json").read_text())["boot_units"]
    assert [{key: str(value) for key, value in each.items()} for each in stored] == rows


def test_boots_that_did_not_settle_show_the_first_and_the_last(tmp_path: Path) -> None:
    boots = make_boots(46.0, 27.2)
    connection = make_database(tmp_path / "a.sqlite", disks=[Disk("A", "disk", boots=boots)])
    gone = UnitTime("gone.service", 3.0, 5.0, None)
    _add_units(connection, cycle=1, slow_s=3.0, extra=(gone,))
    _add_units(connection, cycle=2, slow_s=2.0)
    _, page = _export(connection, tmp_path)
    assert "boot 1 above boot 2, not known to be settled" in page
    # Of a unit that the other boot has not, the difference is not known.
    row = page[page.rindex('<th scope="row">gone.service</th>') :]
    assert row[: row.index("</tr>")].count("–") == 2


def test_a_single_boot_stands_alone_and_a_damaged_one_is_left_out(tmp_path: Path) -> None:
    boots = make_boots(46.0, 27.2)
    connection = make_database(tmp_path / "a.sqlite", disks=[Disk("A", "disk", boots=boots)])
    _add_units(connection, cycle=1, slow_s=3.0)
    _add_units(connection, cycle=2, slow_s=2.0)
    with transaction(connection):
        connection.execute("UPDATE start_up SET units = replace(units, '2.0', '7.0') "
                           "WHERE cycle_id = (SELECT max(cycle_id) FROM start_up)")  # fmt: skip
    folder, page = _export(connection, tmp_path)
    assert len([each for each in find_charts(page) if 'id="chart-start-up-' in each]) == 1
    assert "units of A cycle 2" in page
    assert (folder / "units.csv").read_text().count("slow.service") == 1


def test_names_from_the_drives_system_are_text(tmp_path: Path) -> None:
    connection = make_database(
        tmp_path / "a.sqlite", disks=[Disk("A", "disk", boots=make_boots(46.0))]
    )
    hostile = UnitTime("<script>\x1b.service", 1.0, 9.0, None)
    _add_units(connection, cycle=1, slow_s=3.0, extra=(hostile,))
    _, page = _export(connection, tmp_path)
    assert "<script>" not in page
    assert "\x1b" not in page


def test_a_campaign_without_units_has_no_such_section(workloads: Path) -> None:
    assert "What start-up waited for" not in (workloads / "report.html").read_text()
    assert not (workloads / "units.csv").exists()


def test_a_charted_boot_has_its_units_drawn_by_systemd(
    tmp_path: Path, lab: sqlite3.Connection, raw: Path
) -> None:
    (chart,) = raw.rglob("*.svg")
    (chart.parent / "units.svg").write_text("<svg>systemd</svg>")
    folder = export_campaign(lab, campaign_id=1, reports=tmp_path / "reports", raw=raw)
    name = "bootcharts/1-LAB-SSHD-1-cycle-001"
    assert (folder / f"{name}.svg").read_text() == "<svg/>"
    assert (folder / f"{name}-units.svg").read_text() == "<svg>systemd</svg>"
    page = (folder / "report.html").read_text()
    assert f'href="{name}.svg"' in page
    assert f'href="{name}-units.svg">units</a>' in page


def test_a_unit_of_one_boot_only_is_not_called_quick_in_the_other(tmp_path: Path) -> None:
    """It may not have been started there, or not have been ready."""
    boots = make_boots(46.0, 27.2, 28.1, 27.4, 27.7, 27.5)
    connection = make_database(tmp_path / "a.sqlite", disks=[Disk("A", "disk", boots=boots)])
    check = UnitTime("fsck.service", 3.0, 8.0, None)
    for cycle in range(1, 7):
        _add_units(connection, cycle=cycle, slow_s=1.0, extra=(check,) if cycle == 1 else ())
    _, page = _export(connection, tmp_path)
    charts = [each for each in find_charts(page) if 'id="chart-start-up-' in each]
    assert "fsck 5.00 s" in charts[0]
    assert "fsck not stored" in charts[1]
    assert "below 1 ms" not in page
