# SPDX-License-Identifier: Apache-2.0
"""Campaigns, their drives, and the drives' own rows."""

import sqlite3
from dataclasses import dataclass

from appliance.errors import Blame
from appliance.store.checksums import sealing
from appliance.store.clock import timestamp
from appliance.store.rows import (
    DRIVE_NAME,
    as_record,
    has_row,
    insert_row,
    list_columns,
    read_row,
    read_rows,
    read_value,
)
from appliance.store.tables.events import insert_phrases


@dataclass(frozen=True, slots=True)
class CampaignRow:
    """One campaign as stored."""

    id: int
    name: str
    plan_toml: str
    plan_sha256: str
    state: str
    """preparing | running | paused | done"""
    reason: str
    on_finish: str
    power_actions: int
    max_power_actions: int
    max_attempts: int
    wake_margin_s: float | None
    """None until the rehearsal has shown how long a shutdown takes."""
    settle_s: int
    temperature_band: int
    """In K; 0: any temperature will do."""
    cool: str
    """none | evict: what is done before each boot, so that the drive forgets."""
    power_on_by: str
    """clock | asked | people: see `schema.sql`"""
    created_at: str
    finished_at: str | None


@dataclass(frozen=True, slots=True)
class CampaignDriveRow:
    """A drive's part in a campaign."""

    drive_id: int
    serial: str
    wwn: str
    name: str
    """What it is called in the campaign: its identity, or its WWN if another one has that too."""
    role: str
    released: bool
    slot: int
    released_model: str
    released_size_bytes: int
    """The drive as it was when it was released; another one behind the same serial is refused."""
    install_uuid: str
    """GUID of the partition table that this campaign's installation made; empty before."""
    installed_at: str | None
    failed_reason: str
    asked_serial: str = ""
    """What the drive itself answered when it was released; all empty: it did not."""
    asked_wwn: str = ""
    asked_model: str = ""
    asked_size_bytes: int = 0
    mark_uuid: str = ""
    """GUID of the empty partition table that the campaign's last step on the bare drive made there,
    before it wrote and at its end, or of the one that an installation is to make; empty without."""
    mark_sha256: str = ""
    """Of both ends of the drive, as a step left them that did not come to its end."""
    written_over: bool = False
    """Whether a step or an installation is writing, or was cut off while it did: then nothing need
    be left of the mark."""
    serial_doubt: str = ""
    """Why its serial number may be other drives' too; empty where it is its own."""
    noted_content: str | None = None
    """What was on it when it was released, when this campaign last began to write to it, or when
    its reference OS was whole, see `workloads.drive_content`; None while what it was left with
    tells enough."""

    @property
    def identity(self) -> str:
        """The serial number, or the WWN where there is none."""
        return self.serial or self.wwn

    @property
    def mark(self) -> str:
        """By what the ends of the drive are known; another one whenever it was written since."""
        return f"{self.mark_uuid}{self.mark_sha256}"


@dataclass(frozen=True, slots=True)
class NewDrive:
    """What is stored of a drive that was seen."""

    serial: str
    wwn: str
    model: str
    firmware: str
    size_bytes: int
    rotational: bool
    transport: str
    logical_block_bytes: int
    physical_block_bytes: int


def insert_drive(connection: sqlite3.Connection, drive: NewDrive) -> int:
    """Store a drive that was seen now, or note that it was seen again; return its id."""
    seen = as_record(drive, first_seen=timestamp())
    row = connection.execute(
        """
        INSERT INTO drive (serial, wwn, model, firmware, size_bytes, rotational, transport,
                           logical_block_bytes, physical_block_bytes, first_seen, last_seen)
        VALUES (:serial, :wwn, :model, :firmware, :size_bytes, :rotational, :transport,
                :logical_block_bytes, :physical_block_bytes, :first_seen, :first_seen)
        ON CONFLICT (serial, wwn) DO UPDATE SET model = excluded.model, firmware =
            excluded.firmware,
            size_bytes = excluded.size_bytes, rotational = excluded.rotational, transport =
            excluded.transport, logical_block_bytes = excluded.logical_block_bytes,
            physical_block_bytes = excluded.physical_block_bytes, last_seen = excluded.last_seen
        RETURNING id
        """,
        seen,
    ).fetchone()
    return int(row["id"])


