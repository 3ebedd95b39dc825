# SPDX-License-Identifier: Apache-2.0
"""An estimate, from its plan, of what a campaign will store on the stick. Pure.

The bytes of a row were measured (tests/unit/campaign/test_storage_estimate.py measures them again).
How long a step takes is what it depends on most: an hour of one drive's activity is a third of a
megabyte.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from appliance.drives.model import Drive
from appliance.plan.model import Boot, Plan
from appliance.plan.workloads import ARRAY, WorkloadPlan
from appliance.workloads.base import make_workload

ACTIVITY_ROW_BYTES = 106
TEMPERATURE_ROW_BYTES = 48
RESULT_ROW_BYTES = 248
TICKET_ROW_BYTES = 82
SLICE_ROW_BYTES = 72
EVENT_ROW_BYTES = 315
"""In the database, with what the indexes take."""

ACTIVITY_CSV_BYTES = 74
ACTIVITY_GZ_BYTES = 24
TEMPERATURE_CSV_BYTES = 34
RESULT_TEXT_BYTES = 720
"""In the report: of a row of activity.csv as it is and compressed, of a temperature, of a figure in
CSV and JSON."""

PLAIN_ACTIVITY = 100_000
"""More rows of activity the report compresses."""

_TEMPERATURE_EVERY_S = 10
_CAMPAIGN_BYTES = 64 << 10
_DRIVE_BYTES = 100 << 10
"""Its health before and after (`smartctl --xall` of real drives: 10 to 40 kB each), its verdict's
limits, the machine around it."""
_BOOT_BYTES = 4 << 10
_REPLAYED_READ_BYTES = 40 << 10
_REPLAYED_READ_ROW_BYTES = 20
"""The mean of the built-in list; its place once in the database, then its time in each boot."""
_CHART_BYTES = 1 << 20
"""A minute of a boot: 16 kB for each second were seen in the lab."""
_PAGE_BYTES = 60 << 10
_PAGE_OF_STEP_BYTES = 20 << 10

_FIO_OUTPUT_BYTES = (16 << 10, 72 << 10)
"""The job, and fio's JSON with its bins: 12 kB where all took alike, 72 kB from four jobs."""
_KEPT_BYTES = 4 << 10
"""What another part keeps: a block of the file system."""

_FASTEST_BYTES_S = {"disk": 300e6, "flash": 1.2e9, "nvme": 14e9}
"""No drive reads faster: outer tracks of today's disks, SAS-3, PCIe 5 with four lanes."""
_USUAL_BYTES_S = {"disk": 100e6, "flash": 300e6, "nvme": 300e6}
"""What most reach from end to end, slow ones among them: as long as it may well take."""


@dataclass(frozen=True, slots=True)
class StorageEstimate:
    """Bytes that a campaign adds."""

    rows_bytes: int
    """In the database."""
    raw_bytes: int
    """Files beside it: what the tools gave, charts of boots."""
    least_bytes: int
    """Of both, however fast the drives are."""
    report_bytes: int
    """Pages and tables on KALTSTART, without copies of the database."""
    copied_bytes: int
    """In each copy of the database there: the recording of a long campaign is thinned before."""


MAX_ACTIVITY = 3600
"""Of a thinned recording: intervals per step and device."""


@dataclass(frozen=True, slots=True)
class _StepLoad:
    """One step."""

    least_s: float
    usual_s: float
    devices: int
    """Whose activity is recorded."""
    results: int
    raw_bytes: tuple[int, int]
    """At least, and about."""
    other_rows_bytes: int = 0

    @property
    def activity_rows(self) -> int:
        return ceil(self.usual_s) * self.devices

    @property
    def thinned_rows(self) -> int:
        return min(self.activity_rows, MAX_ACTIVITY * self.devices)

    @property
    def rows_bytes(self) -> int:
        temperatures = self.activity_rows // _TEMPERATURE_EVERY_S
        return (
            self.activity_rows * ACTIVITY_ROW_BYTES
            + temperatures * TEMPERATURE_ROW_BYTES
            + self.results * RESULT_ROW_BYTES
            + self.other_rows_bytes
        )

    @property
    def least_bytes(self) -> int:
        """What the drives do is recorded in any case, and something kept of what a tool gives."""
        return int(self.least_s) * self.devices * ACTIVITY_ROW_BYTES + self.raw_bytes[0]


