# SPDX-License-Identifier: Apache-2.0
"""What a report reads about a campaign: SELECTs, a dataclass per kind of row. Never writes."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from appliance.errors import PlanError
from appliance.phrases import N_, Phrase
from appliance.store.checksums import CHECKED, DAMAGED, SEALED, Damaged, find_damaged, list_keys
from appliance.store.read.workloads import WorkloadRows, select_workloads
from appliance.store.rows import DRIVE_NAME, Cell, Record, read_records, read_rows
from appliance.store.tables import campaigns
from appliance.store.tables.health import HealthRow, select_health
from appliance.store.tables.verdicts import (
    JudgingRow,
    LimitRow,
    VerdictRow,
    select_judging,
    select_limits,
    select_verdicts,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

BOOT_TIMES = (
    "campaign_id", "drive_serial", "drive_role", "cycle", "power", "cold_proof", "cold_reason",
    "valid", "charted", "boot_s", "firmware_s", "loader_s", "kernel_s", "initrd_s", "userspace_s",
    "session_s", "io_quiet_s", "read_bytes", "read_ios", "wake_skew_s", "at", "mode", "trained",
    "drive_celsius", "cpu_celsius", "kernel_errors", "path", "label", "cooling", "session_wait_s",
    "off_s", "drive_wwn",
)  # fmt: skip
"""The columns of the view `boot_times`."""

_DRIVES = """
    SELECT d.id, cd.slot, cd.role, cd.failed_reason, d.serial, d.wwn, d.identity,
           {name} AS name, cd.released_model AS model,
           -- As it was then: the drive's own row has the newest.
           coalesce((SELECT c.value FROM condition c WHERE c.campaign_id = cd.campaign_id
                     AND c.drive_id = d.id AND c.name = 'firmware' AND c.id NOT IN {damaged}
                     ORDER BY c.id LIMIT 1),
                    d.firmware) AS firmware,
           cd.released_size_bytes AS size_bytes, cd.rotational, cd.transport, cd.serial_doubt,
           cd.label
    FROM campaign_drive cd JOIN drive d ON d.id = cd.drive_id
    WHERE cd.campaign_id = ? ORDER BY cd.slot
"""
# The defaults for a boot without a sample are those of the view boot_times. What was replayed
# before is known: by the order of numbers on this stick, and by the clock of what was imported.
_BOOTS = """
    SELECT c.id, c.drive_id, c.position, c.cycle, c.charted, c.power, c.mode, c.state, c.attempts,
           c.reason, coalesce(s.at, c.armed_at) AS at, s.boot_s,
           s.firmware_s, s.loader_s, s.kernel_s, s.initrd_s, s.userspace_s, s.session_s,
           s.io_quiet_s, s.read_bytes, s.read_ios, s.wake_skew_s,
           CASE WHEN c.id IN {damaged} THEN 'unproven'
                ELSE coalesce(s.cold_proof, iif(c.power = 'warm', 'warm', 'unproven'))
           END AS cold_proof,
           iif(c.id IN {damaged}, ?, coalesce(s.cold_reason, c.reason)) AS cold_reason,
           iif(c.id IN {damaged}, 'partial', s.page_cache) AS page_cache,
           iif(c.id IN {damaged}, 0, coalesce(s.valid, 0)) AS valid, c.trained,
           s.drive_celsius, s.cpu_celsius, coalesce(s.kernel_errors, '') AS kernel_errors,
           coalesce(s.path, c.path) AS path, s.session_wait_s, s.off_s,
           iif(p.cool = 'none', 'none', coalesce(
               (SELECT iif(k.id IN {coolings}, 'unproven', k.proof) FROM cooling k
                WHERE k.cycle_id = c.id ORDER BY k.id DESC LIMIT 1), 'unproven')) AS cooling,
           c.cycle = 1 AND EXISTS (
               SELECT 1 FROM replay own JOIN replay r ON r.list_sha256 = own.list_sha256
               JOIN cycle o ON o.id = r.cycle_id JOIN campaign q ON q.id = o.campaign_id
               WHERE own.cycle_id = c.id AND o.drive_id = c.drive_id AND q.id <> p.id
                   AND (q.id < p.id OR q.created_at < p.created_at)) AS is_known
    FROM cycle c JOIN campaign p ON p.id = c.campaign_id
    LEFT JOIN boot_sample s ON s.cycle_id = c.id
    WHERE c.campaign_id = ? ORDER BY c.position
