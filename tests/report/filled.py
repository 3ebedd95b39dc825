# SPDX-License-Identifier: Apache-2.0
"""A campaign that left rows in every table, all with checksums: for tests of damaged rows."""

import sqlite3
from dataclasses import replace
from pathlib import Path

from appliance.caches.cooling import Cooling, Probe
from appliance.campaign.verdicts import judge_campaign
from appliance.phrases import Phrase
from appliance.samples.kernel_errors import KernelErrors
from appliance.samples.model import (
    ActivitySample,
    DirtySample,
    LbaRange,
    Result,
    TemperatureSample,
    Ticket,
)
from appliance.samples.processor_load import LoadSample
from appliance.samples.throttling import Throttling
from appliance.samples.unit_times import UnitTime
from appliance.store.checksums import SEALED
from appliance.store.connect import transaction
from appliance.store.tables import steps
from appliance.store.tables.arrays import insert_array, insert_array_samples, update_array
from appliance.store.tables.boots import insert_start_up
from appliance.store.tables.coolings import insert_cooling, update_cooling
from appliance.store.tables.events import insert_event
from appliance.store.tables.health import insert_temperatures
from appliance.store.tables.kernel_errors import add_kernel_errors
from appliance.store.tables.power_offs import (
    insert_power_off,
    update_power_off_back,
    update_power_off_left,
)
from appliance.store.tables.processor_load import add_load
from appliance.store.tables.replays import ReplaySample, insert_replay
from appliance.store.tables.requests import insert_request
from appliance.store.tables.steps import insert_ranges
from appliance.store.tables.throttling import add_throttling
from appliance.workloads.drive_content import DriveContent, Signature, format_content
from tests.databases import seal
from tests.report.database import make_boots, make_database
from tests.report.judged import (
    BYPASS,
    GOOD,
    SLOW,
    add_conditions,
    add_health,
    add_surface,
    drive_id,
    make_site,
    read_smart,
)
from tests.report.workloads import add_results, add_step, end_step

PLAN = (
    'version = 1\n[campaign]\nname = "x"\n[[drive]]\nserial = "LAB-GOOD-1"\nrole = "target"\n'
    '[[workload]]\nkind = "surface"\n'
)
CONTENT = format_content(
    DriveContent(
        sha256="00ff", tables=frozenset({"a"}), signatures=frozenset({Signature("ext4", "b", 0)})
    )
)


def fill_database(path: Path) -> sqlite3.Connection:
    """Two drives, judged: GOOD has something in each table, of SLOW there are boots and health."""
    disks = [replace(disk, boots=make_boots(31.0, 31.5, 32.0)) for disk in (GOOD, SLOW)]
    connection = make_database(path, disks=disks)
    good = drive_id(connection, GOOD.serial)
    with transaction(connection):
        connection.execute("UPDATE campaign SET plan_toml = ?", (PLAN,))
        connection.execute("UPDATE campaign_drive SET released_content = ?", (CONTENT,))
        add_conditions(connection, {disk.serial: "6.0 Gb/s" for disk in disks})
        smart = read_smart("ata-412")
        for disk in disks:
            add_health(connection, disk.serial, smart, smart)
        step = add_surface(connection, GOOD, position=0, mean_mb_s=180)
        insert_ranges(connection, step, "005", [LbaRange("slow", 1 << 30, 4096, 0.7, "why")])
        add_load(connection, step, "000", [LoadSample(9.0, is_full=False)])
        add_throttling(connection, step, {GOOD.serial: good}, {GOOD.serial: Throttling()})
        add_kernel_errors(connection, step, {good: KernelErrors(7, ("ata1: hard resetting link",))})
        insert_temperatures(
            connection, step, {GOOD.serial: good}, [TemperatureSample(GOOD.serial, 1.0, 35.0)]
        )
        steps.insert_activity(
            connection, step, [ActivitySample(GOOD.serial, t + 0.5, 7, 8, 9, 10, 0.5)
                               for t in range(9)]
        )  # fmt: skip
        lottery = add_step(connection, "lottery", GOOD.serial, position=1, index=1)
        steps.insert_tickets(
            connection, lottery,
            [Ticket("cold", "cold", n, "a", n, 4096, 0.5 + n, 1, 4096, 0) for n in (1, 2, 3)],
        )  # fmt: skip
        add_results(connection, lottery, [Result("cold/a", "rate_bytes_s", 2e6, BYPASS)])
        insert_array_samples(connection, lottery, [DirtySample(1.5, 4096)])
        end_step(connection, lottery, "done")
        verify = add_step(connection, "verify", GOOD.serial, position=2, index=2)
        row = insert_power_off(
            connection, step_id=verify, drive_id=good, part="read-cold", manner="abrupt",
            boot_id="b", power_cycles_before=40,
        )  # fmt: skip
        update_power_off_left(connection, row)
        update_power_off_back(
            connection, row, power_cycles_after=41, cold_proof="proven", cold_reason="counted"
        )
        end_step(connection, verify, "failed", "it is gone")
        insert_array(
            connection, campaign_id=1, backing_drive_id=good,
            cache_drive_id=drive_id(connection, SLOW.serial), set_uuid="set",
        )  # fmt: skip
        update_array(connection, "set", "apart")
        steps.upsert_file_system(connection, 1, good, kind="ext4", uuid="uuid")
        insert_request(connection, "report", {"campaign_id": 1}, at="T", boot_id="b")
        said = Phrase("{drive} is fine", drive=GOOD.serial)
        insert_event(
            connection, campaign_id=1, boot_id="b", monotonic_s=1.0, level="warning",
            event="sample-restored", detail=said, fields={"what": said},
        )  # fmt: skip
        for table in ("campaign", "campaign_drive", "cycle", "step", "boot_sample"):
            seal(connection, table)
        (cycle_id,) = connection.execute("SELECT min(cycle_id) FROM boot_sample").fetchone()
        update_cooling(
            connection,
            insert_cooling(connection, cycle_id),
            Cooling((Probe((7, 8), (9, 9)), Probe((9, 8), (9, 9))), 1 << 28, 12.5),
            campaign_id=1,
        )
        insert_replay(connection, cycle_id, ReplaySample("list", 13.6, 87, 1 << 20, (7, 9, 8)))
        insert_start_up(connection, cycle_id, [UnitTime("a.service", 3.5, 4.25, 0)])
    judge_campaign(make_site(connection), 1)
    for table in SEALED:
        query = f"SELECT count(*), sum(checksum IS NULL) FROM {table}"  # noqa: S608 - a name of ours
        rows, without = connection.execute(query).fetchone()
        assert rows, f"{table} is empty"
        assert not without, f"{table} has rows without checksums"
    return connection
