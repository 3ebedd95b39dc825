# SPDX-License-Identifier: Apache-2.0
"""The rows of a campaign as CSV and JSON for other programs. Pure, except for the given file."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import chain
from typing import TextIO

from appliance import VERSION
from appliance.report.series import make_series
from appliance.store.read.campaign import BOOT_TIMES, CampaignRows
from appliance.store.rows import AnyRow, Cell, Record, as_record
from appliance.store.tables.boots import parse_units
from appliance.store.tables.verdicts import VerdictRow
from appliance.units import printable

_FORMULA = tuple("=+-@\t＝＋－＠")
"""A spreadsheet takes a text that begins so for a formula and may run it
(owasp.org/www-community/attacks/CSV_Injection)."""


_FIGURE = (
    *("step_id", "device", "workload", "variant", "metric", "unit", "value"),
    *("page_cache", "page_cache_proof", "proof_reason", "ballast_bytes", "drive_state"),
    *("array_mode", "array_dirty_bytes", "beside"),
)
"""Columns of a workload's figure that follow those of a boot."""

_DOUBT = "serial_doubt"

_STEP = (
    *("id", "position", "workload_index", "kind", "device", "state", "reason", "attempts"),
    *("started_at", "finished_at", "parts"),
)


def render_results(rows: CampaignRows) -> str:
    """One line per boot, then one line per figure of a workload (RFC 4180: commas, CRLF).

    The columns of the view `boot_times` come first; a figure fills those that it shares
    (campaign, drive, role, valid, at, label, WWN) and the ones after them, which a boot leaves
    empty.
    The last column says why the serial number may be another drive's too.
    """
    drives = {drive.id: drive for drive in rows.drives}
    names = {(drive.identity, drive.wwn): drive for drive in rows.drives}
    measured = {step.id: drives.get(step.drive_id or 0) for step in rows.workloads.steps}
    boots = (
        record | {_DOUBT: names[str(record["drive_serial"]), str(record["drive_wwn"])].serial_doubt}
        for record in rows.boot_times
    )
    figures = (
        {
            **_pick(row, _FIGURE),
            "campaign_id": rows.campaign.id,
            "drive_serial": row.drive_serial,
            "drive_role": row.drive_role,
            "valid": row.valid,
            "at": row.at,
            "label": drive.label if drive else "",
            "drive_wwn": drive.wwn if drive else "",
            _DOUBT: drive.serial_doubt if drive else "",
        }
        for row in rows.workloads.results
        for drive in (measured[row.step_id],)
    )
    return _render((*BOOT_TIMES, *_FIGURE, _DOUBT), (*boots, *figures))


def render_steps(rows: CampaignRows) -> str:
    """One line per step; its finished parts are in one cell, separated by spaces."""
    return _render(
        _STEP,
        ({**_pick(row, _STEP), "parts": " ".join(row.parts)} for row in rows.workloads.steps),
    )


def list_units(rows: CampaignRows) -> list[Record]:
    """The view `boot_units`, of the boots that the stick gave back as they were stored."""
    return [
        {
            "campaign_id": rows.campaign.id,
            "drive_serial": start_up.drive_serial,
            "cycle": start_up.cycle,
            "charted": start_up.charted,
            "unit": unit.unit,
            "began_s": unit.began_s,
            "ready_s": unit.ready_s,
            "chain": unit.chain,
            "drive_wwn": start_up.drive_wwn,
        }
        for start_up in rows.start_ups
        for unit in parse_units(start_up.units)
    ]


def list_kernel_errors(rows: CampaignRows) -> list[Record]:
    """The view `kernel_errors`, without what is damaged."""
    return [
        as_record(row, campaign_id=rows.campaign.id) | {"complete": int(row.complete)}
        for row in rows.workloads.kernel_errors
    ]


def render_kernel_errors(rows: CampaignRows) -> str:
    """The same, one line per step and drive: its different messages are in one cell.

    There is at least one.
    """
    return render_rows(
        [
            record | {"texts": "; ".join(str(record["texts"]).splitlines())}
            for record in list_kernel_errors(rows)
        ]
    )


def render_rows(rows: Sequence[AnyRow]) -> str:
    """One line per row, with its columns; there is at least one."""
    text = io.StringIO(newline="")
    write_rows(text, rows)
    return text.getvalue()


def write_rows(out: TextIO, rows: Iterable[AnyRow]) -> None:
    """The same, for more rows than fit into memory."""
    records = (row if isinstance(row, dict) else as_record(row) for row in rows)
    first = next(records)
    _write(out, tuple(first), chain((first,), records))


def render_verdict_limits(rows: CampaignRows) -> str:
    """One line per limit of a verdict: the drive's verdict, then the view `verdict_limits`."""
    drives = {drive.id: drive for drive in rows.drives}
    records: list[Record] = []
    for verdict, record in zip(rows.verdicts.verdicts, _list_verdicts(rows), strict=True):
        drive = drives[verdict.drive_id]
        location = rows.find_condition(drive, "location")
        record |= {_DOUBT: drive.serial_doubt, "location": location}
        records += [record | limit for limit in _list_limits_of(rows, verdict)]
    return _render(
        (
            *("campaign_id", "drive_serial", "verdict", "at", "position", "name", "outcome"),
            *("measured", "allowed", "detail", _DOUBT, "depth", "read_percent"),
            *("label", "location", "drive_wwn"),
        ),
        records,
    )


