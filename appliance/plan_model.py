"""A plan without mistakes, as frozen dataclasses. Pure data; checking is `plan`'s."""

from dataclasses import dataclass
from typing import Literal

from appliance.plan_workloads import CacheMode, WorkloadPlan
from appliance.plan_writes import TESTED_ROLES, Work, find_causes, list_works

MIN_BUCKETS = 640
"""A cache drive with fewer is not taken. The kernel's own limit is 513 (run_cache_set() in
drivers/md/bcache/super.c), which leaves next to nothing beside what bcache keeps for itself; the
smallest that was tried is this."""


@dataclass(frozen=True, slots=True)
class Campaign:
    """What the campaign is called and how it starts and ends."""

    name: str
    autostart: bool
    on_finish: Literal["poweroff", "reboot", "tui"]
    max_celsius: float | None = None
    """A step ends where one of its drives becomes as hot; None: the drive's own limit."""


@dataclass(frozen=True, slots=True)
class PlannedDrive:
    """A drive the campaign may touch. Absent texts are empty."""

    serial: str
    wwn: str
    role: Literal["target", "control", "cache", "backing"]
    erase: str
    model: str = ""
    size_bytes: int = 0
    """0: not given."""

    @property
    def identity(self) -> str:
        """What the plan calls the drive: its serial number, or its WWN where no serial is given."""
        return self.serial or self.wwn

    @property
    def is_tested(self) -> bool:
        """Whether it is measured by itself; cache and backing drive are only where `on` says so."""
        return self.role in TESTED_ROLES

    @property
    def released(self) -> bool:
        """Whether the plan releases the drive for writing by repeating its identity."""
        return bool(self.erase) and self.erase == self.identity


@dataclass(frozen=True, slots=True)
class Boot:
    """The boot test."""

    cycles: int
    power: Literal["cold", "warm"]
    mode: Literal["install"]
    boot_set_bytes: int
    charts: Literal["none", "first-last", "all"]
    wake_margin_s: float | None
    """None: learned in a rehearsal ("auto")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayPlan:
    """The array of the campaign's drive with the role "cache" and that with the role "backing".

    Names are bcache's own (Documentation/admin-guide/bcache.rst).
    """

    cache_mode: CacheMode
    bucket_bytes: int
    block_bytes: int
    """0: the larger logical block of the two drives."""
    sequential_cutoff_bytes: int
    congested_read_threshold_us: int
    congested_write_threshold_us: int
    writeback_percent: int
    clean_timeout_s: int
    """How long to wait before each reading test for the array to be clean."""

    kind: Literal["bcache"] = "bcache"


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan without mistakes: the boot test, if any, then the workloads in their order."""

    version: int
    campaign: Campaign
    drives: tuple[PlannedDrive, ...]
    boot: Boot | None
    workloads: tuple[WorkloadPlan, ...] = ()
    array: ArrayPlan | None = None

    @property
    def cache_drive(self) -> PlannedDrive | None:
        """The array's cache; None without an array."""
        return next((each for each in self.drives if each.role == "cache"), None)

    @property
    def backing_drive(self) -> PlannedDrive | None:
        """What the array is a cache of; None without an array."""
        return next((each for each in self.drives if each.role == "backing"), None)

    @property
    def booted_drives(self) -> tuple[PlannedDrive, ...]:
        """Those with cycles of the boot test: the backing drive's are the array's."""
        if self.boot is None:
            return ()
        return tuple(each for each in self.drives if each.is_tested or each.role == "backing")

    def places_of(self, workload: WorkloadPlan) -> tuple[str, ...]:
        """Where `workload` runs, one after the other: drives' identities, or ARRAY."""
        return workload.on or tuple(each.identity for each in self.drives if each.is_tested)

    @property
    def works(self) -> tuple[Work, ...]:
        """All that it does, with drives called by their identities."""
        return list_works(
            (
                Work(index, each.on or None, each.writes)
                for index, each in enumerate(self.workloads)
            ),
            installs=self.boot is not None and self.boot.mode == "install",
            has_array=self.array is not None,
        )

    @property
    def written_drives(self) -> tuple[PlannedDrive, ...]:
        """The drives that it writes to: each must be released."""
        works = self.works
        return tuple(each for each in self.drives if find_causes(works, each.identity, each.role))
