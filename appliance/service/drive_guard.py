# SPDX-License-Identifier: Apache-2.0
"""Guarding all drives of the machine, whichever campaign they belong to.

Notes each in the database, makes read-only what is not, and knows whether any that is needed came.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial

from appliance.campaign.context import CampaignContext
from appliance.campaign.drives.work import SHORT_S, side_work
from appliance.campaign.host import Host
from appliance.campaign.log import record
from appliance.campaign.start import describe
from appliance.campaign.states import next_cycle
from appliance.campaign.steps.queue import has_planned_steps
from appliance.drive_thread import DriveThread
from appliance.drives.identity import find_by_identity
from appliance.drives.model import Drive
from appliance.drives.unlock import is_unguarded
from appliance.errors import RefusedError, StepFailedError
from appliance.phrases import N_, Phrase
from appliance.progress import Progress, ignore_progress
from appliance.service.drive_watch import DriveList
from appliance.stick.partitions import Stick, find_root_disks
from appliance.store.tables.boots import select_cycles
from appliance.store.tables.campaigns import insert_drive, select_campaign_drives

_DRIVES_WAIT_S = 30
_POLL_S = 0.25
_CLOSING = N_("making it read-only")


def close_guard_without_stick(host: Host) -> None:
    """Make all drives read-only but those this system runs from, where no stick can be used.

    udev's rule spares what carries the stick's table, and that may be a copy on a user's drive.
    """
    spared = find_root_disks()
    for drive in host.drives.find() if spared else ():
        if is_unguarded(drive, spared=spared):
            with suppress(StepFailedError), _side_work(host, drive, ignore_progress) as hand:
                hand.do(partial(host.drives.close_guard, drive), _CLOSING)


class MachineDrives:
    """All drives of this machine but the stick."""

    def __init__(self, context: CampaignContext, stick: Stick, listed: DriveList) -> None:
        self._site = context
        self._host = context.host
        self._stick = stick
        self._listed = listed
        self._noted: tuple[Drive, ...] = ()
        self._deaf: set[Drive] = set()
        """What did not let itself be set read-only: not waited for twice."""

    def note(self) -> bool:
        """Each drive that was ever plugged in is in the database. Whether there are others now."""
        listed = self._listed.read_drives()
        if listed is self._noted:
            return False
        for drive in listed:
            # Without a medium it would overwrite what is known of the last one.
            if drive.identity and drive.size_bytes and drive.path != self._stick.drive.path:
                insert_drive(self._site.connection, describe(drive))
        self._noted = listed
        return True

    def close_guard(self, *, tell: Progress = ignore_progress) -> None:
        """Make read-only what is writable; record it, and what did not let itself be."""
        self._close_guard(self._host.drives.find(), tell)

    def close_guard_of_copies(self) -> None:
        """The same for what carries the stick's table alone: udev's rule spares it.

        All others have just been plugged in, and the rule may not be through with them.
        """
        table_uuid = self._stick.drive.disk_uuid
        copies = [drive for drive in self._host.drives.find() if drive.disk_uuid == table_uuid]
        self._close_guard(copies, ignore_progress)

    def _close_guard(self, drives: Sequence[Drive], tell: Progress) -> None:
        silent = self._site.silent.names
        for drive in drives:
            is_meant = is_unguarded(drive, spared={self._stick.drive.name})
            if is_meant and drive not in self._deaf and drive.name not in silent:
                self._close(drive, tell)

    def _close(self, drive: Drive, tell: Progress) -> None:
        name = drive.identity or drive.path
        try:
            with _side_work(self._host, drive, tell) as hand:
                hand.do(partial(self._host.drives.close_guard, drive), _CLOSING)
        except StepFailedError:
            self._deaf.add(drive)
            self._warn("not-guarded", drive=name)
        else:
            self._warn("guarded", drive=name)

    def record_late(self, late: Sequence[Drive], campaign_id: int) -> None:
        """Record which drives are asked about themselves beside the campaign: they hang."""
        for drive in late:
            name = drive.identity or drive.path
            self._warn("still-asked", campaign_id=campaign_id, drive=name)

    def any_needed_is_here(self, campaign_id: int) -> bool:
        """False when something is left to do, but no drive of the campaign came up in time."""
        cycles = select_cycles(self._site.connection, campaign_id)
        boots_left = next_cycle(cycles) is not None
        # An array that is still to be dismantled must not keep the campaign from its end.
        if not boots_left and not has_planned_steps(self._site, campaign_id):
            return True
        clock = self._host.clock
        give_up_s = clock.monotonic_s() + _DRIVES_WAIT_S
        while not (here := self._any_is_here(campaign_id)) and clock.monotonic_s() < give_up_s:
            self._site.tell(N_("waiting for a drive of the campaign"), 0, 0)
            clock.sleep(_POLL_S)
        return here

    def _any_is_here(self, campaign_id: int) -> bool:
        drives = self._host.drives.find()
        for row in select_campaign_drives(self._site.connection, campaign_id):
            try:
                find_by_identity(drives, serial=row.serial, wwn=row.wwn)
            except RefusedError:
                continue
            return True
        return False

    def _warn(self, event: str, *, drive: str, campaign_id: int | None = None) -> None:
        record(self._site, event, drive=drive, campaign_id=campaign_id, level="warning")


def _side_work(host: Host, drive: Drive, tell: Progress) -> AbstractContextManager[DriveThread]:
    name = drive.identity or drive.path
    return side_work(
        host,
        Phrase(N_("drive {drive}"), drive=name),
        tell=tell,
        names=[drive.name],
        limit_s=SHORT_S,
    )
