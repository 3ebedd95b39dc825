# SPDX-License-Identifier: Apache-2.0
"""Cycles (planned boots of a drive), their samples, and when their units started."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from appliance.errors import Blame
from appliance.samples.unit_times import UnitTime
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

_TIMES = (
    "boot_s", "firmware_s", "loader_s", "kernel_s", "initrd_s", "userspace_s", "session_s",
    "io_quiet_s", "session_wait_s",
)  # fmt: skip
"""Of a sample; all are times of the boot itself."""


@dataclass(frozen=True, slots=True)
class CycleRow:
    """One planned boot of one drive. `charted`: sampled by bootchart, not among the timed ones."""

    id: int
    campaign_id: int
    drive_id: int
    position: int
    cycle: int
    charted: bool
    power: str
    """cold | warm"""
    mode: str
    """install | replay"""
    state: str
    """planned | armed | done | failed | skipped"""
    attempts: int
    entry: str
    armed_at: str | None
    armed_boot_id: str
    left_at: str | None
    """When power was asked to go for this cycle; None while the boot that armed it goes on."""
    alarm_at: str | None
    power_cycles_before: int | None
    reason: str
    cache_power_cycles_before: int | None = None
    """Of the cache drive, where the boot is an array's."""
    trained: bool = False
    """Whether it comes before the timed boots, and is not timed itself."""
    path: str = "stick"
    """stick | drive: whose loader, kernel and initrds it is to be started with; installed: the
    drive's own system."""

    @property
    def installs(self) -> bool:
        """Whether it needs a reference OS on the drive."""
        return self.mode == "install" and self.path != "installed"

    @property
    def starts_installed(self) -> bool:
        """Whether the drive's own system is started."""
        return self.mode == "install" and self.path == "installed"


@dataclass(frozen=True, slots=True)
class BootSample:
    """What one measured boot showed. Times in seconds; None is not known on this machine."""

    boot_id: str
    boot_s: float
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
    drive_celsius: float | None = None
    """Of the drive, or of the array's hottest, right after the boot; None without a sensor."""
    cpu_celsius: float | None = None
    kernel_errors: str = ""
    """What the kernel reported of errors of the drive; empty without one."""
    path: str = "stick"
    """stick | drive: whose ESP the loader says it came from; installed: all but the boot's number
    was reported by the drive's own system."""
    session_wait_s: float | None = None
    """From the end of the start-up to the first read of the session: in no other time."""
    off_s: float | None = None
    """From asking for the power-off until the kernel started, by the machine's clock.

    With the shutdown before it and the firmware behind it; None where the boot was to be warm.
    """


def insert_cycle(
    connection: sqlite3.Connection,
    *,
    campaign_id: int,
    drive_id: int,
    position: int,
    cycle: int,
    charted: bool,
    power: str,
    trained: bool = False,
    mode: str = "install",
    path: str = "stick",
) -> None:
    """A planned boot."""
    with sealing(connection, "cycle"):
        insert_row(
            connection,
            "cycle",
            campaign_id=campaign_id,
            drive_id=drive_id,
            position=position,
            cycle=cycle,
            charted=int(charted),
            power=power,
            trained=int(trained),
            mode=mode,
            path=path,
        )


def select_cycles(connection: sqlite3.Connection, campaign_id: int) -> tuple[CycleRow, ...]:
    """All cycles of a campaign, in the order in which they are to happen."""
    columns = ", ".join(list_columns(CycleRow))
    query = f"SELECT {columns} FROM cycle WHERE campaign_id = ? ORDER BY position"
    return tuple(read_rows(connection, CycleRow, query, campaign_id))


def select_cycle(connection: sqlite3.Connection, cycle_id: int) -> CycleRow | None:
    """By its row's id."""
    query = f"SELECT {', '.join(list_columns(CycleRow))} FROM cycle WHERE id = ?"
    return read_row(connection, CycleRow, query, cycle_id)


@dataclass(frozen=True, slots=True)
class ChartedBoot:
    """A charted boot that was made."""

    cycle_id: int
    campaign_id: int
    drive: str
    """What it is called in the campaign."""
    wwn: str
    cycle: int


