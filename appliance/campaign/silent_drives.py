# SPDX-License-Identifier: Apache-2.0
"""Drives abandoned in this boot: they do not answer, and are not used again.

A drive is asked again once the call that hung in the kernel has returned, or once it was plugged
in again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from appliance.campaign.host import Host
from appliance.drive_thread import DriveSilentError, Silence
from appliance.drives.model import Drive
from appliance.errors import Blame
from appliance.phrases import N_, Phrase
from appliance.progress import Progress
from appliance.store.clock import timestamp
from appliance.store.tables.campaigns import CampaignDriveRow

_POLL_S = 0.25

type Member = tuple[CampaignDriveRow, Drive]
"""A drive's part in the campaign, and the live drive."""


@dataclass(frozen=True, slots=True)
class _Entry:
    silence: Silence
    limit_s: float
    at: str
    """When there was the last sign, as people read it."""
    device: tuple[str, str]
    """The live drive's name and the kernel's number: another one once it was plugged in again."""
    blame: Blame


class SilentDrives:
    """By the campaign's drives. For the engine's thread alone."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._entries: dict[int, _Entry] = {}

    def note(self, members: Sequence[Member], silence: Silence, *, limit_s: float) -> Blame:
        """Work on these drives was left behind: none of them is free, whichever of them it is.

        Returns whose fault it is for the first of them. Not that of a drive which has no request
        under way while another one has, or another one is silent: they share a kernel.
        """
        at = timestamp(self._host.clock.time_s() - self._silent_s(silence))
        is_alone = not silence.devices and not self.names
        blames: list[Blame] = []
        for row, drive in members:
            is_it = is_alone or drive.name in silence.devices
            blames.append("drive" if is_it else "other")
            self._entries[row.drive_id] = _Entry(
                silence, limit_s, at, self._read_device(drive), blames[-1]
            )
        return blames[0] if blames else "other"

    def check(self, row: CampaignDriveRow, drive: Drive, *, tell: Progress) -> None:
        """Raises DriveSilentError where `drive` was left behind and has not come back.

        What was left behind before the drive had all of its time, as a person wanted to stop, is
        waited for.
        """
        entry = self._entries.get(row.drive_id)
        if entry is None:
            return
        while self._is_held(entry, drive) and self._silent_s(entry.silence) < entry.limit_s:
            tell(Phrase(N_("waiting for drive {drive}"), drive=row.name), 0, 0)
            self._host.clock.sleep(_POLL_S)
        if not self._is_held(entry, drive):
            del self._entries[row.drive_id]
            return
        raise DriveSilentError(
            Phrase(
                N_("drive {drive} does not answer since {time} ({what})"),
                drive=row.name,
                time=entry.at,
                what=entry.silence.what,
            ),
            hint=N_("switch the machine off and on, or unplug the drive and plug it in again"),
            blame=entry.blame,
        )

    def knows(self, row: CampaignDriveRow) -> bool:
        """Whether something of that drive's is left behind still."""
        entry = self._entries.get(row.drive_id)
        return entry is not None and entry.silence.is_held()

    @property
    def names(self) -> frozenset[str]:
        """The kernel's names of the drives that are held."""
        return frozenset(
            entry.device[0] for entry in self._entries.values() if entry.silence.is_held()
        )

    def _is_held(self, entry: _Entry, drive: Drive) -> bool:
        return entry.silence.is_held() and entry.device == self._read_device(drive)

    def _read_device(self, drive: Drive) -> tuple[str, str]:
        """What tells a drive from one that was plugged in later."""
        return drive.name, self._host.drives.read_number(drive.name)

    def _silent_s(self, silence: Silence) -> float:
        return self._host.clock.monotonic_s() - silence.since_s
