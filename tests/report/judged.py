# SPDX-License-Identifier: Apache-2.0
"""A judged campaign: rows stored by the store's functions, judged by the policy and stored again.

The health is that of captured drives (tests/fixtures/smart), with counts put in where a drive that
is not well is wanted; the speeds are invented.
"""

import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from appliance.campaign.context import CampaignContext
from appliance.campaign.silent_drives import SilentDrives
from appliance.campaign.verdicts import judge_campaign
from appliance.drives.facts.health import parse_health
from appliance.samples.health import Counter, Health
from appliance.samples.kernel_errors import KernelErrors
from appliance.samples.model import LbaRange, Result, SliceSample
from appliance.store.connect import transaction
from appliance.store.tables.conditions import find_changes, insert_conditions
from appliance.store.tables.health import insert_health
from appliance.store.tables.kernel_errors import add_kernel_errors
from appliance.store.tables.steps import insert_ranges, insert_slices
from appliance.verdict.evidence import Figure
from appliance.verdict.gather import gather_evidence
from appliance.workloads.surface.keys import SLICES
from tests.databases import seal
from tests.report import states
from tests.report.database import Disk, make_boots, make_database
from tests.report.workloads import add_results, add_step, end_step
from tests.unit.campaign.world import World

SMART = Path(__file__).parents[1] / "fixtures/smart"
BYPASS = states.BYPASS.read()

GOOD = Disk("LAB-GOOD-1", "Lab disk", wwn="0x5000c50012345678", size_bytes=4_000_000_000_000)
SLOW = Disk("LAB-SLOW-1", "Lab disk", size_bytes=4_000_000_000_000)
BAD = Disk("LAB-BAD-1", "Lab <b>SSHD</b>", size_bytes=1_000_204_886_016)
NVME = Disk("LAB-NVME-1", "Lab NVMe", rotational=0, transport="nvme", size_bytes=500_107_862_016)
STRANGE = Disk(
    "LAB-ODD\x1b1", "Lab card", rotational=0, transport="other", size_bytes=64_000_000_000
)
UNTOUCHED = Disk("LAB-NEW-1", "Lab SAS", transport="sas", size_bytes=600_000_000_000)
LINKS = {
    GOOD.serial: "6.0 Gb/s",
    SLOW.serial: "6.0 Gb/s",
    BAD.serial: "1.5 Gb/s",
    NVME.serial: "8.0 GT/s x4",
    UNTOUCHED.serial: "12.0 Gb/s",
}
FAILED_READ = KernelErrors(
    12,
    (
        "ata3.00: exception Emask 0x0 SAct 0x1f SErr 0x0 action 0x0",
        "ata3.00: irq_stat 0x40000000",
        "ata3.00: failed command: READ FPDMA QUEUED",
        "res 41/40:00:00:00:00/00:00:00:00:00/00 Emask 0x409 (media error) <F>",
        "ata3.00: error: { UNC }",
    ),
)
JUDGED = (
    replace(GOOD, boots=make_boots(31.2, 30.9)),
    replace(SLOW, boots=make_boots(31.5, 31.1)),
    BAD,
    NVME,
    STRANGE,
    UNTOUCHED,
)


def make_rows(folder: Path) -> sqlite3.Connection:
    """A campaign of a good, a slow and a bad disk: some boots, and nothing else measured yet."""
    disks = [replace(GOOD, boots=make_boots(31.0, None, 33.0, 31.5, 32.0, 32.5)), SLOW, BAD]
    connection = make_database(folder / "rows.sqlite", disks=disks)
    add_conditions(connection, {disk.serial: "6.0 Gb/s" for disk in disks})
    return connection


def read_smart(name: str) -> Health:
    """What a captured drive said of itself."""
    # They were captured without the drive's assessment.
    said = parse_health((SMART / f"{name}.json").read_text(encoding="utf-8"))
    return replace(said, passed=True)


def with_counts(health: Health, **values: float) -> Health:
    """The same drive with these counters; nothing speaks against what is put in."""
    counters = {each.name: each for each in health.counters}
    counters |= {name: Counter(name, value, "1") for name, value in values.items()}
    return replace(health, counters=tuple(counters.values()))


def figures_of(connection: sqlite3.Connection, serial: str) -> dict[str, Figure]:
    """What the policy gets of a drive of the campaign."""
    (found,) = [each for each in gather_evidence(connection, 1) if each.name == serial]
    return dict(found.figures)


def drive_id(connection: sqlite3.Connection, serial: str) -> int:
    (found,) = connection.execute("SELECT id FROM drive WHERE serial = ?", (serial,)).fetchone()
    return int(found)


def add_health(
    connection: sqlite3.Connection, serial: str, before: Health, after: Health | None = None
) -> None:
    """A reading before, and where there is one after."""
    for moment, health in (("before", before), ("after", after)):
        if health is not None:
            insert_health(
                connection,
                campaign_id=1,
                drive_id=drive_id(connection, serial),
                moment="before" if moment == "before" else "after",
                health=health,
                raw="",
            )