"""
_REPLAYS = """
    WITH shown AS (
        SELECT c.id, c.drive_id, c.cycle, c.campaign_id, c.power, s.page_cache,
               row_number() OVER (PARTITION BY c.drive_id ORDER BY c.cycle) AS nth,
               row_number() OVER (PARTITION BY c.drive_id ORDER BY c.cycle DESC) AS nth_last
        FROM cycle c JOIN boot_sample s ON s.cycle_id = c.id
        WHERE c.campaign_id = ? AND c.mode = 'replay' AND s.valid AND NOT c.trained
    )
    SELECT b.drive_id, b.cycle, b.power, b.page_cache, coalesce(l.origin, '') AS origin, l.version,
           l.seed, r.list_sha256,
           r.started_s, r.before_read_ios, r.before_read_bytes, r.p50_ns, r.p95_ns, r.p99_ns,
           r.max_ns, r.times_ns
    FROM shown b JOIN replay r ON r.cycle_id = b.id
    LEFT JOIN replay_list l ON l.campaign_id = b.campaign_id
    WHERE (b.nth <= 2 OR b.nth_last = 1) AND b.id NOT IN {damaged} ORDER BY b.drive_id, b.cycle
"""
_START_UPS = """
    SELECT c.id AS boot_id, c.drive_id, d.identity AS drive_serial, d.wwn AS drive_wwn, c.cycle,
           c.charted, s.units
    FROM start_up s JOIN cycle c ON c.id = s.cycle_id JOIN drive d ON d.id = c.drive_id
    WHERE c.campaign_id = ? AND c.id NOT IN {damaged} ORDER BY c.position
"""
# The clock may be set back, at each power-off even: what ended on this stick is in the order
# of its numbers (see `is_own_campaign`). An import has a late number.
_EARLIER = """
    WITH ours AS (
        SELECT campaign_id FROM event WHERE event = 'campaign-done' AND boot_id IN
            (SELECT boot_id FROM event WHERE event = 'ready' AND campaign_id IS NULL))
    SELECT c.id, c.id IN ours AND own.campaign_id IN ours AS both_ours FROM campaign c
    JOIN campaign_drive cd ON cd.campaign_id = c.id
    JOIN campaign_drive own ON own.campaign_id = ? AND own.drive_id = cd.drive_id
    JOIN drive d ON d.id = cd.drive_id
        AND (own.released_model = cd.released_model OR d.wwn <> '')
        AND own.released_size_bytes = cd.released_size_bytes
        AND own.serial_doubt = '' AND cd.serial_doubt = ''
    WHERE iif(both_ours, c.id < own.campaign_id, (c.created_at, c.id) < (?, own.campaign_id))
        AND (EXISTS (SELECT 1 FROM boot_sample s JOIN cycle y ON y.id = s.cycle_id
                     WHERE y.campaign_id = c.id AND y.drive_id = cd.drive_id)
             OR EXISTS (SELECT 1 FROM result r JOIN step t ON t.id = r.step_id
                        WHERE t.campaign_id = c.id AND t.drive_id = cd.drive_id))
    ORDER BY both_ours DESC, iif(both_ours, c.id, c.created_at) DESC, c.id DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class DriveRow:
    """One drive of a campaign with its role in it."""

    id: int
    slot: int
    role: str
    failed_reason: str
    serial: str
    wwn: str
    identity: str
    """The serial number, or the WWN where there is none."""
    name: str
    """What it is called: its identity, or its WWN if another drive of the campaign has that."""
    model: str
    firmware: str
    size_bytes: int
    rotational: int
    transport: str
    serial_doubt: str
    """Why the serial number may be other drives' too; empty where it is its own."""
    label: str = ""
    """The plan's words for it, such as its bay; empty without."""

    @property
    def token(self) -> str:
        """What no other drive shows; empty where another one may."""
        if self.serial_doubt or not self.identity:
            return ""
        # A WWN is no other drive's, whatever is taken for the model.
        model = "" if self.wwn else self.model
        return json.dumps([self.serial, self.wwn, model, self.size_bytes])


@dataclass(frozen=True, slots=True)
class BootRow:
    """One planned boot: what was to be done, and what was measured where it was."""

    id: int
    drive_id: int
    position: int
    cycle: int
    charted: int
    power: str
    mode: str
    """install | replay"""
    state: str
    """planned | armed | done | failed | skipped"""
    attempts: int
    reason: str
    at: str | None
    boot_s: float | None
    firmware_s: float | None
    loader_s: float | None
    kernel_s: float | None
    initrd_s: float | None
    userspace_s: float | None
    session_s: float | None
    io_quiet_s: float | None
    read_bytes: int | None
    read_ios: int | None
    wake_skew_s: float | None
    cold_proof: str
    cold_reason: str
    page_cache: str | None
    valid: int
    trained: int
    drive_celsius: float | None
    cpu_celsius: float | None
    kernel_errors: str
    path: str
    """stick | drive: whose loader, kernel and initrds it was started with; installed."""
    cooling: str
    """none | proven | unproven: whether the drive was made to forget before it."""
    session_wait_s: float | None
    off_s: float | None
    is_known: int
    """Whether the same reads were replayed on its drive before the campaign; of a first boot."""

    @property
    def is_timed(self) -> bool:
        """Whether its time is to be in a figure."""
        return not self.charted and not self.trained

    @property
    def has_sample(self) -> bool:
        """Whether it was made and stored, timed or not."""
        return self.page_cache is not None