def select_charted(connection: sqlite3.Connection) -> tuple[ChartedBoot, ...]:
    """All charted boots of the stick, the newest first."""
    rows = connection.execute(
        f"""
        SELECT c.id, c.campaign_id, {DRIVE_NAME}, d.wwn, c.cycle
        FROM cycle c JOIN drive d ON d.id = c.drive_id
        JOIN campaign_drive cd ON cd.campaign_id = c.campaign_id AND cd.drive_id = c.drive_id
        WHERE c.charted AND c.state = 'done' ORDER BY c.id DESC
        """
    ).fetchall()
    return tuple(ChartedBoot(*row) for row in rows)


@dataclass(frozen=True, slots=True)
class KnownCount:
    """What a drive said of its power-ons when it was asked last, and what is known since."""

    power_cycles: int
    boots: int
    """In which something was stored since then."""


def select_known_count(
    connection: sqlite3.Connection, campaign_id: int, drive_id: int
) -> KnownCount | None:
    """Before the campaign's last boot from this drive; None without one since a person resumed it.

    Until a person resumes it, the machine may have been used for anything.
    """
    query = """
        WITH asked AS (
            SELECT c.power_cycles_before AS count, c.armed_boot_id AS boot_id,
                (SELECT max(seq) FROM event WHERE boot_id = c.armed_boot_id) AS seq
            FROM cycle c
            WHERE c.campaign_id = ?1 AND c.drive_id = ?2 AND c.armed_at IS NOT NULL
            ORDER BY c.position DESC LIMIT 1
        )
        SELECT count AS power_cycles,
            (SELECT count(DISTINCT boot_id) FROM event e WHERE e.seq > asked.seq) AS boots
        FROM asked WHERE count IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM event e WHERE e.campaign_id = ?1
            AND e.event = 'campaign-resumed' AND e.seq > asked.seq)
        """
    return read_row(connection, KnownCount, query, campaign_id, drive_id)


def select_first_celsius(
    connection: sqlite3.Connection, campaign_id: int, drive_id: int
) -> float | None:
    """How warm the drive was before the first of its boots that was made; None: not known."""
    query = """
        SELECT celsius_before FROM cycle
        WHERE campaign_id = ? AND drive_id = ? AND state = 'done' AND celsius_before IS NOT NULL
        ORDER BY position LIMIT 1
        """
    return read_value(connection, float, query, campaign_id, drive_id)


def update_armed(
    connection: sqlite3.Connection,
    cycle_id: int,
    *,
    entry: str,
    boot_id: str,
    power_cycles_before: int | None,
    cache_power_cycles_before: int | None = None,
    celsius_before: float | None = None,
) -> None:
    """The next boot is to be this cycle; one more attempt is used up."""
    connection.execute(
        """
        UPDATE cycle SET state = 'armed', attempts = attempts + 1, entry = ?, armed_at = ?,
            armed_boot_id = ?,
               alarm_at = NULL, left_at = NULL, power_cycles_before = ?,
               cache_power_cycles_before = ?, celsius_before = ?, reason = ''
        WHERE id = ?
        """,
        (
            entry,
            timestamp(),
            boot_id,
            power_cycles_before,
            cache_power_cycles_before,
            celsius_before,
            cycle_id,
        ),
    )


def update_alarm(connection: sqlite3.Connection, cycle_id: int, *, alarm_at: str) -> None:
    """The clock will wake the machine at this time."""
    connection.execute("UPDATE cycle SET alarm_at = ? WHERE id = ?", (alarm_at, cycle_id))


def update_left(connection: sqlite3.Connection, cycle_id: int) -> None:
    """Power is asked to go now, in the way the cycle wants."""
    connection.execute("UPDATE cycle SET left_at = ? WHERE id = ?", (timestamp(), cycle_id))


def update_to_warm(connection: sqlite3.Connection, campaign_id: int) -> int:
    """The cold boots that are still to be made become warm ones; returns how many."""
    with sealing(connection, "cycle", f"s.campaign_id = {campaign_id:d} AND s.state = 'planned'"):
        changed = connection.execute(
            "UPDATE cycle SET power = 'warm'"
            " WHERE campaign_id = ? AND state = 'planned' AND power = 'cold'",
            (campaign_id,),
        )
    return changed.rowcount


def update_disarmed(connection: sqlite3.Connection, cycle_id: int) -> None:
    """A person stopped the campaign before power went: the attempt did not happen."""
    connection.execute(
        """
        UPDATE cycle SET state = 'planned', attempts = attempts - 1
        WHERE id = ? AND state = 'armed'
        """,
        (cycle_id,),
    )


