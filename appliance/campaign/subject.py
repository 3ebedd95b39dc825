"""What a step works on: one drive, or the campaign's array."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from appliance.campaign.array_watch import ArrayWatch
from appliance.campaign.arrays import (
    find_member,
    open_array,
    select_members,
    take_apart_array,
)
from appliance.campaign.bench import BenchOrder, open_array_bench, open_drive_bench
from appliance.campaign.live_drives import await_drive, find_released_drive
from appliance.campaign.site import Site
from appliance.drives.model import Drive
from appliance.plan_model import ArrayPlan
from appliance.progress import Progress
from appliance.stick import Stick
from appliance.store.arrays import select_array
from appliance.store.campaigns import CampaignDriveRow, select_campaign_drives
from appliance.store.steps import StepRow
from appliance.workloads.base import Bench

_BLOCK = Path("/sys/class/block")


@dataclass(frozen=True, slots=True)
class OpenSubject:
    """The subject while a step runs on it."""

    stats: Mapping[str, Path]
    """The counters of the device that is measured, then those of its drives, by people's names."""
    open_bench: Callable[[BenchOrder], AbstractContextManager[Bench]]
    watch: ArrayWatch | None = None
    drive: Drive | None = None
    """None: it is the array."""


class Subject(Protocol):
    """One step's."""

    def find(self) -> None:
        """Raises Refusal when it is not here."""
        ...

    @property
    def owner(self) -> CampaignDriveRow:
        """The drive whose marks count, as it stands now: steps change what is on it."""
        ...

    def opened(self, tell: Progress) -> AbstractContextManager[OpenSubject]:
        """Ready to be measured, for as long as the block lasts. Raises Refusal, StepFailed."""
        ...


@dataclass(slots=True)
class DriveSubject:
    """A drive by itself."""

    site: Site
    stick: Stick
    step: StepRow
    _drive: Drive | None = None

    def find(self) -> None:
        """The live drive of this step."""
        self._drive = await_drive(partial(find_released_drive, row=self.owner))

    @property
    def owner(self) -> CampaignDriveRow:
        """The drive's part in the campaign."""
        rows = select_campaign_drives(self.site.connection, self.step.campaign_id)
        return next(row for row in rows if row.drive_id == self.step.drive_id)

    @contextmanager
    def opened(self, tell: Progress) -> Iterator[OpenSubject]:
        """Out of the campaign's array first, if it is one of its drives."""
        array = select_array(self.site.connection, self.step.campaign_id)
        if array and self.step.drive_id in {array.backing_drive_id, array.cache_drive_id}:
            take_apart_array(self.site, array, stick=self.stick, tell=tell)
            self.find()
        drive = self._live
        yield OpenSubject(
            stats={self.step.device: _BLOCK / drive.name / "stat"},
            open_bench=partial(open_drive_bench, stick=self.stick, drive=drive),
            drive=drive,
        )

    @property
    def _live(self) -> Drive:
        if self._drive is None:
            raise AssertionError("the drive is looked for first")
        return self._drive


@dataclass(slots=True)
class ArraySubject:
    """The campaign's array."""

    site: Site
    stick: Stick
    step: StepRow
    plan: ArrayPlan
    is_begun: bool
    """Whether a part of the step is stored: its array cannot be made anew then."""

    def find(self) -> None:
        """Both drives."""
        members = select_members(self.site, self.step.campaign_id)
        for member in members.both:
            find_member(member)

    @property
    def owner(self) -> CampaignDriveRow:
        """The backing drive: what is on the array is its."""
        return select_members(self.site, self.step.campaign_id).backing

    @contextmanager
    def opened(self, tell: Progress) -> Iterator[OpenSubject]:
        """Assembled, made first where it is not there."""
        members = select_members(self.site, self.step.campaign_id)
        with open_array(
            self.site,
            self.step.campaign_id,
            stick=self.stick,
            plan=self.plan,
            may_make=not self.is_begun,
            tell=tell,
        ) as opened:
            watch = ArrayWatch(opened, plan=self.plan, tell=tell)
            names = (self.step.device, members.cache.identity, members.backing.identity)
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
