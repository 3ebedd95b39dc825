# SPDX-License-Identifier: Apache-2.0
"""Databases to report on: built through the store's own schema, with the lab's figures."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from appliance.store.connect import open_database, transaction

_BOOT = "0b5ad6e2-6d5c-4b8f-9f0e-0000000000"
NO_COUNT = "the drive has no power-cycle count"


@dataclass(frozen=True, slots=True)
class Boot:
    """One planned boot; `boot_s` None means it failed."""

    cycle: int
    boot_s: float | None
    charted: int = 0
    valid: int = 1
    cold_proof: str = "unproven"
    cold_reason: str = NO_COUNT
    reason: str = ""
    power: str = "cold"
    trained: int = 0


@dataclass(frozen=True, slots=True)
class Disk:
    """One drive with its boots."""

    serial: str
    model: str
    role: str = "target"
    rotational: int = 1
    transport: str = "sata"
    size_bytes: int = 4 << 30
    wwn: str = ""
    boots: Sequence[Boot] = field(default=())


def make_boots(*times: float | None, **options: str) -> list[Boot]:
    return [Boot(cycle, boot_s, **options) for cycle, boot_s in enumerate(times, start=1)]  # type: ignore[arg-type]


LAB = (
    Disk(
        "LAB-HDD-1",
        "Lab disk",
        role="control",
        boots=make_boots(106.212, 106.034, 106.118, 106.340, 105.988, 106.207),
    ),
    Disk(
        "LAB-SSHD-1",
        "Lab hybrid",
        boots=[
            *make_boots(46.021, 27.204, 28.117, 27.433, 27.690, 27.512),
            Boot(1, 29.870, charted=1),
        ],
    ),
    Disk(
        "LAB-SSD-1",
        "Lab SSD",
        role="control",
        rotational=0,
        transport="nvme",
        boots=[
            *(
                Boot(
                    cycle,
                    boot_s,
                    cold_proof="proven",
                    cold_reason=f"the count rose from {40 + cycle} to {41 + cycle}",
                )
                for cycle, boot_s in ((1, 25.104), (2, 25.733), (4, 25.318), (5, 25.402))
            ),
            Boot(3, None, reason="it did not come back within 300 s, 3 times"),
            Boot(6, 25.226, cold_proof="proven", cold_reason="the count rose from 44 to 45"),
        ],
    ),
)
"""The disk and the SSD stay as they are, the hybrid learns."""


def make_database(
    path: Path, *, name: str = "three drives", disks: Sequence[Disk] = LAB
) -> sqlite3.Connection:
    """A campaign with id 1, done, at fixed times."""
    connection = open_database(path)
    with transaction(connection):
        add_campaign(connection, name=name, disks=disks)
    return connection


def add_campaign(
    connection: sqlite3.Connection,
    *,
    name: str = "three drives",
    disks: Sequence[Disk] = LAB,
    created_at: str = "2026-11-21T03:20:00.123Z",
) -> int:
    """Insert one campaign with all it has; return its id."""
    campaign = connection.execute(
        "INSERT INTO campaign (name, plan_toml, plan_sha256, state, on_finish, max_power_actions,"
        " max_attempts, created_at, finished_at)"
        " VALUES (?, 'version = 1', 'ab12', 'done', 'poweroff', 30, 3, ?, ?)",
        (name, created_at, "2026-11-21T03:41:07.500Z"),
    ).lastrowid
    assert campaign is not None
    position = 0
    for slot, disk in enumerate(disks):
        drive = _add_drive(connection, disk)
        connection.execute(
            "INSERT INTO campaign_drive (campaign_id, drive_id, role, released, slot, installed_at,"
            " released_model, released_size_bytes, transport, rotational)"
            " SELECT ?, id, ?, 1, ?, '2026-11-21T03:21:00.000Z', model, size_bytes, transport,"
            " rotational FROM drive WHERE id = ?",
            (campaign, disk.role, slot, drive),
        )
        for boot in disk.boots:
            _add_boot(connection, campaign, drive, position, boot)
            position += 1
    for level, event, detail in (
        ("info", "campaign-start", name),
        ("warning", "cycle-failed", "it did not come back within 300 s"),
        ("info", "campaign-done", ""),
    ):
        connection.execute(
            "INSERT INTO event (campaign_id, at, monotonic_s, boot_id, level, event, detail)"
            " VALUES (?, ?, 12.5, ?, ?, ?, ?)",
            (campaign, created_at, f"{_BOOT}01", level, event, detail),
        )
    return campaign


def _add_drive(connection: sqlite3.Connection, disk: Disk) -> int:
    known = connection.execute(
        "SELECT id FROM drive WHERE serial = ? AND wwn = ?", (disk.serial, disk.wwn)
    ).fetchone()
    if known is not None:
        return int(known[0])
    drive = connection.execute(
        "INSERT INTO drive (serial, wwn, model, firmware, size_bytes, rotational, transport,"
        " logical_block_bytes, physical_block_bytes, first_seen, last_seen)"
        " VALUES (?, ?, ?, '2.5+', ?, ?, ?, 512, 4096, ?, ?)",
        (
            disk.serial,
            disk.wwn,
            disk.model,
            disk.size_bytes,
            disk.rotational,
            disk.transport,
            "2026-11-21T03:19:58.000Z",
            "2026-11-21T03:41:00.000Z",
        ),
    ).lastrowid
    assert drive is not None
    return drive


def _add_boot(
    connection: sqlite3.Connection, campaign: int, drive: int, position: int, boot: Boot
) -> None:
    failed = boot.boot_s is None
    power = "warm" if boot.cold_proof == "warm" else boot.power
    at = f"2026-11-21T03:{22 + position:02}:00.000Z"
    cycle = connection.execute(
        "INSERT INTO cycle (campaign_id, drive_id, position, cycle, charted, power, state,"
        " attempts, entry, armed_at, armed_boot_id, alarm_at, power_cycles_before, reason, trained)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'measured', ?, ?, ?, NULL, ?, ?)",
        (
            campaign,
            drive,
            position,
            boot.cycle,
            boot.charted,
            power,
            "failed" if failed else "done",
            3 if failed else 1,
            at,
            f"{_BOOT}{position:02}",
            at,
            boot.reason,
            boot.trained,
        ),
    ).lastrowid
    if boot.boot_s is None:
        return
    # The parts of a boot add up to it, as they do on the stick.
    session_s = round(boot.boot_s * 0.4, 3)
    userspace_s = round(boot.boot_s - session_s - 2.5 - 4.0, 3)
    connection.execute(
        "INSERT INTO boot_sample (cycle_id, boot_id, at, boot_s, firmware_s, loader_s, kernel_s,"
        " initrd_s, userspace_s, session_s, io_quiet_s, read_bytes, read_ios, wake_skew_s,"
        " session_wait_s, off_s, cold_proof, cold_reason, page_cache, valid)"
        " VALUES (?, ?, ?, ?, 1.25, NULL, 2.5, 4.0, ?, ?, ?, ?, ?, -0.4, 0.2, 61.0, ?, ?, 'cold',"
        " ?)",
        (
            cycle,
            f"{_BOOT}{50 + position:02}",
            at,
            boot.boot_s,
            userspace_s,
            session_s,
            round(boot.boot_s + 0.5, 3),
            402653184,
            6210 + position,
            boot.cold_proof,
            boot.cold_reason,
            boot.valid,
        ),
    )
    if boot.trained:
        connection.execute(
            "UPDATE boot_sample SET boot_s = NULL, firmware_s = NULL, kernel_s = NULL,"
            " initrd_s = NULL, userspace_s = NULL, session_s = NULL, io_quiet_s = NULL,"
            " session_wait_s = NULL"
            " WHERE cycle_id = ?",
            (cycle,),
        )
