# SPDX-License-Identifier: Apache-2.0
"""A campaign of weeks: twelve large disks, each read from end to end, one after another.

Its rows are stored and judged by the engine's own functions, in batches as parts store them.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from itertools import batched
from pathlib import Path

from appliance.campaign.verdicts import judge_campaign
from appliance.samples.model import ActivitySample, LbaRange, TemperatureSample
from appliance.samples.processor_load import LoadSample
from appliance.store.connect import transaction
from appliance.store.tables import steps
from appliance.store.tables.health import insert_temperatures
from appliance.store.tables.processor_load import add_load
from appliance.store.tables.steps import insert_ranges
from tests.databases import seal
from tests.report.database import Disk, make_database
from tests.report.judged import add_conditions, add_health, add_surface, make_site, read_smart

HOUR_S = 3600
_SIZE_BYTES = 8_001_563_222_016
_BATCH = 1800
_TEMPERATURE_EVERY_S = 10
_PARTS = 100


def fill_long_campaign(path: Path, *, drives: int = 12, hours: int = 51) -> sqlite3.Connection:
    """Each disk takes `hours`; every second of them is recorded. Judged."""
    disks = [
        Disk(f"LAB-LONG-{number:02}", "Lab 8 TB", size_bytes=_SIZE_BYTES)
        for number in range(drives)
    ]
    connection = make_database(path, name="a long campaign", disks=disks)
    # Of a file that is not needed after the test.
    connection.execute("PRAGMA synchronous = OFF")
    smart = read_smart("ata-412")
    with transaction(connection):
        add_conditions(connection, {disk.serial: "6.0 Gb/s" for disk in disks})
        for table in ("campaign", "campaign_drive"):
            seal(connection, table)
    for position, disk in enumerate(disks):
        with transaction(connection):
            add_health(connection, disk.serial, smart, smart)
            step = add_surface(connection, disk, position=position, mean_mb_s=44)
            for part in range(_PARTS):
                add_load(connection, step, f"{part:03}", [LoadSample(hours * 36.0, is_full=False)])
            slow = [
                LbaRange("slow", (1 << 30) * each, 1 << 20, 0.7, "took 0.7 s")
                for each in range(100)
            ]
            insert_ranges(connection, step, "005", slow)
        _record(connection, step, disk, seconds=hours * HOUR_S)
    judge_campaign(make_site(connection), 1)
    return connection


def _record(connection: sqlite3.Connection, step: int, disk: Disk, *, seconds: int) -> None:
    (drive,) = connection.execute(
        "SELECT id FROM drive WHERE serial = ?", (disk.serial,)
    ).fetchone()
    for batch in batched(_make_activity(disk.serial, seconds), _BATCH, strict=False):
        celsius = [
            TemperatureSample(disk.serial, each.t_s, 30.0 + each.t_s // HOUR_S % 12)
            for each in batch[::_TEMPERATURE_EVERY_S]
        ]
        with transaction(connection):
            steps.insert_activity(connection, step, batch)
            insert_temperatures(connection, step, {disk.serial: drive}, celsius)


def _make_activity(serial: str, seconds: int) -> Iterator[ActivitySample]:
    """Quicker outside than inside, with a stumble each minute."""
    still = ActivitySample(serial, 0.0, 0, 0, 0, 0, 0.0)
    for second in range(seconds):
        rate = int(58e6 - 28e6 * second / seconds) // (9 if second % 60 == 59 else 1)
        yield replace(
            still,
            t_s=second + 1.000123,
            read_bytes=rate,
            read_ios=rate >> 20,
            busy_s=0.987654,
        )