def update_attempt_failed(
    connection: sqlite3.Connection,
    cycle_id: int,
    *,
    reason: str,
    max_attempts: int,
    blame: Blame = "drive",
) -> None:
    """The armed boot gave no sample: planned again, or failed for good after the last attempt."""
    connection.execute(
        """
        UPDATE cycle SET state = CASE WHEN attempts < ? THEN 'planned' ELSE 'failed' END,
            reason = ?, blame = ?
        WHERE id = ? AND state = 'armed'
        """,
        (max_attempts, reason, blame, cycle_id),
    )
    _insert_phrases(connection, cycle_id, reason)


def update_cycle_failed(
    connection: sqlite3.Connection, cycle_id: int, *, reason: str, blame: Blame
) -> None:
    """Give the cycle up."""
    connection.execute(
        "UPDATE cycle SET state = 'failed', reason = ?, blame = ? WHERE id = ?",
        (reason, blame, cycle_id),
    )
    _insert_phrases(connection, cycle_id, reason)


def insert_sample(
    connection: sqlite3.Connection,
    cycle_id: int,
    sample: BootSample,
    *,
    cold_proof: str,
    cold_reason: str,
    page_cache: str = "cold",
) -> None:
    """Store a sample and finish its cycle: one that trained the drive without its times.

    RAM holds nothing of the drive at power-on or reset, hence `cold`.
    """
    trained = read_value(connection, bool, "SELECT trained FROM cycle WHERE id = ?", cycle_id)
    record = as_record(sample) | (dict.fromkeys(_TIMES) if trained else {})
    with sealing(connection, "boot_sample", f"s.cycle_id = {cycle_id:d}"):
        insert_row(
            connection,
            "boot_sample",
            cycle_id=cycle_id,
            at=timestamp(),
            **record,
            cold_proof=cold_proof,
            cold_reason=cold_reason,
            page_cache=page_cache,
            valid=1,
        )
    connection.execute("UPDATE cycle SET state = 'done', reason = '' WHERE id = ?", (cycle_id,))
    _insert_phrases(connection, cycle_id, cold_reason)


def knows_sample(connection: sqlite3.Connection, boot_id: str) -> bool:
    """Whether the sample of this boot is stored."""
    return has_row(connection, "SELECT 1 FROM boot_sample WHERE boot_id = ?", boot_id)


def update_cold_proof(
    connection: sqlite3.Connection,
    cycle_id: int,
    *,
    cold_proof: str,
    cold_reason: str,
    power_cycles_after: int | None,
    valid: bool,
    cache_power_cycles_after: int | None = None,
) -> None:
    """What the drives' own counters say of the power-off before a stored sample."""
    with sealing(connection, "boot_sample", f"s.cycle_id = {cycle_id:d}"):
        connection.execute(
            """
            UPDATE boot_sample SET cold_proof = ?, cold_reason = ?, power_cycles_after = ?,
                cache_power_cycles_after = ?, valid = ?
            WHERE cycle_id = ?
            """,
            (
                cold_proof,
                cold_reason,
                power_cycles_after,
                cache_power_cycles_after,
                int(valid),
                cycle_id,
            ),
        )
    _insert_phrases(connection, cycle_id, cold_reason)


def _insert_phrases(connection: sqlite3.Connection, cycle_id: int, text: str) -> None:
    query = "SELECT campaign_id FROM cycle WHERE id = ?"
    insert_phrases(connection, read_value(connection, int, query, cycle_id), text)


def insert_start_up(
    connection: sqlite3.Connection, cycle_id: int, units: Sequence[UnitTime]
) -> None:
    """The units of a boot whose sample is stored."""
    rows = [
        (unit.unit, round(unit.began_s, 6), round(unit.ready_s, 6), unit.chain) for unit in units
    ]
    with sealing(connection, "start_up", f"s.cycle_id = {cycle_id:d}"):
        connection.execute(
            "INSERT INTO start_up VALUES (?, ?, NULL)",
            (cycle_id, json.dumps(rows, separators=(",", ":"))),
        )


def parse_units(text: str) -> tuple[UnitTime, ...]:
    """As `insert_start_up` stored them. Raises ValueError, TypeError."""
    return tuple(
        UnitTime(str(unit), float(began_s), float(ready_s), None if chain is None else int(chain))
        for unit, began_s, ready_s, chain in json.loads(text)
    )
