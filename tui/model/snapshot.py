# SPDX-License-Identifier: Apache-2.0
"""An immutable snapshot of the engine's state for the pages. Pure; reads nothing itself.

Every text is one line, except where its name starts with `raw_` or is `toml`, or where it says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.model.drives import DriveRow, UnlistedRow
from tui.model.estimate import DriveLeft, TimeLeft
from tui.model.io_history import Course
from tui.model.machine import Machine
from tui.model.status import ARRAY, Countdown, Status

if TYPE_CHECKING:
    # Their rows are the database's, which the first page does without.
    from tui.model.campaigns import Campaign


@dataclass(frozen=True, slots=True)
class Rate:
    """What a drive or array itself did in the last moments, whatever the RAM answered beside it."""

    name: str
    """Drive | Array | Cache | Backing; or a drive's identity and device"""
    read_bytes_s: float
    write_bytes_s: float
    read_iops: float
    write_iops: float
    busy: float = 0.0
    """The share of the time in which it had something to do."""
    lacks_writes: bool = False
    """It is an array that wrote: `write_bytes_s` is too low."""


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the event log."""

    seq: int
    at: str
    level: str
    what: str
    """What happened, in the word that the log has for it."""
    detail: str
    """Its sentence in English."""
    words: str = ""
    """The sentence with the names of what is put in."""
    fields: Mapping[str, object] | None = None
    """What is put in; None where that, or the sentence, is not known."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a request."""

    request_id: int
    kind: str
    state: str
    """new | accepted | refused"""
    text: str


_BEHIND_OTHER_CAMPAIGNS = frozenset({"ready", "merged"})
"""What precedes these events in the log belongs to an earlier start, or to another stick."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All a page needs, read at one moment."""

    status: Status | None = None
    """None: the engine has not said anything yet."""
    silent: bool = False
    """The engine should have said something by now."""
    hung: bool = False
    """The reading after this one does not come to an end: all of this is old."""
    drives: tuple[DriveRow, ...] = ()
    looking: bool = True
    """The list of drives is not complete yet."""
    unlisted: tuple[UnlistedRow, ...] = ()
    """Drives that are here and cannot be in the list."""
    campaigns: "tuple[Campaign, ...]" = ()
    """The newest first."""
    events: tuple[Event, ...] = ()
    answers: tuple[Answer, ...] = ()
    """The latest first."""
    rates: tuple[Rate, ...] = ()
    """Of the drive that the running step is about, or of the array and its two drives."""
    course: Course | None = None
    """Of the drive or array that the running step is about, in the last minutes."""
    activity: tuple[Rate, ...] = ()
    """Of every drive, while a campaign has the machine."""
    time_left: TimeLeft | None = None
    """Of the campaign that has the machine; None where nothing of it is left."""
    drives_left: tuple[DriveLeft, ...] = ()
    """Of each of its drives."""
    machine: Machine | None = None
    """None: the engine has not reported it yet."""
    is_read: bool = False
    """The database was read, or cannot be: what there is to know about campaigns is known."""
    is_unreadable: bool = False
    """The database cannot be read: that it shows no campaign says nothing."""
    trouble: str = ""
    """Why something could not be read; empty where all could."""

    @property
    def current(self) -> "Campaign | None":
        """The campaign the engine is at, or else the newest; None while it is at something else."""
        if self.work:
            return None
        campaign_id = self.status.campaign_id if self.status else None
        for campaign in self.campaigns:
            if campaign.id == campaign_id:
                return campaign
        return self.campaigns[0] if self.campaigns else None

    @property
    def paused(self) -> "Campaign | None":
        """What can go on now: the current campaign, or else the newest that is paused."""
        if self.busy:
            return None
        candidates = (self.current, *self.campaigns)
        return next(
            (campaign for campaign in candidates if campaign and campaign.state == "paused"), None
        )

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
    def work(self) -> str:
        """What is running where it is no campaign; empty otherwise."""
        return self.status.work if self.status is not None else ""

    @property
    def is_early(self) -> bool:
        """The engine is not ready yet."""
        return self.status is None or self.status.phase == "starting"

    @property
    def is_overtaken(self) -> bool:
        """The database says already that the status' campaign is paused; the status comes later.

        A user who sees PAUSED may press the keys of a paused campaign, and what the status says of
        a countdown, a step or what comes next is over.
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


def was_parted(before: Snapshot, now: Snapshot) -> bool:
    """Whether dismantling an array has just ended, well or not: its outcome is the message."""
    step = before.status.step if before.status else None
    is_over = now.status is not None and now.status.phase == "idle"
    return step is not None and step.kind == ARRAY and is_over


def has_missed_end(before: Snapshot, now: Snapshot) -> bool:
    """Whether a campaign came to its end or was paused that `before` had not seen at work.

    Drawing waits for measuring: a short campaign may be over before the next reading.
    """
    if now.is_early or before.busy:
        return False  # while it is early, the log is that of the last time
    seen = before.events[-1].seq if before.events and not before.is_early else 0
    for event in reversed(now.events):
        if event.seq <= seen or event.what in _BEHIND_OTHER_CAMPAIGNS:
            break
        if event.what in {"campaign-done", "campaign-paused"}:
            return True
    return False
