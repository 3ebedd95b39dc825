# SPDX-License-Identifier: Apache-2.0
"""A campaign's boots, steps and verdicts, as the pages show them. Pure; reads nothing itself.

Every text is one line, except where its name starts with `raw_` or is `toml`, or where it says so.
"""

from dataclasses import dataclass, replace

from appliance.store.read.overview import BootRow, CampaignDriveRow, CampaignRow
from appliance.store.tables.steps import StepRow
from appliance.store.tables.verdicts import VerdictRow
from tui.language import _
from tui.model.status import ARRAY


@dataclass(frozen=True, slots=True)
class CampaignDrive(CampaignDriveRow):
    """One drive of a campaign with its boots, by cycle."""

    boots: tuple[BootRow, ...]
    quartiles_s: tuple[float, float, float] | None = None
    """Of `times_s`: lower quartile, median, upper quartile; None where they are too few."""
    power: str = ""
    """Where it was booted cold and warm, and these are the ones or the others."""

    @property
    def kind(self) -> str:
        """How it stores."""
        return "disk" if self.rotational else "flash"

    @property
    def booted(self) -> str:
        """What was booted: the cycles of an array belong to its backing drive."""
        what = f"{_(ARRAY)} ({self.name})" if self.role == "backing" else self.name
        return f"{what}, {_(self.power)}" if self.power else what

    @property
    def by_power(self) -> "tuple[CampaignDrive, ...]":
        """One for its cold and one for its warm boots, where it has both."""
        powers = sorted({boot.power for boot in self.boots if boot.counts})
        if len(powers) < 2:
            return (self,)
        return tuple(
            replace(
                self,
                power=power,
                boots=tuple(boot for boot in self.boots if boot.power == power),
                quartiles_s=None,
            )
            for power in powers
        )

    @property
    def times_s(self) -> tuple[float, ...]:
        """The valid times in order, what may be compared: of cold and warm boots the cold ones."""
        counted = [boot for boot in self.boots if boot.counts]
        power = min((boot.power for boot in counted), default="")
        return tuple(
            boot.boot_s for boot in counted if boot.power == power and boot.boot_s is not None
        )


@dataclass(frozen=True, slots=True)
class BootRatio:
    """How many times as long the settled boots of one drive took as those of the fastest."""

    one: str
    """What was booted fastest."""
    other: str
    counts: tuple[int, int]
    """Settled boots of both."""
    proofs: tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]]
    """Of both the power and the cold proof of the boots that count: `(("cold", "unproven"),)`; with
    `cooled` or `cooling unproven` behind them where the drive was to forget."""
    value: float = 1.0
    interval: tuple[float, float] | None = None
    """With 95 % confidence, of all pairs at once where two are picked; None where there are too few
    boots, or both were not booted alike."""
    picked_from: int = 2
    """Of so many drives that were booted alike they are the fastest and the slowest."""

    @property
    def is_seen(self) -> bool:
        """Whether the interval excludes that both take as long."""
        return self.interval is not None and not self.interval[0] <= 1.0 <= self.interval[1]


@dataclass(frozen=True, slots=True)
class Figure:
    """One main figure of a step, ready to be drawn, with the state of the page cache it met."""

    name: str
    """Which part of the step: `direct`, `seq-read`, `total`."""
    text: str
    cache: str
    """`cold`, `warm`, `bypass`, `bounded`, `partial`; with `unproven` where it was not proven."""
    valid: bool = True
    short: str = ""
    """The one value to set beside those of other drives."""
    value: float = 0.0
    """What `short` says, as a number; 0 where no picture is drawn of it."""


@dataclass(frozen=True, slots=True)
class Spread:
    """What measuring the same several times in one step gave."""

    name: str
    cache: str
    """As that of a figure."""
    unit: str
    values: tuple[float, ...]
    """In their order; at least two."""
    quartiles: tuple[float, float, float] | None = None
    """Lower quartile, median, upper quartile; None where there are too few values."""


@dataclass(frozen=True, slots=True)
class Step(StepRow):
    """One workload on one drive, and what it gave."""

    figures: tuple[Figure, ...] = ()
    array: tuple[str, ...] = ()
    """Lines on what the array did inside, where the step ran on it."""
    spreads: tuple[Spread, ...] = ()

    @property
    def on_array(self) -> bool:
        """Whether it runs on the campaign's array."""
        return self.device == ARRAY


@dataclass(frozen=True, slots=True)
class Campaign(CampaignRow):
    """One campaign of this stick, with all that it has shown."""

    drives: tuple[CampaignDrive, ...]
    report: str
    """The report's folder on the FAT partition; empty where it was not written yet."""
    boot_ratios: tuple[BootRatio, ...] = ()
    unsettled: tuple[str, ...] = ()
    """What was booted and has no settled boots to compare, where others have."""
    steps: tuple[Step, ...] = ()
    """In the order in which they happen."""
    verdicts: tuple[VerdictRow, ...] = ()
    """On each drive that was judged."""
    is_judged: bool = False
    """Whether it was there to judge its drives, or one was rejected all the same."""
    judging_problem: str = ""
    """Why it could not be judged when that was tried last, a line each; verdicts there are are
    older then."""
