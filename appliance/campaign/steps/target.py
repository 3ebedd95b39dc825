# SPDX-License-Identifier: Apache-2.0
"""The target of a step: one drive, or the campaign's array."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from appliance.campaign.context import CampaignContext
from appliance.campaign.drives.array import (
    dismantle_array,
    find_member,
    open_array,
    select_members,
)
from appliance.campaign.drives.find import await_drive, find_released_drive
from appliance.campaign.silent_drives import Member
from appliance.campaign.steps.array_watch import ArrayWatch
from appliance.campaign.steps.environment import BenchOrder, open_array_bench, open_drive_bench
from appliance.drive_thread import DriveThread
from appliance.drives.model import Drive
from appliance.errors import RefusedError
from appliance.phrases import N_
from appliance.plan.model import ArrayPlan
from appliance.progress import Progress
from appliance.stick.partitions import Stick
from appliance.store.tables.arrays import ArrayRow, select_array
from appliance.store.tables.campaigns import CampaignDriveRow, select_campaign_drives
from appliance.store.tables.steps import StepRow
from appliance.workloads.base import Bench

_BLOCK = Path("/sys/class/block")


def find_counters(drive: Drive) -> Path:
    """The kernel's file with what the whole drive has served."""
    return _BLOCK / drive.name / "stat"


@dataclass(frozen=True, slots=True)
class OpenSubject:
    """The subject while a step runs on it."""

    stats: Mapping[str, Path]
    """The counters of the device that is measured, then those of its drives, the backing drive's
    last, by people's names."""
    open_bench: Callable[[BenchOrder], AbstractContextManager[Bench]]
    watch: ArrayWatch | None = None
    drive: Drive | None = None
    """None: it is the array."""


class Subject(Protocol):
    """One step's."""

    def find(self, tell: Progress) -> None:
        """Raises RefusedError when it is not here."""
        ...

    @property
    def owner(self) -> CampaignDriveRow:
        """The drive whose marks count, as it is now: steps change what is on it."""
        ...

    @property
    def members(self) -> Sequence[Member]:
        """All drives that the step works on, once they are found."""
        ...

    def opened(self, hand: DriveThread) -> AbstractContextManager[OpenSubject]:
        """Ready to be measured, for as long as the block lasts.

        Raises RefusedError, StepFailedError.
        """
        ...


@dataclass(slots=True)
class DriveSubject:
    """A single drive."""

    context: CampaignContext
    stick: Stick
    step: StepRow
    _drive: Drive | None = None
    _beside: Member | None = None
    """The other drive of the campaign's array, where this one is to be taken out of it."""

    def find(self, tell: Progress) -> None:
        """The live drive of this step."""
        self._drive = await_drive(
            self.context.host, partial(find_released_drive, row=self.owner), tell=tell
        )
        self._beside = None
        if self._array is not None:
            rows = select_members(self.context, self.step.campaign_id).both
            other = next(row for row in rows if row.drive_id != self.step.drive_id)
            with suppress(RefusedError):  # the array is dismantled without it
                live = await_drive(
                    self.context.host, partial(find_released_drive, row=other), tell=tell
                )
                self._beside = other, live

    @property
    def owner(self) -> CampaignDriveRow:
        """The drive's part in the campaign."""
        rows = select_campaign_drives(self.context.connection, self.step.campaign_id)
        return next(row for row in rows if row.drive_id == self.step.drive_id)

    @property
    def members(self) -> Sequence[Member]:
        """The drive, and the one that is to be released with it."""
        member = self.owner, self._live
        return (member,) if self._beside is None else (member, self._beside)

    @contextmanager
    def opened(self, hand: DriveThread) -> Iterator[OpenSubject]:
        """Out of the campaign's array first, if it is one of its drives."""
        if (array := self._array) is not None:
            dismantle_array(self.context, array, stick=self.stick, hand=hand)
            self.find(hand.tell)
        drive = self._live
        yield OpenSubject(
            stats={self.step.device: find_counters(drive)},
            open_bench=partial(open_drive_bench, stick=self.stick, drive=drive),
            drive=drive,
        )

    @property
    def _array(self) -> ArrayRow | None:
        """The campaign's, where the drive is in it."""
        array = select_array(self.context.connection, self.step.campaign_id)
        if array and self.step.drive_id in {array.backing_drive_id, array.cache_drive_id}:
            return array
        return None

    @property
    def _live(self) -> Drive:
        if self._drive is None:
            raise AssertionError("the drive is looked for first")
        return self._drive


@dataclass(slots=True)
class ArraySubject:
    """The campaign's array."""

    context: CampaignContext
    stick: Stick
    step: StepRow
    plan: ArrayPlan
    is_begun: bool
    """Whether a part of the step is stored: then its array cannot be made again."""
    _members: Sequence[Member] = ()

    def find(self, tell: Progress) -> None:
        """Both drives."""
        rows = select_members(self.context, self.step.campaign_id).both
        self._members = [(row, find_member(self.context, row, tell=tell)) for row in rows]

    @property
    def owner(self) -> CampaignDriveRow:
        """The backing drive: what is on the array is its."""
        return select_members(self.context, self.step.campaign_id).backing

    @property
    def members(self) -> Sequence[Member]:
        """Both drives."""
        return self._members

    @contextmanager
    def opened(self, hand: DriveThread) -> Iterator[OpenSubject]:
        """Assembled, made first where it is not there."""
        members = select_members(self.context, self.step.campaign_id)
        with open_array(
            self.context,
            self.step.campaign_id,
            stick=self.stick,
            plan=self.plan,
            may_make=not self.is_begun,
            hand=hand,
        ) as opened:
            watch = hand.do(
                partial(
                    ArrayWatch,
                    opened,
                    plan=self.plan,
                    tell=hand.tell,
                    announce=self.context.host.announce,
                ),
                N_("looking at the array"),
            )
            # A drive that calls itself what the array is called, or as the other one, has its WWN:
            # two devices under one name would be taken for each other.
            identities = (self.step.device, members.cache.identity, members.backing.identity)
            names = [self.step.device]
            for row in (members.cache, members.backing):
                is_own = identities.count(row.identity) == 1
                names.append(row.identity if is_own else row.wwn)
            yield OpenSubject(
                stats=dict(zip(names, watch.stat_paths.values(), strict=True)),
                open_bench=partial(
                    open_array_bench,
                    array=opened.array,
                    size_bytes=watch.size_bytes,
                    control=watch,
                ),
                watch=watch,
            )
