# SPDX-License-Identifier: Apache-2.0
"""The arrays a measured boot starts: its own, complete, or none; never another one.

Reads superblocks and control files. Must never register or write anything.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from appliance.arrays.control import control, linked, read, set_folder
from appliance.arrays.model import slot_of_set
from appliance.arrays.state import format_amount, parse_choice
from appliance.campaign.host import ReadSuperblock
from appliance.drives.model import Drive
from appliance.errors import RefusedError, StepFailedError
from appliance.phrases import N_, Phrase
from appliance.plan.model import ArrayPlan
from appliance.run import run
from appliance.store.tables.arrays import select_array
from appliance.store.tables.campaigns import CampaignDriveRow, select_campaign_drives


@dataclass(frozen=True, slots=True)
class BootedArray:
    """The array that a backing drive's boots come from."""

    set_uuid: str
    cache: CampaignDriveRow


@dataclass(frozen=True, slots=True)
class BootedDrives:
    """What a measured boot comes from, as it is here now."""

    drive: Drive
    """A single drive that boots, or the array's backing drive."""
    array: BootedArray | None = None
    cache: Drive | None = None
    """The array's cache drive."""

    @property
    def all(self) -> tuple[Drive, ...]:
        """The drive, and the cache drive behind it."""
        return (self.drive,) if self.cache is None else (self.drive, self.cache)


@dataclass(frozen=True, slots=True)
class LiveMembers:
    """The array's drives as they are here now."""

    set_uuid: str
    backing: Drive
    cache: Drive


def select_booted_array(
    connection: sqlite3.Connection, campaign_id: int, row: CampaignDriveRow
) -> BootedArray | None:
    """None: the drive boots without an array. Raises RefusedError if its array is gone."""
    if row.role != "backing":
        return None
    array = select_array(connection, campaign_id)
    if array is None or array.state != "made":
        raise RefusedError(
            Phrase(N_("drive {drive} is no longer part of the array it boots from"), drive=row.name)
        )
    drives = select_campaign_drives(connection, campaign_id)
    cache = next(drive for drive in drives if drive.drive_id == array.cache_drive_id)
    return BootedArray(array.set_uuid, cache)


def read_sets(
    read_superblock: ReadSuperblock, found: Sequence[Drive], *members: Drive
) -> dict[str, str]:
    """The UUIDs of the sets that drives here belong to, by the drives' paths.

    Asks `members`, and of `found` only those that udev says carry a superblock of bcache.
    Raises StepFailedError where a member does not answer.
    """
    sets = {}
    paths = {drive.path for drive in members}
    carriers = [drive.path for drive in found if drive.file_system == "bcache"]
    for path in dict.fromkeys([*paths, *carriers]):
        try:
            superblock = read_superblock(path)
        except StepFailedError:
            if path in paths:
                raise
            continue  # nor will a boot take it up
        if superblock is not None:
            sets[path] = superblock.set_uuid
    return sets


def check_sets(
    sets: Mapping[str, str], row: CampaignDriveRow, *, members: LiveMembers | None
) -> None:
    """See that a boot from `row`'s slot starts the array of `members` (None: no array).

    Pure. Raises RefusedError.
    """
    drives = (members.backing, members.cache) if members else ()
    for drive in drives:
        if members and sets.get(drive.path) != members.set_uuid:
            raise RefusedError(
                Phrase(
                    N_(
                        "drive {drive} cannot be booted from: {path} ({identity}) no longer "
                        "carries its array"
                    ),
                    drive=row.name,
                    path=drive.path,
                    identity=drive.identity,
                ),
                # The row that fails is the backing drive's.
                blame="drive" if drive is members.backing else "other",
            )
    others = [
        path
        for path, set_uuid in sets.items()
        if slot_of_set(set_uuid) == row.slot and path not in {drive.path for drive in drives}
    ]
    if others:
        raise RefusedError(
            Phrase(
                N_("a boot of drive {drive} would also start the array on {drives}"),
                drive=row.name,
                drives=", ".join(others),
            ),
            hint=N_("dismantle that array, or unplug its drives"),
        )


