"""What the interface reads: plain SELECTs over tables and views, as frozen rows. Never writes."""

import sqlite3
from dataclasses import dataclass


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


@dataclass(frozen=True, slots=True)
class CampaignDriveRow:
    """One drive of a campaign, in the order the drives take turns."""

    campaign_id: int
    drive_id: int
    drive_serial: str
    """The serial number, or the WWN where there is none, as in `boot_times`."""
    model: str
    role: str
    rotational: bool
    released: bool
    failed_reason: str
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
    """One finished boot. `boot_s` is None where it failed."""

    campaign_id: int
    drive_serial: str
    cycle: int
    charted: bool
    power: str
    cold_proof: str
    cold_reason: str
    valid: bool
    boot_s: float | None
    at: str


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
    """A JSON object: what is put into the sentence; None of events of earlier versions."""


_BOOTS_OF = "(SELECT count(*) FROM cycle k WHERE k.campaign_id = c.id{condition})"


def select_campaigns(connection: sqlite3.Connection) -> tuple[CampaignRow, ...]:
    """Every campaign on the stick, the newest first."""
    rows = connection.execute(
        f"""
        SELECT c.id, c.name, c.state, c.reason, c.created_at, coalesce(c.finished_at, ''),
               {_BOOTS_OF.format(condition="")},
               {_BOOTS_OF.format(condition=" AND k.state = 'done'")},
               {_BOOTS_OF.format(condition=" AND k.state = 'failed' AND k.blame <> 'none'")},
               {_BOOTS_OF.format(condition=" AND k.state = 'failed' AND k.blame = 'none'")},
               c.pause_asked_at IS NOT NULL
        FROM campaign c
        ORDER BY c.id DESC
        """
    )
    return tuple(
        CampaignRow(
            id=row[0],
            name=row[1],
            state=row[2],
            reason=row[3],
            created_at=row[4],
            finished_at=row[5],
            planned=row[6],
            done=row[7],
            failed=row[8],
            skipped=row[9],
            is_pausing=bool(row[10]),
        )
        for row in rows
    )


def select_campaign_drives(
    connection: sqlite3.Connection, campaign_id: int
) -> tuple[CampaignDriveRow, ...]:
    """The drives of one campaign, in their order."""
    rows = connection.execute(
        """
        SELECT cd.campaign_id, cd.drive_id, coalesce(nullif(d.serial, ''), d.wwn), d.model, cd.role,
               d.rotational, cd.released, cd.failed_reason, count(k.id),
               coalesce(sum(k.state = 'done'), 0),
               coalesce(sum(k.state = 'failed' AND k.blame <> 'none'), 0),
               coalesce(sum(k.state = 'failed' AND k.blame = 'none'), 0),
               coalesce(sum(k.state IN ('planned', 'armed')), 0),
               min(CASE WHEN k.state IN ('planned', 'armed') THEN k.position END)
        FROM campaign_drive cd
        JOIN drive d ON d.id = cd.drive_id
        LEFT JOIN cycle k ON k.campaign_id = cd.campaign_id AND k.drive_id = cd.drive_id
        WHERE cd.campaign_id = ?
        GROUP BY cd.drive_id
        ORDER BY cd.slot
        """,
        (campaign_id,),
    )
    return tuple(
        CampaignDriveRow(
            campaign_id=row[0],
            drive_id=row[1],
            drive_serial=row[2],
            model=row[3],
            role=row[4],
            rotational=bool(row[5]),
            released=bool(row[6]),
            failed_reason=row[7],
            planned=row[8],
            done=row[9],
            failed=row[10],
            skipped=row[11],
            open=row[12],
            next_position=row[13],
        )
        for row in rows
    )


def select_boots(connection: sqlite3.Connection, campaign_id: int) -> tuple[BootRow, ...]:
    """The finished boots of one campaign by drive and cycle; the charted ones come last."""
    rows = connection.execute(
        """
        SELECT campaign_id, drive_serial, cycle, charted, power, cold_proof, cold_reason, valid,
               boot_s, coalesce(at, '')
        FROM boot_times
        WHERE campaign_id = ?
        ORDER BY drive_serial, charted, cycle
        """,
        (campaign_id,),
    )
    return tuple(
        BootRow(
            campaign_id=row[0],
            drive_serial=row[1],
            cycle=row[2],
            charted=bool(row[3]),
            power=row[4],
            cold_proof=row[5],
            cold_reason=row[6],
            valid=bool(row[7]),
            boot_s=row[8],
            at=row[9],
        )
        for row in rows
    )


def select_events(connection: sqlite3.Connection, *, limit: int) -> tuple[EventRow, ...]:
    """The last `limit` events, the oldest of them first."""
    rows = connection.execute(
        """
        SELECT seq, campaign_id, at, level, event, detail, fields FROM event
        ORDER BY seq DESC LIMIT ?
        """,
        (limit,),
    ).fetchall()
    return tuple(EventRow(*row) for row in reversed(rows))
