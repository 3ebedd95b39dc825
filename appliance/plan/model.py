# SPDX-License-Identifier: Apache-2.0
"""A valid plan as frozen dataclasses whose fields declare its keys. Pure data.

The `[[workload]]` tables are `plan/workloads`'; checking is `plan`'s. The committed
`plan.schema.json` is made from here:

    python3 -m appliance.plan.model > appliance/plan/plan.schema.json
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from appliance.kinds import KINDS, load
from appliance.phrases import N_, Phrase
from appliance.plan.workloads import MAX_DRIVES, WorkloadPlan
from appliance.plan.writes import TESTED_ROLES, Work, find_causes, list_works
from appliance.samples.variants import CacheMode
from appliance.toml.fields import (
    InMore,
    Table,
    each_once,
    either,
    flag,
    key,
    number,
    one_of,
    one_table,
    several,
    size,
    table_by,
    table_of,
    text,
    whole,
)

MIN_BUCKETS = 640
"""A cache drive with fewer is not taken. The kernel's own limit is 513 (run_cache_set() in
drivers/md/bcache/super.c), which leaves next to nothing beside what bcache keeps for itself; the
smallest that was tried is this."""


# make-bcache takes powers of two and counts in an unsigned short of sectors (bcache-tools 1.0.8,
# make-bcache.c, `hatoi_validate`). Smaller buckets than this waste a cache on their bookkeeping.
_SMALLEST_BUCKET, _LARGEST_BUCKET = "64K", "16M"
# "Bad block size": at most a page (Linux 6.12, drivers/md/bcache/super.c, `read_super_common`).
_SMALLEST_BLOCK, _LARGEST_BLOCK = 512, "4K"
# Clamped by the kernel without a word (drivers/md/bcache/sysfs.c: UINT_MAX, and
# bch_cutoff_writeback, which is CUTOFF_WRITEBACK in writeback.h).
_MAX_UINT = 0xFFFF_FFFF
_MAX_WRITEBACK_PERCENT = 40

_MAX_WORKLOADS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """What the campaign is called and how it starts and ends."""

    name: str = key(
        text(N_("a text of 1 to 80 characters"), most=80, pattern=r"\S"),
        default="campaign",
        says="Free text, shown in reports.",
    )
    autostart: bool = key(
        flag(),
        default=False,
        says="true: start after a 10 s countdown that any key stops; false: start it by hand.",
        in_more=InMore("Saved and copied to plan.toml. It starts automatically after a countdown."),
    )
    on_finish: Literal["poweroff", "reboot", "tui"] = key(
        one_of("poweroff", "reboot", "tui"),
        default="tui",
        says="What the machine does at the end of the campaign.",
    )
    max_celsius: float | None = key(
        whole(30, 100, of=N_("degrees Celsius")),
        name="max_temperature",
        absent=None,
        says="A workload fails when one of its drives reaches this temperature, in °C. "
        "Absent: the drive's own limit.",
        in_more=InMore(
            "A workload fails when one of its drives gets this hot, in °C.",
            absent="empty, the drive's own limit",
        ),
    )
    at_once: int | None = key(
        either("auto", None, whole(1, MAX_DRIVES, of=N_("drives"))),
        default="auto",
        says="On how many drives surface and verify run at the same time; auto: on as many as "
        "processors and RAM carry. What is timed for its own sake always runs alone.",
        in_more=InMore(
            "How many drives surface and verify test at once; auto: as many as the machine can."
        ),
    )
    """None: as many as the machine carries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDrive:
    """One drive the campaign may touch, named by its serial number or its WWN.

    Absent texts are empty.
    """

    NEEDS_ONE: ClassVar = ("serial", "wwn")

    serial: str = key(
        text(N_("the drive's serial number in quotes, 1 to 256 characters"), most=256),
        absent="",
        says="The exact serial number.",
    )
    wwn: str = key(
        text(N_("the drive's WWN in quotes, 1 to 256 characters"), most=256),
        absent="",
        says="The exact World Wide Name.",
    )
    role: Literal["target", "control", "cache", "backing"] = key(
        one_of("target", "control", "cache", "backing"),
        default="target",
        says="target: a drive under test; control: a drive for comparison; cache and "
        "backing: the two drives of the array.",
    )
    erase: str = key(
        text(N_("the drive's serial number again, as a text in quotes"), least=0),
        absent="",
        says="Releases the drive for writing: repeats its serial number, or its WWN if no "
        "serial is given. Absent: read-only tests only.",
    )
    start: str = key(
        text(N_("the drive's serial number again, as a text in quotes"), least=0),
        absent="",
        says='With path = "installed": releases the drive to be started. Its own system then runs '
        "and writes to it. Repeats its serial number, or its WWN if no serial is given.",
    )
    model: str = key(
        text(N_("the drive's model in quotes, 1 to 256 characters"), most=256),
        absent="",
        says="The exact model. Needed with erase or start if the serial number is not the drive's "
        "own: behind USB bridges and docks.",
    )
    size_bytes: int = key(
        size(1, None, words=N_("the drive's size in bytes, a whole number")),
        absent=0,
        says="The exact size. Needed if model is.",
    )
    """0: not given."""
    label: str = key(
        text(N_("a text of 1 to 80 characters"), most=80, pattern=r"\S"),
        absent="",
        says="Free text for people: bay, asset tag, note. Shown wherever the drive is named.",
    )

    @property
    def identity(self) -> str:
        """What the plan calls the drive: its serial number, or its WWN where no serial is given."""
        return self.serial or self.wwn

    @property
    def is_tested(self) -> bool:
        """Whether it is measured alone; cache and backing drive are only if `on` names them."""
        return self.role in TESTED_ROLES

    @property
    def released(self) -> bool:
        """Whether the plan releases the drive for writing by repeating its identity."""
        return bool(self.erase) and self.erase == self.identity

    @property
    def may_start(self) -> bool:
        """Whether the plan releases it for being started: its own system then writes to it."""
        return bool(self.start) and self.start == self.identity