def insert_campaign(
    connection: sqlite3.Connection,
    *,
    name: str,
    plan_toml: str,
    plan_sha256: str,
    on_finish: str,
    max_power_actions: int,
    max_attempts: int,
    wake_margin_s: float | None,
    settle_s: int = 0,
    temperature_band: int = 0,
    cool: str = "none",
) -> int:
    """A new campaign in state `preparing`; return its id."""
    with sealing(connection, "campaign"):
        return insert_row(
            connection,
            "campaign",
            name=name,
            plan_toml=plan_toml,
            plan_sha256=plan_sha256,
            state="preparing",
            on_finish=on_finish,
            max_power_actions=max_power_actions,
            max_attempts=max_attempts,
            wake_margin_s=wake_margin_s,
            settle_s=settle_s,
            temperature_band=temperature_band,
            cool=cool,
            created_at=timestamp(),
        )


def insert_campaign_drive(
    connection: sqlite3.Connection,
    *,
    campaign_id: int,
    drive_id: int,
    role: str,
    released: bool,
    slot: int,
    released_model: str,
    released_size_bytes: int,
    asked: tuple[str, str, str, int] = ("", "", "", 0),
    serial_doubt: str = "",
    released_content: str | None = None,
    label: str = "",
) -> None:
    """A drive's part in a campaign, with the bus and the medium that it was just seen with.

    `asked` is what the drive itself answered: serial number, WWN, model, size in bytes.
    `serial_doubt` says why its number may be other drives' too, `label` how the plan calls it.
    """
    with sealing(connection, "campaign_drive"):
        connection.execute(
            """
            INSERT INTO campaign_drive (campaign_id, drive_id, role, released, slot, released_model,
                                        released_size_bytes, asked_serial, asked_wwn, asked_model,
                                        asked_size_bytes, serial_doubt, released_content, label,
                                        transport, rotational)
            SELECT ?, id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, transport, rotational
            FROM drive WHERE id = ?
            """,
            (
                campaign_id,
                role,
                int(released),
                slot,
                released_model,
                released_size_bytes,
                *asked,
                serial_doubt,
                released_content,
                label,
                drive_id,
            ),
        )


def select_campaign(connection: sqlite3.Connection, campaign_id: int) -> CampaignRow | None:
    """The campaign with this id."""
    return _read_campaign(connection, "WHERE id = ?", campaign_id)


def select_unfinished_campaign(connection: sqlite3.Connection) -> CampaignRow | None:
    """The campaign that is under way, or else the newest paused one."""
    clause = "WHERE state <> 'done' ORDER BY state = 'paused', id DESC LIMIT 1"
    return _read_campaign(connection, clause)


def _read_campaign(
    connection: sqlite3.Connection, wanted: str, *parameters: object
) -> CampaignRow | None:
    query = f"SELECT {', '.join(list_columns(CampaignRow))} FROM campaign {wanted}"
    return read_row(connection, CampaignRow, query, *parameters)


def select_power_actions(connection: sqlite3.Connection, plan_sha256: str) -> int:
    """How many the last campaign from this plan has counted; 0 where there is none."""
    query = "SELECT power_actions FROM campaign WHERE plan_sha256 = ? ORDER BY id DESC LIMIT 1"
    return read_value(connection, int, query, plan_sha256) or 0