def _list_verdicts(rows: CampaignRows) -> list[Record]:
    columns = ("drive_serial", "verdict", "reasons", "at", "depth", "label", "read_percent")
    return [
        {"campaign_id": rows.campaign.id, **_pick(row, (*columns, "drive_wwn"))}
        for row in rows.verdicts.verdicts
    ]


def _list_limits(rows: CampaignRows) -> list[Record]:
    return [limit for verdict in rows.verdicts.verdicts for limit in _list_limits_of(rows, verdict)]


def _list_limits_of(rows: CampaignRows, verdict: VerdictRow) -> list[Record]:
    return [
        {
            "campaign_id": rows.campaign.id,
            "drive_serial": verdict.drive_serial,
            "position": position,
            **asdict(row),
            "drive_wwn": verdict.drive_wwn,
        }
        for position, row in enumerate(rows.verdicts.limits[verdict.drive_id])
    ]


def _list_series(rows: CampaignRows) -> list[Record]:
    """What the boots of each drive add up to (`findings.RULES`); None is what they do not show."""
    booted = {boot.drive_id for boot in rows.boots}
    drives = [drive for drive in rows.drives if drive.id in booted]
    all_series = [series for drive in drives for series in make_series(drive, rows.boots)]
    by_id = {drive.id: drive for drive in drives}
    records: list[Record] = []
    for series in all_series:
        drive = by_id[series.drive_id]
        interval, gain = series.interval_s, series.find_gain(all_series)
        drift_s = series.drift_s
        records.append(
            {
                "drive_serial": drive.serial,
                "drive_role": drive.role,
                "power": series.power,
                "valid_boots": len(series.boot_s),
                "settled_from": series.settled_from,
                "settled_median_s": series.settled_s,
                "settled_median_low_s": interval.low if interval else None,
                "settled_median_high_s": interval.high if interval else None,
                "gain": gain.ratio if gain else None,
                "gain_low": gain.low if gain else None,
                "gain_high": gain.high if gain else None,
                "drift_s_per_boot": drift_s.slope if drift_s else None,
                "drift_low_s_per_boot": drift_s.low if drift_s else None,
                "drift_high_s_per_boot": drift_s.high if drift_s else None,
                "more_boots_for_1_percent": series.more_boots,
                "drive_wwn": drive.wwn,
            }
        )
    return records


def _render(columns: Sequence[str], records: Iterable[Record]) -> str:
    """A text that begins like a formula gets a leading apostrophe; numbers never do."""
    text = io.StringIO(newline="")
    _write(text, columns, records)
    return text.getvalue()


def _write(out: TextIO, columns: Sequence[str], records: Iterable[Record]) -> None:
    writer = csv.writer(out)
    writer.writerow(columns)
    writer.writerows([_guard(record.get(name)) for name in columns] for record in records)


def _pick(row: object, columns: Sequence[str]) -> Record:
    return {name: getattr(row, name) for name in columns}


def _guard(cell: Cell) -> Cell:
    if not isinstance(cell, str):
        return cell
    return f"'{printable(cell)}" if cell.startswith(_FORMULA) else printable(cell)


def render_json(rows: CampaignRows) -> str:
    """The campaign and the views' rows, texts as the device or the plan gave them.

    Activity is too long for it: it has a file of its own.

    JSON's own escapes keep control characters and everything beyond ASCII out of the file.
    """
    campaign = rows.campaign
    return (
        json.dumps(
            {
                "version": 1,
                "campaign": {
                    "id": campaign.id,
                    "name": campaign.name,
                    "state": campaign.state,
                    "reason": campaign.reason,
                    "on_finish": campaign.on_finish,
                    "created_at": campaign.created_at,
                    "finished_at": campaign.finished_at,
                    "plan_sha256": campaign.plan_sha256,
                    "plan_toml": campaign.plan_toml,
                    "kaltstart_version": VERSION,
                },
                "drives": rows.drive_records,
                "boot_times": rows.boot_times,
                "boot_series": _list_series(rows),
                "boot_units": list_units(rows),
                "steps": [asdict(row) for row in rows.workloads.steps],
                "results": [
                    {"campaign_id": campaign.id, **asdict(row)} for row in rows.workloads.results
                ],
                "tickets": [as_record(row) for row in rows.workloads.tickets],
                "slices": [as_record(row) for row in rows.workloads.slices],
                "ranges": [as_record(row) for row in rows.workloads.ranges],
                "kernel_errors": list_kernel_errors(rows),
                "conditions": [as_record(row) for row in rows.conditions],
                "health": rows.health,
                "judging": asdict(rows.verdicts.judging) if rows.verdicts.judging else None,
                "verdicts": _list_verdicts(rows),
                "verdict_limits": _list_limits(rows),
                "events": rows.events,
            },
            indent=1,
        )
        + "\n"
    )