@dataclass(frozen=True, slots=True)
class ReplayRow:
    """The reads of a boot in replay mode: of each drive's first, second and last valid one."""

    drive_id: int
    cycle: int
    power: str
    page_cache: str
    origin: str
    version: int | None
    seed: int | None
    list_sha256: str
    started_s: float
    before_read_ios: int
    before_read_bytes: int
    p50_ns: int
    p95_ns: int
    p99_ns: int
    max_ns: int
    times_ns: str
    """A JSON list, in the order of the reads."""


@dataclass(frozen=True, slots=True)
class StartUpRow:
    """The units of a measured boot, timed or charted."""

    boot_id: int
    """`BootRow.id`"""
    drive_id: int
    drive_serial: str
    drive_wwn: str
    cycle: int
    charted: int
    units: str
    """For `start_ups.parse_units`."""


@dataclass(frozen=True, slots=True)
class ArrayMadeRow:
    """An array that the campaign made of two of its drives."""

    state: str
    """making | made | parting | apart"""
    reason: str


@dataclass(frozen=True, slots=True)
class ConditionRow:
    """What decides about figures, from `since` on; of the machine where `drive_serial` is empty."""

    campaign_id: int
    drive_serial: str
    name: str
    value: str
    since: str
    seq: int
    drive_wwn: str


@dataclass(frozen=True, slots=True)
class VerdictRows:
    """The verdicts of a campaign and what they are based on."""

    judging: JudgingRow | None
    """None: judging it was never attempted."""
    verdicts: tuple[VerdictRow, ...]
    limits: dict[int, tuple[LimitRow, ...]]
    """By the drive's id."""
    health: tuple[HealthRow, ...]


@dataclass(frozen=True, slots=True)
class CampaignRows:
    """Everything a report needs, read at one moment."""

    campaign: campaigns.CampaignRow
    drives: tuple[DriveRow, ...]
    boots: tuple[BootRow, ...]
    boot_times: tuple[Record, ...]
    drive_records: tuple[Record, ...]
    events: tuple[Record, ...]
    workloads: WorkloadRows
    arrays: tuple[ArrayMadeRow, ...]
    """In the order in which they were made."""
    verdicts: VerdictRows
    health: tuple[Record, ...]
    """The view `health`, one per counter."""
    conditions: tuple[ConditionRow, ...]
    """In the order in which they were noted."""
    replays: tuple[ReplayRow, ...] = ()
    start_ups: tuple[StartUpRow, ...] = ()
    """In the order of the boots."""
    damaged: tuple[Damaged, ...] = ()
    """What the stick did not give back as it was stored. Not valid wherever it appears."""

    def group_conditions(self, drive: DriveRow | None) -> dict[str, list[ConditionRow]]:
        """Of a drive, or of the machine, by name, the oldest first."""
        # Two drives may have the same serial number.
        owner = (drive.identity, drive.wwn) if drive else ("", "")
        groups: dict[str, list[ConditionRow]] = {}
        for row in self.conditions:
            if (row.drive_serial, row.drive_wwn) == owner:
                groups.setdefault(row.name, []).append(row)
        return groups

    def find_condition(self, drive: DriveRow, name: str) -> str:
        """What was noted of a drive last; empty if nothing was."""
        history = self.group_conditions(drive).get(name)
        return history[-1].value if history else ""