def estimate_storage(plan: Plan, drives: Sequence[Drive]) -> StorageEstimate:
    """Of a plan without mistakes, on the drives that are here."""
    loads = list(_list_loads(plan, drives))
    fixed_bytes = _CAMPAIGN_BYTES + _DRIVE_BYTES * len(plan.drives)
    boots, charts = _count_boots(plan.boot) if plan.boot else (0, 0)
    booted = len(plan.booted_drives)
    boots_bytes, charts_bytes = booted * boots * _BOOT_BYTES, booted * charts * _CHART_BYTES
    if plan.boot and plan.boot.mode == "replay":
        # A trace may have more reads; it is not there to be counted here.
        reads = plan.boot.boot_set_bytes // _REPLAYED_READ_BYTES
        boots_bytes += (booted * boots + 1) * reads * _REPLAYED_READ_ROW_BYTES
    rows_bytes = fixed_bytes + boots_bytes + sum(load.rows_bytes for load in loads)
    activity_rows = sum(load.activity_rows for load in loads)
    is_long = activity_rows > PLAIN_ACTIVITY
    row_bytes = ACTIVITY_GZ_BYTES if is_long else ACTIVITY_CSV_BYTES
    thinned_rows = sum(load.thinned_rows for load in loads) if is_long else activity_rows
    return StorageEstimate(
        rows_bytes=rows_bytes,
        raw_bytes=charts_bytes + sum(load.raw_bytes[1] for load in loads),
        least_bytes=sum(load.least_bytes for load in loads),
        report_bytes=(
            _PAGE_BYTES
            + _PAGE_OF_STEP_BYTES * len(loads)
            + charts_bytes
            + activity_rows * row_bytes
            + activity_rows // _TEMPERATURE_EVERY_S * TEMPERATURE_CSV_BYTES
            + sum(load.results * RESULT_TEXT_BYTES + load.other_rows_bytes for load in loads)
        ),
        copied_bytes=rows_bytes - (activity_rows - thinned_rows) * ACTIVITY_ROW_BYTES,
    )


def _count_boots(boot: Boot) -> tuple[int, int]:
    """Of each drive all boots, and those with a chart."""
    charts = {"none": 0, "first-last": min(2, boot.cycles), "all": boot.cycles}[boot.charts]
    charts = charts if boot.installs else 0
    return boot.train + boot.cycles + charts, charts


def _list_loads(plan: Plan, drives: Sequence[Drive]) -> Iterator[_StepLoad]:
    here = {name: drive for drive in drives for name in (drive.serial, drive.wwn) if name}
    members = [
        here[drive.identity]
        for drive in plan.drives
        if drive.role in {"cache", "backing"} and drive.identity in here
    ]
    for workload in plan.workloads:
        places = plan.places_of(workload)
        for place in places:
            if place != ARRAY:
                step_drives = [here[place]] if place in here else []
                devices = len(places) if workload.reads_others else 1
                yield _estimate_step(workload, step_drives, devices=devices)
            else:
                # The array, and both drives beside it.
                yield _estimate_step(workload, members, devices=3)


def _estimate_step(workload: WorkloadPlan, drives: Sequence[Drive], *, devices: int) -> _StepLoad:
    parts = len(make_workload(workload).parts)
    usual_bytes_s = _find_rate(_USUAL_BYTES_S, drives)
    drive_bytes = max((drive.size_bytes for drive in drives), default=0)
    expected = workload.expect(parts, drive_bytes=drive_bytes, bytes_s=usual_bytes_s)
    least_s, usual_s = expected.least_s, expected.usual_s
    if expected.moved_bytes:
        least_s = expected.moved_bytes / _find_rate(_FASTEST_BYTES_S, drives, slowest=False)
        usual_s = expected.moved_bytes / usual_bytes_s
    raw_bytes = _FIO_OUTPUT_BYTES if expected.runs_fio else (_KEPT_BYTES, _KEPT_BYTES)
    return _StepLoad(
        least_s=least_s,
        usual_s=usual_s,
        devices=devices,
        results=expected.results,
        # Rounds may be fewer.
        raw_bytes=(parts * raw_bytes[0], expected.runs * raw_bytes[1]),
        other_rows_bytes=(
            expected.tickets * TICKET_ROW_BYTES
            + expected.slices * SLICE_ROW_BYTES
            + expected.runs * EVENT_ROW_BYTES
        ),
    )


def _find_rate(rates: dict[str, float], drives: Sequence[Drive], *, slowest: bool = True) -> float:
    speeds = [
        rates["disk" if drive.rotational else "nvme" if drive.transport == "nvme" else "flash"]
        for drive in drives
    ] or list(rates.values())
    return min(speeds) if slowest else max(speeds)
