# SPDX-License-Identifier: Apache-2.0
"""The engine's status, and the plan on the stick. Pure; reads nothing itself.

Every text is one line, except where its name starts with `raw_` or is `toml`, or where it says so.
"""

from dataclasses import dataclass

ARRAY = "array"
"""What a step on the campaign's array has for a device."""


@dataclass(frozen=True, slots=True)
class Countdown:
    """Something happens in `remaining_s` unless a key is pressed."""

    purpose: str
    """autostart | resume | power-off | reboot"""
    remaining_s: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a long step is."""

    label: str
    done_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class StepNow:
    """Where a campaign of workloads is."""

    position: int
    """From 1."""
    of: int
    kind: str
    device: str
    step_id: int = 0
    """Its row's; 0: it is none of the campaign's steps."""
    part: str = ""
    """Empty while the step is being prepared."""
    part_number: int = 0
    parts: int = 0
    left_s: float | None = None
    """How long it still takes, at its drive's own rate or as that says; None: not known."""


@dataclass(frozen=True, slots=True)
class RunningStep:
    """One of several steps that run at the same time, and how far it is."""

    step: StepNow
    progress: Progress


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why the engine refuses, and what to do about it."""

    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class PlannedDrive:
    """One drive of the plan on the stick."""

    identity: str
    role: str
    released: bool
    """For being erased."""
    may_start: bool = False
    """Released for its own system to be started."""


@dataclass(frozen=True, slots=True)
class StickPlan:
    """The plan found on the stick."""

    state: str = "absent"
    """absent | invalid | valid"""
    name: str = ""
    summary: str = ""
    problems: tuple[str, ...] = ()
    """Its mistakes; of a valid one, why it cannot be run with the drives that are here."""
    warnings: tuple[str, ...] = ()
    """What the user must know before it starts."""
    autostart: bool = False
    is_known: bool = False
    """It was started or stopped before, so it does not start automatically again."""
    toml: str = ""
    drives: tuple[PlannedDrive, ...] = ()


@dataclass(frozen=True, slots=True)
class Status:
    """What the engine says about itself."""

    phase: str
    message: str
    campaign_id: int | None
    countdown: Countdown | None
    progress: Progress | None
    next: str
    error: Trouble | None
    plan: StickPlan
    kaltstart_version: str
    firmware: str
    can_wake: bool
    work: str = ""
    """What is running where it is no campaign: upgrade | dismantle."""
    step: StepNow | None = None
    steps: tuple[RunningStep, ...] = ()
    """Where several steps run at the same time: all of them; `step` is one of these then."""
    temperatures: tuple[tuple[str, float], ...] = ()
    """Identity and degrees Celsius of each drive of the running steps."""

    @property
    def step_ids(self) -> frozenset[int]:
        """The steps that run."""
        running = [entry.step for entry in self.steps] or ([self.step] if self.step else [])
        return frozenset(step.step_id for step in running)

    @property
    def own_left_s(self) -> dict[int, float]:
        """How long running steps still take, where they tell, by their rows' ids."""
        running = [entry.step for entry in self.steps] or ([self.step] if self.step else [])
        return {step.step_id: step.left_s for step in running if step.left_s is not None}

    @property
    def busy(self) -> bool:
        """A campaign has the machine, or `work`."""
        return self.phase in {"countdown", "preparing", "running", "finishing"}
