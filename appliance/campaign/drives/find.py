# SPDX-License-Identifier: Apache-2.0
"""A campaign's drives as they are connected now: the released ones and the ones that boot.

Reads only. Must never take a path for an identity, nor a drive of the same serial for the same one.
"""

from collections.abc import Callable, Sequence
from functools import partial

from appliance.campaign.drives.booted_array import (
    BootedArray,
    BootedDrives,
    LiveMembers,
    check_sets,
    read_sets,
)
from appliance.campaign.drives.work import side_work
from appliance.campaign.host import Host
from appliance.drive_thread import DriveSilentError, DriveThread
from appliance.drives.identity import find_by_identity, is_model
from appliance.drives.identity_query import AskedIdentity
from appliance.drives.model import Drive
from appliance.errors import RefusedError, StepFailedError
from appliance.phrases import N_, Phrase
from appliance.progress import Progress, ignore_progress
from appliance.reference_os.install import esp_partuuid, root_partuuid
from appliance.store.tables.campaigns import CampaignDriveRow
from appliance.units import printable

_DRIVE_WAIT_S = 20
_HELD_WAIT_S = 60
"""While udev does not tell when it has looked at all: as long as it may take for that otherwise."""
_DRIVE_POLL_S = 2


def find_released_drive(found: Sequence[Drive], row: CampaignDriveRow) -> Drive:
    """The live drive that was released: same identity, and still the same model and size.

    The serial number of a USB bridge stays when the disk behind it is changed. Raises RefusedError.
    """
    drive = find_by_identity(found, serial=row.serial, wwn=row.wwn)
    is_same_size = drive.size_bytes == row.released_size_bytes
    if not (is_same_size and is_model(drive, row.released_model)):
        raise RefusedError(
            Phrase(
                N_(
                    "drive {drive} is not the one that was released: it was {before} of {bytes} "
                    "bytes and is {after} of {now_bytes} bytes"
                ),
                drive=row.name,
                before=printable(row.released_model),
                bytes=row.released_size_bytes,
                after=printable(drive.model),
                now_bytes=drive.size_bytes,
            ),
            hint=N_(
                "connect the released drive; if this is it, with another capacity than then, "
                "release it again in a new campaign"
            ),
        )
    return drive


def noted_identity(row: CampaignDriveRow) -> AskedIdentity | None:
    """What the drive itself answered when it was released; None where it did not."""
    noted = AskedIdentity(row.asked_serial, row.asked_wwn, row.asked_model, row.asked_size_bytes)
    return noted if noted.serial or noted.size_bytes else None


def find_booted_drives(
    host: Host,
    found: Sequence[Drive],
    row: CampaignDriveRow,
    *,
    array: BootedArray | None,
    has_esp: bool = False,
) -> BootedDrives:
    """The live drive of a campaign that carries its reference OS, and alone carries it.

    `has_esp`: with an ESP of its own, from which it is to be started. With an array it is the
    backing drive, and the cache drive must be here as well. Raises RefusedError when a drive is
    absent, present twice, no longer carries it, or another drive does as well.
    """
    drive = find_released_drive(found, row)
    partuuid = root_partuuid(row.slot)
    if array is None:
        check_sets(read_sets(host.drives.read_superblock, found), row, members=None)
        known = bool(row.install_uuid) and drive.disk_uuid == row.install_uuid
        needed = {partuuid, *([esp_partuuid(row.slot)] if has_esp else [])}
        if not known or needed - set(drive.partition_uuids):
            raise RefusedError(
                Phrase(N_("drive {drive} no longer carries its reference OS"), drive=row.name),
                blame="other" if drive.serial_doubt else "drive",
            )
        booted = BootedDrives(drive)
    else:
        try:
            cache = find_released_drive(found, array.cache)
        except RefusedError as error:
            raise RefusedError(
                Phrase(
                    N_("drive {drive} is not booted without its cache: {what}"),
                    drive=row.name,
                    what=error.message,
                )
            ) from error
        members = LiveMembers(array.set_uuid, drive, cache)
        check_sets(
            read_sets(host.drives.read_superblock, found, drive, cache), row, members=members
        )
        booted = BootedDrives(drive, array, cache)
    # While an array runs, its partitions are shown below both its drives.
    others = [
        other for other in found if other not in booted.all and partuuid in other.partition_uuids
    ]
    if others:
        raise RefusedError(
            Phrase(
                N_("the reference OS of drive {drive} is also on {paths}"),
                drive=row.name,
                paths=", ".join(other.path for other in others),
            ),
            hint=N_("unplug the drives that must not be booted"),
        )
    return booted


def await_drive[T](
    host: Host,
    find: Callable[[Sequence[Drive]], T],
    *,
    tell: Progress = ignore_progress,
    hand: DriveThread | None = None,
) -> T:
    """What `find` gives, allowing a disk behind USB the time it needs to spin up.

    Beside a drive that udev waits for it is given more: udev's own wait is short then.

    Drives that come or go just now can make a single look fail. `hand` is the thread to do it in,
    where `find` asks drives. Raises RefusedError, StepFailedError, and what `tell` raises.
    """
    if hand is None:
        with side_work(host, N_("what udev knows"), tell=tell) as side_hand:
            return await_drive(host, find, hand=side_hand)
    begun_s = host.clock.monotonic_s()
    while True:
        try:
            return hand.do(lambda: find(host.drives.find_settled()), N_("looking for the drives"))
        except DriveSilentError:
            raise
        except (RefusedError, StepFailedError):
            wait_s = _HELD_WAIT_S if host.drives.is_udev_held() else _DRIVE_WAIT_S
            if host.clock.monotonic_s() - begun_s >= wait_s:
                raise
        hand.do(partial(host.clock.sleep, _DRIVE_POLL_S), N_("looking for the drives"))
