"""One drive's timed boots as a series of numbers, and the figures that sum it up. Pure.

Only boots that are done, valid and not charted are in a series: a charted boot is slowed down by
the sampling, a failed one has no time.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from appliance import stats
from appliance.report.rows import BootRow, DriveRow
from appliance.units import printable


@dataclass(frozen=True, slots=True)
class Series:
    """The timed boots of one drive, in the order of their cycles."""

    label: str
    role: str
    cycles: tuple[int, ...]
    boot_s: tuple[float, ...]
    planned: int
    failed: int
    skipped: int
    """By a person, and never tried."""
    given_up: str
    """Why the campaign went on without this drive; empty where it did not."""
    proofs: tuple[tuple[str, str], ...]
    """`cold_proof` and its reason for each value of `boot_s`."""
    page_caches: tuple[str, ...]
    """The page cache each value of `boot_s` met."""

    @property
    def median_s(self) -> float | None:
        """The median of all values."""
        return stats.find_median(self.boot_s)

    @property
    def spread(self) -> float | None:
        """The largest distance from the median, as a share of it."""
        return stats.find_spread(self.boot_s)

    @property
    def from_first_boot(self) -> bool:
        """Whether the first boot is among the values: without it no gain over it can be stated."""
        return bool(self.cycles) and self.cycles[0] == 1

    @property
    def settled_from(self) -> int | None:
        """The cycle from which the boots stay near their final median."""
        point = stats.find_settling_point(self.boot_s)
        return None if point is None else self.cycles[point]

    @property
    def settled_s(self) -> float | None:
        """The median of the settled boots."""
        point = stats.find_settling_point(self.boot_s)
        return None if point is None else stats.find_median(self.boot_s[point:])

    @property
    def gain(self) -> float | None:
        """First boot divided by the settled median; None without a first boot or not settled."""
        return stats.find_first_to_settled(self.boot_s) if self.from_first_boot else None

    @property
    def drift_s(self) -> float | None:
        """Seconds per cycle after settling."""
        return stats.find_drift(self.cycles, self.boot_s)

    def count_proofs(self) -> Counter[tuple[str, str]]:
        """How many boots have each proof and reason."""
        return Counter(self.proofs)


def make_series(drive: DriveRow, boots: Sequence[BootRow]) -> Series:
    """The series of `drive` out of all boots of its campaign."""
    timed = sorted(
        (boot for boot in boots if boot.drive_id == drive.id and not boot.charted),
        key=lambda boot: boot.cycle,
    )
    valid = [(boot, boot.boot_s) for boot in timed if boot.valid and boot.boot_s is not None]
    return Series(
        label=label_booted(drive),
        role=drive.role,
        cycles=tuple(boot.cycle for boot, _ in valid),
        boot_s=tuple(boot_s for _, boot_s in valid),
        planned=len(timed),
        failed=sum(boot.state == "failed" for boot in timed),
        skipped=sum(boot.state == "skipped" for boot in timed),
        given_up=printable(drive.failed_reason),
        proofs=tuple((boot.cold_proof, printable(boot.cold_reason)) for boot, _ in valid),
        page_caches=tuple(boot.page_cache or "unknown" for boot, _ in valid),
    )


def label_booted(drive: DriveRow) -> str:
    """What was booted: a backing drive is never booted without its array."""
    return f"array ({label_drive(drive)})" if drive.role == "backing" else label_drive(drive)


def label_drive(drive: DriveRow) -> str:
    """What a drive is called in a report: its serial number, or its WWN where it has none."""
    return printable(drive.serial or drive.wwn)