def add_surface(
    connection: sqlite3.Connection,
    disk: Disk,
    *,
    position: int,
    mean_mb_s: float,
    unreadable_bytes: int = 0,
    slices: int = SLICES,
    reason: str = "",
    share: float = 1.0,
) -> int:
    """A scan of the whole disk, of its first slices or a share only, or one that failed."""
    step = add_step(connection, "surface", disk.serial, position=position)
    each_bytes = disk.size_bytes // SLICES
    samples = []
    for number in range(slices):
        first = number * each_bytes
        end = disk.size_bytes if number == SLICES - 1 else first + each_bytes
        bad = unreadable_bytes if number == 3 else 0
        # From the outer to the inner tracks, as a disk does.
        mean = mean_mb_s * 1e6 * (1.3 - 0.6 * number / (SLICES - 1))
        read = int((end - first) * share) - bad
        samples.append(SliceSample(number, first, end, read, bad, mean * 0.9, mean, mean * 1.1))
    insert_slices(connection, step, samples)
    if unreadable_bytes:
        lost = LbaRange("unreadable", 3 * each_bytes, unreadable_bytes, 3.2, "I/O error")
        insert_ranges(connection, step, "003", [lost])
    if reason:
        end_step(connection, step, "failed", reason)
        return step
    read = sum(each.read_bytes for each in samples)
    values = {
        "bw_bytes_s": mean_mb_s * 1e6,
        "min_slice_bytes_s": min(each.mean_bytes_s or 0.0 for each in samples),
        "max_slice_bytes_s": max(each.mean_bytes_s or 0.0 for each in samples),
        "app_read_bytes": read,
        "unreadable_bytes": unreadable_bytes,
        "lat_p50_ns": 5e6,
        "lat_p99_ns": 2.1e7,
        "slow_ranges": 0,
    }
    if share < 1:
        values["sampled_places"] = 1000
    add_results(
        connection, step, [Result("whole", name, value, BYPASS) for name, value in values.items()]
    )
    end_step(connection, step, "done")
    return step


def add_judged(connection: sqlite3.Connection) -> None:
    """Drives that are good, slower than their twin, bad, worn, of no class, and not measured."""
    ata, nvme = read_smart("ata-412"), read_smart("nvme-1035")
    with transaction(connection):
        add_conditions(connection, LINKS)
        add_health(connection, GOOD.serial, ata, ata)
        add_health(connection, SLOW.serial, ata, ata)
        add_health(
            connection,
            BAD.serial,
            with_counts(ata, reallocated_sectors=3, pending_sectors=0),
            with_counts(ata, reallocated_sectors=5, pending_sectors=8),
        )
        add_health(connection, NVME.serial, nvme, nvme)
        good = add_surface(connection, GOOD, position=0, mean_mb_s=180)
        add_kernel_errors(connection, good, {drive_id(connection, GOOD.serial): KernelErrors()})
        add_surface(connection, SLOW, position=1, mean_mb_s=120)
        bad = add_surface(connection, BAD, position=2, mean_mb_s=95, unreadable_bytes=65536)
        add_kernel_errors(connection, bad, {drive_id(connection, BAD.serial): FAILED_READ})
        add_surface(connection, NVME, position=3, mean_mb_s=2100, share=0.1)
        add_surface(connection, STRANGE, position=4, mean_mb_s=40, slices=12, reason="it is gone")
    judge_campaign(make_site(connection), 1)
    with transaction(connection):
        fix_times(connection)


type Lines = list[tuple[str, dict[str, object]]]
"""Of the console: event and fields."""


def make_site(connection: sqlite3.Connection, lines: Lines | None = None) -> CampaignContext:
    """Where a campaign is judged: no machine is needed for it. Console lines go to `lines`."""
    world = World(Path("/nowhere"), boot_id="boot-9", lines=[] if lines is None else lines)
    host = world.host()
    return CampaignContext(connection, host, SilentDrives(host), countdown=lambda *_: False)


def add_conditions(connection: sqlite3.Connection, links: Mapping[str, str]) -> None:
    """What was noted of the machine and, by serial number, the drives' links at the start."""
    values = {"virtual_machine": "no", "processor": "Core", "processors": "4"}
    insert_conditions(connection, 1, None, find_changes({}, values))
    for serial, link in links.items():
        noted = find_changes({}, {"link": link})
        insert_conditions(connection, 1, drive_id(connection, serial), noted)


def fix_times(connection: sqlite3.Connection) -> None:
    """Golden files outlive the day they were written."""
    at = "2026-11-21T05:00:00.000Z"
    for table, column in (
        ("verdict", "at"),
        ("judging", "at"),
        ("judging", "tried_at"),
        ("health_reading", "at"),
        ("result", "at"),
        ("part", "finished_at"),
        ("step", "started_at"),
        ("step", "finished_at"),
        ("event", "at"),
        ("condition", "since"),
    ):
        connection.execute(f"UPDATE {table} SET {column} = ?", (at,))  # noqa: S608 - names of this file
    for table in ("verdict", "judging", "health_reading", "result", "condition"):
        connection.execute(f"UPDATE {table} SET checksum = NULL")  # noqa: S608 - likewise
        seal(connection, table)