def knows_plan(connection: sqlite3.Connection, plan_sha256: str) -> bool:
    """Whether this stick started a campaign from this very plan, or a person declined it here.

    Campaigns of other sticks do not count: they are done, in a boot of which no `ready` is here
    (see select_unreported_campaign).
    """
    query = """
        SELECT 1 FROM campaign c WHERE plan_sha256 = ? AND (
            state <> 'done' OR EXISTS (
                SELECT 1 FROM event done JOIN event start ON start.boot_id = done.boot_id
                WHERE done.campaign_id = c.id AND done.event = 'campaign-done'
                AND start.campaign_id IS NULL AND start.event = 'ready'))
        UNION ALL
        SELECT 1 FROM event WHERE event = 'autostart-declined'
            AND iif(json_valid(fields), fields ->> 'plan_sha256', NULL) = ? LIMIT 1
        """
    return has_row(connection, query, plan_sha256, plan_sha256)


def knows_table(connection: sqlite3.Connection, install_uuid: str) -> bool:
    """Whether a campaign made the partition table with this GUID, with its reference OS."""
    query = "SELECT 1 FROM campaign_drive WHERE install_uuid = ? AND install_uuid <> ''"
    return has_row(connection, query, install_uuid)


def knows_mark(connection: sqlite3.Connection, own_uuid: str) -> bool:
    """Whether that table or file system is what a campaign of this database left on a drive."""
    query = (
        "SELECT 1 FROM campaign_drive WHERE mark_uuid = ?1"
        " UNION SELECT 1 FROM file_system WHERE uuid = ?1"
    )
    return has_row(connection, query, own_uuid)


def knows_cut(connection: sqlite3.Connection, *, serial: str, wwn: str) -> bool:
    """Whether the last step of a campaign on the bare drive ended in its middle."""
    query = (
        "SELECT 1 FROM campaign_drive cd JOIN drive d ON d.id = cd.drive_id"
        " WHERE (cd.written_over OR cd.mark_sha256 <> '') AND d.serial = ? AND d.wwn = ?"
    )
    return has_row(connection, query, serial, wwn)


def select_campaign_drives(
    connection: sqlite3.Connection, campaign_id: int
) -> tuple[CampaignDriveRow, ...]:
    """The campaign's drives in the order of their slots."""
    query = f"""
        SELECT cd.drive_id, d.serial, d.wwn, {DRIVE_NAME} AS name, cd.role, cd.released, cd.slot,
               cd.released_model, cd.released_size_bytes, cd.install_uuid, cd.installed_at,
               cd.failed_reason, cd.asked_serial, cd.asked_wwn, cd.asked_model,
               cd.asked_size_bytes, cd.mark_uuid, cd.mark_sha256,
               cd.written_over, cd.serial_doubt,
               cd.released_content AS noted_content
        FROM campaign_drive cd JOIN drive d ON d.id = cd.drive_id
        WHERE cd.campaign_id = ? ORDER BY cd.slot
        """
    return tuple(read_rows(connection, CampaignDriveRow, query, campaign_id))


def update_campaign_state(
    connection: sqlite3.Connection, campaign_id: int, state: str, *, reason: str = ""
) -> None:
    """Enter a state; `done` also notes the time."""
    connection.execute(
        """
        UPDATE campaign SET state = ?, reason = ?, finished_at = CASE ? WHEN 'done' THEN ? END
        WHERE id = ?
        """,
        (state, reason, state, timestamp(), campaign_id),
    )
    insert_phrases(connection, campaign_id, reason)


def update_installed(
    connection: sqlite3.Connection,
    campaign_id: int,
    drive_id: int,
    *,
    install_uuid: str,
    content: str | None = None,
) -> None:
    """The reference OS is on the drive, whole, in the partition table with this GUID."""
    connection.execute(
        """
        UPDATE campaign_drive SET installed_at = ?, install_uuid = ?, mark_uuid = '',
        mark_sha256 = '', written_over = 0, released_content = ?
        WHERE campaign_id = ? AND drive_id = ?
        """,
        (timestamp(), install_uuid, content, campaign_id, drive_id),
    )