def check_root(disk: str, booted: BootedDrives, row: CampaignDriveRow) -> None:
    """See that `disk`, by its kernel name, is what `booted` are: a drive, or an array of the two.

    Raises RefusedError.
    """
    drive, cache = booted.drive.name, booted.cache
    if booted.array is None or cache is None:
        if disk != drive:
            raise RefusedError(
                Phrase(
                    N_("this boot's root is on /dev/{disk} and not on drive {drive}"),
                    disk=disk,
                    drive=row.name,
                )
            )
        return
    set_uuid = booted.array.set_uuid.lower()
    links = {
        control(drive) / "dev": disk,
        control(drive) / "cache": set_uuid,
        control(cache.name) / "set": set_uuid,
    }
    for link, target in links.items():
        if linked(link) != target:
            raise RefusedError(
                Phrase(
                    N_(
                        "this boot's root is on /dev/{disk} and not on the array of drive {drive}: "
                        "{link} leads to {now} and not to {wanted}"
                    ),
                    disk=disk,
                    drive=row.name,
                    link=link,
                    now=f"{linked(link)!r}",
                    wanted=f"{target!r}",
                )
            )


def find_members(disk: str, found: Sequence[Drive]) -> tuple[Drive, Drive | None, str] | None:
    """The drives below a root on `disk`, by its kernel name, and the UUID of their set.

    A single drive has no second one, and an empty UUID. None if they are not found.
    """
    alone = next((drive for drive in found if drive.name == disk), None)
    if alone is not None:
        return alone, None, ""
    backing = next((drive for drive in found if linked(control(drive.name) / "dev") == disk), None)
    set_uuid = linked(control(backing.name) / "cache") if backing is not None else ""
    cache = next(
        (drive for drive in found if linked(control(drive.name) / "set") == set_uuid), None
    )
    if backing is None or cache is None or not set_uuid:
        return None
    return backing, cache, set_uuid


def check_settings(backing: Drive, *, set_uuid: str, plan: ArrayPlan) -> None:
    """See that the array of `backing`, which the initrd has started, runs as the plan says.

    Nothing else reports it when set-array (mkosi.images/initrd) fails or has nothing to go by: the
    array then runs with bcache's defaults. Raises StepFailedError, ArrayStuckError.
    """
    compare_settings(read_settings(backing, set_uuid=set_uuid), plan)


def read_settings(backing: Drive, *, set_uuid: str) -> dict[str, str]:
    """What the array of `backing` runs with, by the names of bcache's control files."""
    folder, common = control(backing.name), set_folder(set_uuid)
    now = {name: read(folder / name) for name in ("sequential_cutoff", "writeback_percent")}
    now["cache_mode"] = parse_choice(read(folder / "cache_mode"))
    for name in ("congested_read_threshold_us", "congested_write_threshold_us"):
        now[name] = read(common / name)
    return now


def compare_settings(now: Mapping[str, str], plan: ArrayPlan) -> None:
    """Pure. Raises StepFailedError where `now`, of `read_settings`, is not what the plan says."""
    settings = {
        "cache_mode": plan.cache_mode,
        "sequential_cutoff": format_amount(plan.sequential_cutoff_bytes),
        "writeback_percent": str(plan.writeback_percent),
        "congested_read_threshold_us": str(plan.congested_read_threshold_us),
        "congested_write_threshold_us": str(plan.congested_write_threshold_us),
    }
    for name, text in settings.items():
        if now.get(name) != text:
            raise StepFailedError(
                Phrase(
                    N_(
                        "the array did not boot with the plan's settings: {setting} is {now} and "
                        "not {wanted}"
                    ),
                    setting=name,
                    now=f"{now.get(name)!r}",
                    wanted=f"{text!r}",
                ),
                blame="other",
            )


def read_table_uuid(disk: str) -> str:
    """GUID of the partition table on a disk or array, by its kernel name, as udev knows it."""
    command = ["lsblk", "--nodeps", "--noheadings", "--output", "PTUUID", f"/dev/{disk}"]
    return run(command, timeout_s=20).stdout.strip().lower()