@dataclass(frozen=True, slots=True, kw_only=True)
class Boot:
    """The boot test: how often, how, and what a boot reads."""

    cycles: int = key(whole(1, 1000), default=10, says="Timed boots per drive.")
    power: tuple[Literal["cold", "warm"], ...] = key(
        each_once(one_of("cold", "warm"), N_('"cold", "warm" or ["cold", "warm"]'), or_one=True),
        default="cold",
        says="cold: the machine powers off between boots; warm: it reboots; "
        "both in a list: each drive's boots alternate, a warm one after each cold one.",
    )
    mode: Literal["install", "replay"] = key(
        one_of("install", "replay"),
        default="install",
        says="install: a reference system is written to the drive, erasing it; replay: each start "
        "of the appliance reads a list of boot-like reads, and nothing is written.",
    )
    boot_set_bytes: int = key(
        size("1M", "16G", "256M"),
        default="256M",
        says="How much session data each boot reads, or in all with replay: bytes, or a text "
        "such as 4K, 1M, 2G.",
    )
    trace: str = key(
        text(N_("the name of a file on KALTSTART"), most=100, pattern=r"^[^/\\\x00-\x1f]+$"),
        absent="",
        says="With replay: the file on KALTSTART with the reads to replay instead of the built-in "
        "list.",
        in_more=InMore(
            "A file on KALTSTART with the reads to replay.", absent="empty, the built-in list"
        ),
    )
    path: Literal["stick", "drive", "installed"] = key(
        one_of("stick", "drive", "installed"),
        default="stick",
        says="What the firmware starts. stick: boot loader, kernel and initrd are read from the "
        "stick, and all else from the drive; drive: they are read from the drive too (UEFI only); "
        "installed: the drive's own system, which must carry Kaltstart's unit (UEFI only). "
        "Kaltstart erases nothing then, but that system writes to its drive.",
        in_more=InMore(
            "drive: its own copy of loader and kernel; installed: its own system (UEFI)."
        ),
    )
    charts: Literal["none", "first-last", "all"] = key(
        one_of("none", "first-last", "all"),
        default="first-last",
        says="How many boots with a boot chart follow the last timed one: none, two, "
        "or as many as were timed. They are not timed.",
    )
    wake_margin_s: float | None = key(
        either("auto", None, number(10, 3600, of=N_("seconds"))),
        default="auto",
        says="Seconds from power-off to the alarm, or auto: learned in a rehearsal.",
        in_more=InMore("Seconds from power-off to the alarm; auto: learned in a rehearsal."),
    )
    """None: learned in a rehearsal."""
    settle_s: int = key(
        whole(0, 3600, of=N_("seconds")),
        default=0,
        says="Idle seconds before each power-off: time for what a drive does on its own.",
        in_more=InMore("Idle seconds before each power-off, for the drive's own background work."),
    )
    temperature_band: int = key(
        whole(0, 50, of=N_("kelvins")),
        default=0,
        says="Wait before each boot, at most half an hour, until the drive is this close to its "
        "temperature before its first boot, in K. 0: do not wait.",
        in_more=InMore(
            "Before each boot, wait until the drive is as warm as at its first, within so many K; "
            "0: no."
        ),
    )
    train: int = key(
        whole(0, 1000),
        default=0,
        says="Untimed boots of each drive before its timed ones: a drive that learns has learned.",
        in_more=InMore("Untimed boots before the timed ones: a drive that learns has learned."),
    )
    cool: Literal["none", "evict"] = key(
        one_of("none", "evict"),
        default="none",
        says="With replay: evict reads other blocks before each boot until the drive has forgotten "
        "those of the boot, and probes whether it has.",
        in_more=InMore("With replay: evict makes the drive forget before each boot."),
    )

    @property
    def installs(self) -> bool:
        """Whether a reference OS is written to each drive."""
        return self.mode == "install" and self.path != "installed"

    @property
    def starts_installed(self) -> bool:
        """Whether each drive's own system is started."""
        return self.mode == "install" and self.path == "installed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayPlan:
    """The array of the drives with the roles cache and backing.

    Names are bcache's own (Documentation/admin-guide/bcache.rst).
    """

    kind: Literal["bcache"] = key(one_of("bcache"), default="bcache", says="What makes the array.")
    cache_mode: CacheMode = key(
        one_of(*get_args(CacheMode)),
        default="writeback",
        says="What is written to the cache, and when to the backing drive.",
    )
    bucket_bytes: int = key(
        size(_SMALLEST_BUCKET, _LARGEST_BUCKET, "512K", power_of_two=True),
        default="512K",
        says="How much of the cache is filled and emptied at once.",
        brief="allocation unit of the cache drive",
    )
    block_bytes: int = key(
        size(
            _SMALLEST_BLOCK, _LARGEST_BLOCK, power_of_two=True, words=N_('512, "1K", "2K" or "4K"')
        ),
        absent=0,
        says="The array's logical block. Absent: the larger one of its drives.",
        brief="auto: the larger logical block",
    )
    """0: the larger logical block of the two drives."""
    sequential_cutoff_bytes: int = key(
        size(0, _MAX_UINT, words=N_('0 or a size below "4G" such as "4M", or a number of bytes')),
        default=0,
        says="Longer sequential accesses bypass the cache; 0: none do.",
        brief="kernel 4M; longer runs bypass",
    )
    congested_read_threshold_us: int = key(
        whole(0, _MAX_UINT, of=N_("microseconds")),
        default=0,
        says="Reads bypass a cache slower than this; 0: never.",
        brief="kernel 2000; if slower, bypass",
    )
    congested_write_threshold_us: int = key(
        whole(0, _MAX_UINT, of=N_("microseconds")),
        default=0,
        says="Writes bypass a cache slower than this; 0: never.",
        brief="kernel 20000; if slower, bypass",
    )
    writeback_percent: int = key(
        whole(0, _MAX_WRITEBACK_PERCENT),
        default=10,
        says="How much of the cache may stay dirty; 0: written back as fast as possible.",
        brief="kernel 10; of the cache kept dirty",
    )
    clean_timeout_s: int = key(
        whole(0, 86_400, of=N_("seconds")),
        default=600,
        says="Seconds to wait before each reading test for the array to be clean.",
        in_more=InMore("Seconds to wait for a clean array before each reading test."),
    )


