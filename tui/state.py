"""What the pages show: immutable snapshots of the engine's state. Pure; reads nothing itself.

Every text is fit to be drawn (see `charset`) except where its name starts with `raw_` or is `toml`.
"""

from dataclasses import dataclass

from tui.drive_facts import Details, Health

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
    part: str = ""
    """Empty while the step is being prepared."""
    part_number: int = 0
    parts: int = 0


@dataclass(frozen=True, slots=True)
class Rate:
    """What a drive or array itself did in the last moments, whatever the RAM answered beside it."""

    name: str
    """Drive | Array | Cache | Backing"""
    read_bytes_s: float
    write_bytes_s: float
    read_iops: float
    write_iops: float


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


@dataclass(frozen=True, slots=True)
class StickPlan:
    """The plan found on the stick."""

    state: str = "absent"
    """absent | invalid | valid"""
    name: str = ""
    summary: str = ""
    problems: tuple[str, ...] = ()
    autostart: bool = False
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
    version: str
    firmware: str
    can_wake: bool
    step: StepNow | None = None
    temperatures: tuple[tuple[str, float], ...] = ()
    """Identity and degrees Celsius of each drive of the running step."""

    @property
    def busy(self) -> bool:
        """A campaign has the machine."""
        return self.phase in {"countdown", "preparing", "running", "finishing"}


@dataclass(frozen=True, slots=True)
class ArrayMember:
    """What a drive is in an array."""

    raw_set_uuid: str
    """As the engine gave it. Never drawn."""
    role: str
    """cache | backing"""
    ours: bool
    """Whether a campaign of this stick made it."""
    campaign_id: int | None
    explanation: str
    """One sentence."""


@dataclass(frozen=True, slots=True)
class DriveRow:
    """One drive as the engine found it."""

    device: str
    serial: str
    wwn: str
    model: str
    firmware: str
    size_bytes: int
    size: str
    bus: str
    rotational: bool
    logical_block_bytes: int
    physical_block_bytes: int
    partitions: tuple[str, ...]
    mountpoints: tuple[str, ...]
    holders: tuple[str, ...]
    raw_serial: str
    """As the device gave it: what a plan must hold. Never drawn."""
    raw_wwn: str
    offered: bool
    reason: str
    """Why it is not offered, or a remark where it is."""
    twins: tuple[str, ...] = ()
    """Other drives that show the same identity."""
    array: ArrayMember | None = None
    answer: str = "answered"
    """asking | answered | not answering | failed: what became of asking it about itself"""
    answer_reason: str = ""
    details: Details | None = None
    health: Health | None = None

    @property
    def has_remarks(self) -> bool:
        """Something about it is worth a look before it is used."""
        is_ill = self.health is not None and self.health.passed is False
        findings = self.details.findings if self.details else ()
        return is_ill or bool(findings) or self.answer == "failed"

    @property
    def releasable(self) -> bool:
        """It can be told from every other drive, so that a person may release it."""
        return self.offered and bool(self.raw_identity) and not self.twins

    @property
    def kind(self) -> str:
        """How it stores, in a word."""
        return "disk" if self.rotational else "flash"

    @property
    def identity(self) -> str:
        """What a person reads off the drive: the serial, or the WWN where there is none."""
        return self.serial or self.wwn

    @property
    def raw_identity(self) -> str:
        """The same, as the device gave it."""
        return self.raw_serial or self.raw_wwn


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
    drives: tuple["CampaignDrive", ...]
    report: str
    """The report's folder on the FAT partition; empty where it was not written yet."""
    steps: tuple["Step", ...] = ()
    """In the order in which they happen."""
    verdicts: tuple["Verdict", ...] = ()
    """On each drive that was judged."""
    judging_problem: str = ""
    """Why it could not be judged when that was tried last; verdicts there are are older then."""


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

    @property
    def booted(self) -> str:
        """What was booted: the cycles of an array belong to its backing drive."""
        return f"{ARRAY} ({self.identity})" if self.role == "backing" else self.identity

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


@dataclass(frozen=True, slots=True)
class Step:
    """One workload on one drive."""

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
class Event:
    """One line of the event log."""

    seq: int
    at: str
    level: str
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a request."""

    request_id: int
    kind: str
    state: str
    """new | accepted | refused"""
    text: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All a page needs, read at one moment."""

    status: Status | None = None
    """None: the engine has not said anything yet."""
    silent: bool = False
    """The engine should have said something by now."""
    drives: tuple[DriveRow, ...] = ()
    looking: bool = True
    """The list of drives is not complete yet."""
    campaigns: tuple[Campaign, ...] = ()
    """The newest first."""
    events: tuple[Event, ...] = ()
    answers: tuple[Answer, ...] = ()
    """The latest first."""
    rates: tuple[Rate, ...] = ()
    """Of the drive that the running step is about, or of the array and its two drives."""
    trouble: str = ""
    """Why something could not be read; empty where all could."""

    @property
    def current(self) -> Campaign | None:
        """The campaign the engine is at, or else the newest."""
        wanted = self.status.campaign_id if self.status else None
        for campaign in self.campaigns:
            if campaign.id == wanted:
                return campaign
        return self.campaigns[0] if self.campaigns else None

    @property
    def countdown(self) -> Countdown | None:
        """The running countdown, if any key may stop one now."""
        if self.status is None or self.silent or self.is_overtaken:
            return None
        return self.status.countdown

    @property
    def busy(self) -> bool:
        """A campaign has the machine."""
        return self.status is not None and self.status.busy and not self.is_overtaken

    @property
    def is_overtaken(self) -> bool:
        """The database says already that the status' campaign is paused; the status comes later.

        Whoever sees PAUSED may press the keys that a paused campaign takes, and what the status
        says of a countdown, a step or what comes next is over.
        """
        current = self.current
        return (
            self.status is not None
            and current is not None
            and current.id == self.status.campaign_id
            and current.state == "paused"
            # What could not be read may be old: then a key must stop what counts down.
            and not self.trouble
        )
