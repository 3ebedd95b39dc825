"""The rows of a campaign as CSV and JSON for other programs. Pure."""

import csv
import io
import json
from collections.abc import Iterable

from appliance import VERSION
from appliance.report.rows import BOOT_TIMES, CampaignRows, Cell, Record
from appliance.units import printable

_FORMULA = ("=", "+", "-", "@", "\t")
"""A spreadsheet takes a text that begins so for a formula and may run it."""


def render_csv(records: Iterable[Record]) -> str:
    """One line per boot with the columns of the view `boot_times` (RFC 4180: commas, CRLF).

    A text that begins like a formula gets a leading apostrophe; numbers never do.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(BOOT_TIMES)
    writer.writerows([_guard(record[name]) for name in BOOT_TIMES] for record in records)
    return text.getvalue()


def _guard(cell: Cell) -> Cell:
    if not isinstance(cell, str):
        return cell
    return f"'{printable(cell)}" if cell.startswith(_FORMULA) else printable(cell)


def render_json(rows: CampaignRows) -> str:
    """The campaign and the views' rows, texts as the device or the plan gave them.

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
                "events": rows.events,
            },
            indent=1,
        )
        + "\n"
    )
