# SPDX-License-Identifier: Apache-2.0
"""One drive's timed boots as a series of numbers, and its summary figures. Pure.

Only boots that are done, valid and timed are in a series: a charted boot is slowed down by the
sampling, a failed one has no time, and one that trains the drive is not timed.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from appliance.statistics import stats
from appliance.store.read.campaign import BootRow, DriveRow

KNOWN_TO = 0.01
"""How well a median is worth knowing: two drives that differ by as much can be distinguished."""


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
    powers: tuple[str, ...]
    """cold | warm: what was asked for before each value of `boot_s`."""
    coolings: tuple[str, ...] = ()
    """none | proven | unproven: whether it was shown not to know the boot before each of them."""
    trained: int = 0
    """Untimed boots that were made before these."""
    learned_before: str = ""
    """How the drive may have learned before its first timed boot, a clause; empty: in no way."""
    drive_id: int = 0
    drive_label: str = ""
    """Without the power, where that is in `label`: the drive has another series then."""

    @property
    def spread(self) -> float | None:
        """The largest distance of any value from the median of all, as a share of it."""
        return stats.find_spread(self.boot_s)

    @property
    def power(self) -> str:
        """How its boots were begun, cold | warm; empty without a boot."""
        return self.powers[0] if self.powers else ""

    @property
    def is_told_apart(self) -> bool:
        """Whether the drive was booted cold and warm, and these are the ones or the others."""
        return self.label != self.drive_label != ""

    @property
    def from_first_boot(self) -> bool:
        """Whether the first boot is among the values: without it no gain over it can be stated.

        Nor where the drive was to forget before each boot: all of them are like a first one.
        """
        return bool(self.cycles) and self.cycles[0] == 1 and not self.is_cooled

    @property
    def is_cooled(self) -> bool:
        """Whether the drive was to forget before each boot, proven or not."""
        return any(proof != "none" for proof in self.coolings)

    @property
    def course(self) -> stats.Course:
        """Whether the boots settled, and how they move since."""
        return _find_course(self.cycles, self.boot_s)

    @property
    def settled_from(self) -> int | None:
        """The cycle from which the boots are settled."""
        point = self.course.settled_from
        return None if point is None else self.cycles[point]

    @property
    def settled_boot_s(self) -> tuple[float, ...]:
        """The settled boots; none where that is not shown."""
        point = self.course.settled_from
        return () if point is None else self.boot_s[point:]

    @property
    def settled_s(self) -> float | None:
        """The median of the settled boots."""
        return stats.find_median(self.settled_boot_s)

    @property
    def interval_s(self) -> stats.Interval | None:
        """The 95 % interval of `settled_s`."""
        return stats.find_median_interval(self.settled_boot_s)

    @property
    def drift_s(self) -> stats.Trend | None:
        """Seconds per cycle of the later boots: the first one is what these are held against."""
        cycles = self.cycles[len(self.cycles) - len(self.later_boot_s) :]
        return _find_trend(cycles, self.later_boot_s)

    @property
    def later_boot_s(self) -> tuple[float, ...]:
        """The settled boots without the first boot of all, to hold that one against."""
        return self.settled_boot_s[1 if self.settled_from == 1 else 0 :]

    def find_gain(self, all_series: Sequence["Series"]) -> stats.Gain | None:
        """First boot over the settled ones, by how much these and those of control drives vary.

        None without a first boot, and where the boots have not settled.
        """
        if not self.from_first_boot or not self.later_boot_s:
            return None
        controls = find_controls(all_series, self.power)
        return stats.find_gain(
            self.boot_s[0],
            self.later_boot_s,
            controls=[other.later_boot_s for other in controls if other is not self],
        )

    @property
    def more_boots(self) -> int | None:
        """About how many more boots it takes until the settled median is known to ±1 %.

        0 once its interval is as narrow as that; until then 1 at least, whatever the estimate.
        """
        deviation, median = stats.find_deviation(self.later_boot_s), self.settled_s or 0.0
        if deviation is None:
            return None
        known, margin = self.interval_s, KNOWN_TO * median
        if known and known.high - median <= margin and median - known.low <= margin:
            return 0
        total = stats.count_for_median(deviation, share=KNOWN_TO)
        return max(1, total - len(self.settled_boot_s))

    def count_proofs(self) -> Counter[tuple[str, str, str]]:
        """How many boots have what was asked for, its proof and its reason."""
        return Counter(
            (power, *proof) for power, proof in zip(self.powers, self.proofs, strict=True)
        )


@lru_cache(maxsize=64)
def _find_course(cycles: tuple[int, ...], boot_s: tuple[float, ...]) -> stats.Course:
    return stats.find_course(cycles, boot_s)


@lru_cache(maxsize=64)
def _find_trend(cycles: tuple[int, ...], boot_s: tuple[float, ...]) -> stats.Trend | None:
    return stats.find_trend([(float(x), y) for x, y in zip(cycles, boot_s, strict=True)])


def find_controls(all_series: Sequence[Series], power: str) -> list[Series]:
    """What is held against the boots of other drives: those of control drives, begun alike."""
    return [one for one in all_series if one.role == "control" and one.power == power]


def make_series(drive: DriveRow, boots: Sequence[BootRow]) -> tuple[Series, ...]:
    """The series of `drive` out of all boots of its campaign: one of its cold, one of its warm."""
    drive_boots = [boot for boot in boots if boot.drive_id == drive.id]
    timed = sorted((boot for boot in drive_boots if boot.is_timed), key=lambda boot: boot.cycle)
    trained = sum(bool(boot.trained) and boot.has_sample for boot in drive_boots)
    powers = sorted({boot.power for boot in timed}) or [""]
    label = label_booted(drive)
    return tuple(
        _make_series(
            drive,
            [boot for boot in timed if boot.power == power],
            label=f"{label}, {power}" if len(powers) > 1 else label,
            trained=trained,
        )
        for power in powers
    )


def _make_series(drive: DriveRow, timed: Sequence[BootRow], *, label: str, trained: int) -> Series:
    valid = [(boot, boot.boot_s) for boot in timed if boot.valid and boot.boot_s is not None]
    return Series(
        label=label,
        role=drive.role,
        cycles=tuple(boot.cycle for boot, _ in valid),
        boot_s=tuple(boot_s for _, boot_s in valid),
        planned=len(timed),
        failed=sum(boot.state == "failed" for boot in timed),
        skipped=sum(boot.state == "skipped" for boot in timed),
        given_up=drive.failed_reason,
        proofs=tuple((boot.cold_proof, boot.cold_reason) for boot, _ in valid),
        page_caches=tuple(boot.page_cache or "unknown" for boot, _ in valid),
        powers=tuple(boot.power for boot, _ in valid),
        coolings=tuple(boot.cooling for boot, _ in valid),
        trained=trained,
        learned_before=_find_learned_before(timed[0]) if timed else "",
        drive_id=drive.id,
        drive_label=label_booted(drive),
    )


def _find_learned_before(first: BootRow) -> str:
    if first.path == "installed":
        return "its own system was started before the campaign, and the drive may have learned then"
    if first.is_known:
        return (
            "the same reads were replayed on it in an earlier campaign, and the drive may have"
            " learned then"
        )
    if first.attempts > 1:
        return (
            f"its first boot was tried {first.attempts} times, and the drive may have learned by"
            " the ones before"
        )
    return ""


def label_booted(drive: DriveRow) -> str:
    """What was booted: a backing drive is never booted without its array."""
    return f"array ({label_drive(drive)})" if drive.role == "backing" else label_drive(drive)


def label_drive(drive: DriveRow) -> str:
    """What a drive is called in a report: its serial number, or its WWN where it has none.

    Of two with the same serial number each has its WWN.
    """
    return drive.name
