"""What the database says of a campaign: its boots, steps and verdicts. Pure; reads nothing itself.

Every text is fit to be drawn (see `charset`) except where its name starts with `raw_` or is `toml`.
"""

from dataclasses import dataclass

from tui.language import _

ARRAY = "array"
"""What a step on the campaign's array has for a device."""


@dataclass(frozen=True, slots=True)
class Boot:
    """One finished boot; `boot_s` is None where it failed."""

    cycle: int
    charted: bool
    power: str
    cold_proof: str
    reason: str
    valid: bool
    boot_s: float | None


@dataclass(frozen=True, slots=True)
class CampaignDrive:
    """One drive of a campaign with its boots, by cycle."""

    identity: str
    model: str
    role: str
    kind: str
    failed_reason: str
    planned: int
    boots: tuple[Boot, ...]
    quartiles_s: tuple[float, float, float] | None = None
    """Of `times_s`: lower quartile, median, upper quartile; None where they are too few."""
    id: int = 0
    """Its row's, by which a person's wish names it."""
    skipped: int = 0
    """Boots that a person gave up; they are not among `boots`."""
    open: int = 0
    """Boots still to be made."""
    next_position: int | None = None
    """Where the first of these comes among all drives' boots."""

    @property
    def booted(self) -> str:
        """What was booted: the cycles of an array belong to its backing drive."""
        return f"{_(ARRAY)} ({self.identity})" if self.role == "backing" else self.identity

    @property
    def times_s(self) -> tuple[float, ...]:
        """The valid, uncharted times in order: what may be compared."""
        return tuple(
            boot.boot_s
            for boot in self.boots
            if boot.valid and not boot.charted and boot.boot_s is not None
        )


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
class Step:
    """One workload on one drive."""

    id: int
    """Its row's, by which a person's wish names it."""
    position: int
    kind: str
    device: str
    state: str
    """planned | running | done | failed | skipped"""
    reason: str
    figures: tuple[Figure, ...] = ()
    workload_index: int = 0
    """Which workload of the plan; the same where it runs on several drives."""
    array: tuple[str, ...] = ()
    """Lines on what the array did inside, where the step ran on it."""
    spreads: tuple[Spread, ...] = ()

    @property
    def on_array(self) -> bool:
        """Whether it runs on the campaign's array."""
        return self.device == ARRAY


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a drive may be used."""

    identity: str
    verdict: str
    """accept | accept with remarks | reject"""
    reasons: str
    """Empty for `accept`."""


@dataclass(frozen=True, slots=True)
class Campaign:
    """One campaign of this stick."""

    id: int
    name: str
    state: str
    """preparing | running | paused | done"""
    reason: str
    created_at: str
    finished_at: str
    planned: int
    done: int
    failed: int
    drives: tuple[CampaignDrive, ...]
    report: str
    """The report's folder on the FAT partition; empty where it was not written yet."""
    is_pausing: bool = False
    """A person has asked for it; it does at its next safe point."""
    skipped: int = 0
    """Boots that a person gave up, and that were never tried."""
    steps: tuple[Step, ...] = ()
    """In the order in which they happen."""
    verdicts: tuple[Verdict, ...] = ()
    """On each drive that was judged."""
    judging_problem: str = ""
    """Why it could not be judged when that was tried last; verdicts there are are older then."""
