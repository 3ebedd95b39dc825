# SPDX-License-Identifier: Apache-2.0
"""What the interface reads: plain SELECTs over tables and views, as frozen rows. Never writes."""

import sqlite3
from dataclasses import dataclass

from appliance.store.rows import DRIVE_NAME, read_rows


@dataclass(frozen=True, slots=True)
class CampaignRow:
    """One campaign and how many of its boots are behind it."""

    id: int
    name: str
    state: str
    """preparing | running | paused | done"""
    reason: str
    created_at: str
    finished_at: str
    """Empty while it is not finished."""
    planned: int
    """All boots of the plan, charted ones included."""
    done: int
    failed: int
    skipped: int
    """Never tried, as a person skipped them."""
    is_pausing: bool
    """A person has asked for it; it does at its next safe point."""
    is_wake_asked: bool
    """It is paused because its machine was not seen to wake: the user must choose."""


@dataclass(frozen=True, slots=True)
class CampaignDriveRow:
    """One drive of a campaign, in the order the drives take turns."""

    campaign_id: int
    drive_id: int
    identity: str
    """The serial number, or the WWN where there is none, as in `boot_times`."""
    wwn: str
    name: str
    """What it is called: its identity, or its WWN if another drive of the campaign has that."""
    model: str
    role: str
    rotational: bool
    released: bool
    failed_reason: str
    label: str
    """The plan's words for it; empty without."""
    paused: str
    """Empty, or when a person wants its steps to wait: store.pause_and_skip.DrivePause."""
    planned: int
    done: int
    failed: int
    skipped: int
    open: int
    """Boots still to be made."""
    next_position: int | None
    """Of the first of these among all drives' boots; None without one."""


@dataclass(frozen=True, slots=True)
class BootRow:
    """One finished boot. `boot_s` is None where it failed, or was not timed."""

    campaign_id: int
    drive_serial: str
    drive_wwn: str
    cycle: int
    charted: bool
    power: str
    cold_proof: str
    cold_reason: str
    valid: bool
    boot_s: float | None
    at: str
    trained: bool = False
    kernel_errors: str = ""
    cooling: str = "none"
    """none | proven | unproven: whether the drive was made to forget before it."""

    @property
    def counts(self) -> bool:
        """Whether its time may be compared: charting slows a boot down, training comes before."""
        return self.valid and not self.charted and not self.trained and self.boot_s is not None


@dataclass(frozen=True, slots=True)
class EventRow:
    """One line of the event log."""

    seq: int
    campaign_id: int | None
    at: str
    level: str
    event: str
    detail: str
    """Its sentence in English."""
    fields: str | None
    """A JSON object: what is put into the sentence; None where nothing is."""


_CAMPAIGNS = """
    SELECT c.id, c.name, c.state, c.reason, c.created_at,
           coalesce(c.finished_at, '') AS finished_at, count(k.id) AS planned,
           coalesce(sum(k.state = 'done'), 0) AS done,
           coalesce(sum(k.state = 'failed'), 0) AS failed,
           coalesce(sum(k.state = 'skipped'), 0) AS skipped,
           c.pause_asked_at IS NOT NULL AS is_pausing,
           c.state = 'paused' AND c.power_on_by = 'asked' AS is_wake_asked
    FROM campaign c
    LEFT JOIN cycle k ON k.campaign_id = c.id
    GROUP BY c.id ORDER BY c.id DESC
"""
_DRIVES = f"""
    SELECT cd.campaign_id, cd.drive_id, d.identity, d.wwn, {DRIVE_NAME} AS name, d.model, cd.role,
           d.rotational, cd.released, cd.failed_reason, cd.label, cd.paused, count(k.id) AS planned,
           coalesce(sum(k.state = 'done'), 0) AS done,
           coalesce(sum(k.state = 'failed'), 0) AS failed,
           coalesce(sum(k.state = 'skipped'), 0) AS skipped,
           coalesce(sum(k.state IN ('planned', 'armed')), 0) AS open,
           min(iif(k.state IN ('planned', 'armed'), k.position, NULL)) AS next_position
    FROM campaign_drive cd
    JOIN drive d ON d.id = cd.drive_id
    LEFT JOIN cycle k ON k.campaign_id = cd.campaign_id AND k.drive_id = cd.drive_id
    WHERE cd.campaign_id = ?
    GROUP BY cd.drive_id ORDER BY cd.slot
"""
_BOOTS = """
    SELECT campaign_id, drive_serial, drive_wwn, cycle, charted, power, cold_proof, cold_reason,
           valid, boot_s, coalesce(at, '') AS at, trained, kernel_errors, cooling
    FROM boot_times WHERE campaign_id = ? ORDER BY drive_serial, drive_wwn, charted, cycle
"""
_EVENTS = """
    SELECT seq, campaign_id, at, level, event, detail, fields FROM event
    WHERE seq > ?2 AND (?3 IS NULL OR campaign_id = ?3)
    ORDER BY seq DESC LIMIT ?1
"""


def select_campaigns(connection: sqlite3.Connection) -> tuple[CampaignRow, ...]:
    """Every campaign on the stick, the newest first."""
    return tuple(read_rows(connection, CampaignRow, _CAMPAIGNS))


def select_campaign_drives(
    connection: sqlite3.Connection, campaign_id: int
) -> tuple[CampaignDriveRow, ...]:
    """The drives of one campaign, in their order."""
    return tuple(read_rows(connection, CampaignDriveRow, _DRIVES, campaign_id))


def select_boots(connection: sqlite3.Connection, campaign_id: int) -> tuple[BootRow, ...]:
    """The finished boots of one campaign by drive and cycle; the charted ones come last."""
    return tuple(read_rows(connection, BootRow, _BOOTS, campaign_id))


def select_events(
    connection: sqlite3.Connection,
    *,
    limit: int = -1,
    campaign_id: int | None = None,
    after: int = 0,
) -> tuple[EventRow, ...]:
    """The last `limit` events behind number `after`, the oldest of them first; -1: all of them.

    With `campaign_id` those of that campaign alone.
    """
    return tuple(read_rows(connection, EventRow, _EVENTS, limit, after, campaign_id))[::-1]