def select_campaign(
    connection: sqlite3.Connection, *, campaign_id: int, with_activity: bool = True
) -> CampaignRows:
    """Everything about one campaign. Raises PlanError where there is no such campaign.

    The recordings of activity and of start-ups may be long; what only holds figures against each
    other needs none.
    """

    def select[T: DataclassInstance](make: type[T], query: str, *before: Cell) -> tuple[T, ...]:
        return tuple(read_rows(connection, make, query, *before, campaign_id))

    # One read transaction: the engine may be adding rows meanwhile.
    connection.execute("BEGIN")
    try:
        campaign = campaigns.select_campaign(connection, campaign_id)
        if campaign is None:
            raise PlanError(
                Phrase(N_("there is no campaign {number} in the database"), number=campaign_id)
            )
        tables = SEALED if with_activity else CHECKED
        damaged = find_damaged(connection, campaign_id=campaign_id, tables=tables)
        unsure = list_keys(damaged, "condition")
        drives = select(DriveRow, _DRIVES.format(name=DRIVE_NAME, damaged=unsure))
        verdicts = _select_verdicts(connection, campaign_id, damaged)
        return CampaignRows(
            campaign=campaign,
            drives=drives,
            boots=select(
                BootRow,
                _BOOTS.format(
                    damaged=list_keys(damaged, "boot_sample", "cycle"),
                    coolings=list_keys(damaged, "cooling"),
                ),
                DAMAGED,
            ),
            replays=select(
                ReplayRow, _REPLAYS.format(damaged=list_keys(damaged, "replay", "cycle"))
            ),
            start_ups=select(StartUpRow, _START_UPS.format(damaged=list_keys(damaged, "start_up")))
            if with_activity
            else (),
            boot_times=_select_boot_times(connection, campaign_id, damaged),
            drive_records=_select_drive_records(connection, drives),
            events=read_records(
                connection, "SELECT * FROM events WHERE campaign_id = ? ORDER BY seq", campaign_id
            ),
            workloads=select_workloads(
                connection, campaign_id, damaged=damaged, with_activity=with_activity
            ),
            arrays=select(
                ArrayMadeRow,
                "SELECT state, reason FROM array_made WHERE campaign_id = ? ORDER BY id",
            ),
            verdicts=verdicts,
            health=_select_health_records(connection, campaign_id, verdicts.health),
            conditions=select(
                ConditionRow,
                f"SELECT * FROM conditions WHERE campaign_id = ? AND seq NOT IN {unsure}"
                " ORDER BY seq",
            ),
            damaged=damaged,
        )
    finally:
        # SQLite has rolled back on its own if the stick could not be read.
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def select_earlier(connection: sqlite3.Connection, rows: CampaignRows) -> CampaignRows | None:
    """The newest campaign before this one that measured one of its drives; None without any.

    One that this stick ran itself comes before those of other sticks.

    Another disk in the same dock is none of them. Without its recording of activity.
    """
    campaign = rows.campaign
    row = connection.execute(_EARLIER, (campaign.id, campaign.created_at)).fetchone()
    if row is None:
        return None
    return select_campaign(connection, campaign_id=row[0], with_activity=False)


def _select_verdicts(
    connection: sqlite3.Connection, campaign_id: int, damaged: Sequence[Damaged]
) -> VerdictRows:
    verdicts = select_verdicts(connection, campaign_id)
    return VerdictRows(
        judging=select_judging(connection, campaign_id),
        verdicts=verdicts,
        limits={
            row.drive_id: select_limits(connection, campaign_id, row.drive_id, damaged=damaged)
            for row in verdicts
        },
        health=select_health(connection, campaign_id, damaged=damaged),
    )


def _select_health_records(
    connection: sqlite3.Connection, campaign_id: int, sound: Sequence[HealthRow]
) -> tuple[Record, ...]:
    counters: dict[tuple[Cell, ...], set[Cell]] = {
        (row.drive_serial, row.drive_wwn, row.moment): {None, *row.counters} for row in sound
    }
    records = read_records(
        connection,
        "SELECT * FROM health WHERE campaign_id = ?"
        " ORDER BY drive_serial, drive_wwn, moment DESC, counter",
        campaign_id,
    )
    keys = ("drive_serial", "drive_wwn", "moment")
    return tuple(
        record
        for record in records
        if record["counter"] in counters.get(tuple(record[key] for key in keys), ())
    )


def _select_drive_records(
    connection: sqlite3.Connection, drives: Sequence[DriveRow]
) -> tuple[Record, ...]:
    """The view `drives`, as they were in the campaign: the number of a dock is many disks' own."""
    return tuple(
        record
        | {
            "model": drive.model,
            "firmware": drive.firmware,
            "size_bytes": drive.size_bytes,
            "rotational": drive.rotational,
            "transport": drive.transport,
            "serial_doubt": drive.serial_doubt,
            "label": drive.label,
        }
        for drive in drives
        for record in read_records(
            connection,
            "SELECT * FROM drives WHERE serial = ? AND wwn = ?",
            drive.serial,
            drive.wwn,
        )
    )


def _select_boot_times(
    connection: sqlite3.Connection, campaign_id: int, damaged: Sequence[Damaged]
) -> tuple[Record, ...]:
    boots = {
        tuple(row)
        for row in connection.execute(
            "SELECT d.identity, d.wwn, c.cycle, c.charted FROM cycle c"
            " JOIN drive d ON d.id = c.drive_id"
            f" WHERE c.id IN {list_keys(damaged, 'boot_sample', 'cycle')}"
        )
    }
    records = read_records(
        connection,
        "SELECT * FROM boot_times WHERE campaign_id = ?"
        " ORDER BY drive_serial, drive_wwn, charted, cycle",
        campaign_id,
    )
    keys = ("drive_serial", "drive_wwn", "cycle", "charted")
    return tuple(
        record | {"valid": 0, "cold_proof": "unproven", "cold_reason": DAMAGED}
        if tuple(record[key] for key in keys) in boots
        else record
        for record in records
    )