def update_marks(
    connection: sqlite3.Connection,
    campaign_id: int,
    drive_id: int,
    *,
    mark_uuid: str,
    mark_sha256: str,
    written_over: bool,
    noted_content: str | None = None,
) -> None:
    """What of the campaign's is at the ends of the bare drive; see CampaignDriveRow."""
    connection.execute(
        """
        UPDATE campaign_drive SET mark_uuid = ?, mark_sha256 = ?, written_over = ?,
        released_content = ? WHERE campaign_id = ? AND drive_id = ?
        """,
        (mark_uuid, mark_sha256, int(written_over), noted_content, campaign_id, drive_id),
    )


def update_uninstalled(
    connection: sqlite3.Connection, campaign_id: int, drive_id: int, *, written_over: bool
) -> None:
    """Whatever is on the drive is about to be overwritten; see CampaignDriveRow."""
    connection.execute(
        "UPDATE campaign_drive SET install_uuid = '', mark_uuid = '', mark_sha256 = '',"
        " written_over = ?, released_content = NULL WHERE campaign_id = ? AND drive_id = ?",
        (int(written_over), campaign_id, drive_id),
    )


def update_drive_failed(
    connection: sqlite3.Connection,
    campaign_id: int,
    drive_id: int,
    *,
    reason: str,
    blame: Blame = "drive",
) -> None:
    """Abandon the drive: it takes no further part in the campaign, and so its open cycles fail."""
    connection.execute(
        """
        UPDATE campaign_drive SET failed_reason = ?, failed_blame = ?
        WHERE campaign_id = ? AND drive_id = ?
        """,
        (reason, blame, campaign_id, drive_id),
    )
    connection.execute(
        """
        UPDATE cycle SET state = 'failed', reason = ?, blame = ?
        WHERE campaign_id = ? AND drive_id = ? AND state IN ('planned', 'armed')
        """,
        (reason, blame, campaign_id, drive_id),
    )
    insert_phrases(connection, campaign_id, reason)


def update_wake_margin(
    connection: sqlite3.Connection, campaign_id: int, wake_margin_s: float
) -> None:
    """What the rehearsal showed."""
    connection.execute(
        "UPDATE campaign SET wake_margin_s = ? WHERE id = ?", (wake_margin_s, campaign_id)
    )


def update_power_on_by(connection: sqlite3.Connection, campaign_id: int, power_on_by: str) -> None:
    """What switches the machine on again after a power-off."""
    connection.execute(
        "UPDATE campaign SET power_on_by = ? WHERE id = ?", (power_on_by, campaign_id)
    )


def update_max_power_actions(
    connection: sqlite3.Connection, campaign_id: int, max_power_actions: int
) -> None:
    """A person lets the campaign go on: a new limit."""
    connection.execute(
        "UPDATE campaign SET max_power_actions = ? WHERE id = ?", (max_power_actions, campaign_id)
    )


def select_unreported_campaign(connection: sqlite3.Connection) -> int | None:
    """A campaign that ended on this stick, but whose report was cut short by a power loss.

    Events without a campaign are not merged: a boot that has a `ready` was one of this stick's.
    """
    query = """
        SELECT id FROM campaign c WHERE state = 'done'
        AND NOT EXISTS (
            SELECT 1 FROM event e
            WHERE e.campaign_id = c.id AND e.event IN ('report', 'report-failed'))
        AND EXISTS (
            SELECT 1 FROM event done JOIN event start ON start.boot_id = done.boot_id
            WHERE done.campaign_id = c.id AND done.event = 'campaign-done'
            AND start.campaign_id IS NULL AND start.event = 'ready')
        ORDER BY id DESC LIMIT 1
        """
    return read_value(connection, int, query)


def count_power_action(connection: sqlite3.Connection, campaign_id: int) -> None:
    """One more automatic power-off or reboot, counted before it happens."""
    connection.execute(
        "UPDATE campaign SET power_actions = power_actions + 1 WHERE id = ?", (campaign_id,)
    )