WORKLOADS: Mapping[str, Table[WorkloadPlan]] = {
    kind: table_of(load(kind, "keys")) for kind in KINDS
}
"""The tables of all kinds."""
JUDGING_KINDS = frozenset(kind for kind in KINDS if load(kind, "keys").judges)

TABLES: Mapping[str, Table[Any]] = {
    "campaign": table_of(Campaign),
    "drive": table_of(PlannedDrive),
    "boot": table_of(Boot),
    "array": table_of(ArrayPlan),
}
"""The tables that are there once, or once per drive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A plan for a Kaltstart campaign: `plan.toml` on the partition KALTSTART.

    Without mistakes: the boot test, if any, then the workloads in their order.
    """

    NEEDS_ONE: ClassVar = ("boot", "workload")
    LACKING: ClassVar = N_("there is nothing to do; add a [boot] table or [[workload]] tables")

    version: int = key(
        whole(1, 1, words=N_("1, the only version this program knows")),
        is_required=True,
        says="The version of this format.",
    )
    campaign: Campaign = key(one_table(TABLES["campaign"], N_("one [campaign] table")), default={})
    drives: tuple[PlannedDrive, ...] = key(
        several(
            one_table(TABLES["drive"], N_("a [[drive]] table")),
            Phrase(
                N_("1 to {most} [[drive]] tables (two brackets), one per drive"), most=MAX_DRIVES
            ),
            most=MAX_DRIVES,
        ),
        name="drive",
        is_required=True,
        says="Every drive the campaign may touch.",
    )
    boot: Boot | None = key(one_table(TABLES["boot"], N_("one [boot] table")), absent=None)
    array: ArrayPlan | None = key(one_table(TABLES["array"], N_("one [array] table")), absent=None)
    workloads: tuple[WorkloadPlan, ...] = key(
        several(
            table_by("kind", WORKLOADS, N_("a [[workload]] table")),
            Phrase(N_("1 to {most} [[workload]] tables (two brackets)"), most=_MAX_WORKLOADS),
            most=_MAX_WORKLOADS,
        ),
        name="workload",
        absent=(),
        says="What to measure on the drives, in this order.",
    )

    @property
    def cache_drive(self) -> PlannedDrive | None:
        """The array's cache; None without an array."""
        return next((drive for drive in self.drives if drive.role == "cache"), None)

    @property
    def backing_drive(self) -> PlannedDrive | None:
        """What the array is a cache of; None without an array."""
        return next((drive for drive in self.drives if drive.role == "backing"), None)

    @property
    def booted_drives(self) -> tuple[PlannedDrive, ...]:
        """Those with cycles of the boot test: the backing drive's are the array's."""
        if self.boot is None:
            return ()
        roles = ("backing",) if self.boot.installs else ()
        return tuple(drive for drive in self.drives if drive.is_tested or drive.role in roles)

    def places_of(self, workload: WorkloadPlan) -> tuple[str, ...]:
        """Where `workload` runs, one after the other: drives' identities, or ARRAY."""
        return workload.on or tuple(drive.identity for drive in self.drives if drive.is_tested)

    @property
    def works(self) -> tuple[Work, ...]:
        """All that it does, with drives called by their identities."""
        return list_works(
            (
                Work(index, workload.on or None, workload.writes)
                for index, workload in enumerate(self.workloads)
            ),
            installs=self.boot is not None and self.boot.installs,
            has_array=self.array is not None,
        )

    @property
    def written_drives(self) -> tuple[PlannedDrive, ...]:
        """The drives that it writes to: each must be released."""
        works = self.works
        return tuple(
            drive for drive in self.drives if find_causes(works, drive.identity, drive.role)
        )


ALL_TABLES: Mapping[str, Table[Any]] = {**TABLES, **WORKLOADS}
"""Those of workloads by their kind."""
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    name: table.defaults for name, table in ALL_TABLES.items()
}
"""Key → default, as TOML has it, by table; keys without one are left out."""


def plan_schema() -> str:
    """The text of `plan.schema.json`."""
    tables = {table.name: table.schema for table in ALL_TABLES.values()}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        # A name, not an address: there is nothing to fetch, and validators must not try.
        "$id": "urn:kaltstart:plan:1",
        **table_of(Plan).schema,
        "title": "Kaltstart plan, version 1",
        "$defs": tables,
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(plan_schema(), end="")
