# SPDX-License-Identifier: Apache-2.0
"""The drives' current rates, from two readings of their counters. Pure: no clock, no file."""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tui.language import N_
from tui.model.drives import DriveRow
from tui.model.io_history import Counters, Course, find_course
from tui.model.snapshot import Rate
from tui.model.status import ARRAY, Status

if TYPE_CHECKING:
    from tui.model.campaigns import Campaign

_WINDOW_S = 3.0
_SHORTEST_S = 0.4
_MEMBERS = {"cache": N_("Cache"), "backing": N_("Backing")}
_WHOLE_ARRAY = re.compile(r"bcache\d+")


class Meter:
    """The last readings of one drive: as many as tell what it does now, and `keep_s` back."""

    def __init__(self, name: str, *, keep_s: float = _WINDOW_S) -> None:
        self._name = name
        self._keep_s = keep_s
        self._device = ""
        self._readings: deque[Counters] = deque()

    def take(self, device: str, counters: Counters) -> Rate | None:
        """The mean since about three seconds ago; None before there is enough to tell."""
        readings = self._readings
        if device != self._device or (readings and counters.read_ios < readings[-1].read_ios):
            readings.clear()  # another drive, or one that came back and counts from 0
        self._device = device
        readings.append(counters)
        while len(readings) > 2 and counters.at_s - readings[1].at_s >= self._keep_s:
            readings.popleft()
        first = readings[0]
        for reading in reversed(readings):
            if counters.at_s - reading.at_s >= _WINDOW_S:
                first = reading
                break
        seconds = counters.at_s - first.at_s
        if seconds < _SHORTEST_S:
            return None
        return Rate(
            name=self._name,
            read_bytes_s=(counters.read_bytes - first.read_bytes) / seconds,
            write_bytes_s=(counters.write_bytes - first.write_bytes) / seconds,
            read_iops=(counters.read_ios - first.read_ios) / seconds,
            write_iops=(counters.write_ios - first.write_ios) / seconds,
            busy=min(max((counters.busy_s - first.busy_s) / seconds, 0.0), 1.0),
            lacks_writes=counters.lacks_writes and counters.write_ios > first.write_ios,
        )

    def find_course(self) -> Course | None:
        """What it did, as far back as readings are kept."""
        return find_course(tuple(self._readings))


def find_subjects(
    status: Status | None,
    campaigns: "Iterable[Campaign]",
    drives: Sequence[DriveRow],
    *,
    arrays: Iterable[str],
) -> list[tuple[str, str]]:
    """Name and block device of what the running step is about: a drive, or the array and its two.

    Of several steps at the same time none: the page has a line for each of them.

    `arrays` are the block devices that may be arrays or partitions of one.
    """
    if status is None or status.step is None or status.steps:
        return []
    if (name := status.step.device) != ARRAY:
        # It is called as the plan has it: by either.
        return [(N_("Drive"), row.device) for row in drives if name in {row.serial, row.wwn}]
    members = [
        drive
        for campaign in campaigns
        if campaign.id == status.campaign_id
        for drive in campaign.drives
        if drive.role in _MEMBERS
    ]
    # Only the campaign's own array is assembled; of several it would be unknown which it is.
    whole = [name for name in arrays if _WHOLE_ARRAY.fullmatch(name)]
    subjects = [(N_("Array"), whole[0])] if len(whole) == 1 else []
    return subjects + [
        (_MEMBERS[drive.role], row.device)
        for row in drives
        for drive in members
        if row.is_drive(drive.identity, drive.wwn)
    ]
