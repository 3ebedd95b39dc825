# SPDX-License-Identifier: Apache-2.0
"""Dismantling an array made here, in whatever state a failure or a power cut left it.

Never touches a drive that does not carry a superblock of that very array.
"""

from appliance.arrays.control import control
from appliance.arrays.make import clear_member
from appliance.arrays.replace_cache import detach
from appliance.arrays.running import bring_up, releasing, stop_array
from appliance.arrays.settings import set_cache_mode
from appliance.arrays.superblock import Superblock, has_signature, read_superblock
from appliance.arrays.write_back import write_back_all
from appliance.drives.unlock import Unlocked
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.progress import Progress
from appliance.units import printable


def dismantle(
    backing: Unlocked | None, cache: Unlocked | None, *, set_uuid: str, tell: Progress
) -> tuple[str, ...]:
    """Leave no superblock of the array on the drives that are there; None for one that is not.

    Where both are whole, what is dirty is written back and the cache detached first, so that an
    interruption leaves a backing drive that holds everything. Where that cannot be done, the
    superblocks are taken away all the same: both drives were released for erasing. Returns what
    was lost or left alone, in sentences. Raises StepFailedError when a drive cannot be written to,
    ArrayStuckError, and what `tell` raises; call it again then.
    """
    members = [member for member in (backing, cache) if member is not None]
    names = tuple(member.drive.name for member in members)
    remarks: list[str] = []
    if any(control(name).exists() for name in names):
        stop_array(names, set_uuid=set_uuid, tell=tell)
    ours = {
        member.path: superblock
        for member in members
        if (superblock := read_superblock(member.path)) is not None
        and superblock.belongs_to(set_uuid)
    }
    remarks += [
        Phrase(
            N_("{path} ({identity}) carries no superblock of this array and was left alone"),
            path=member.path,
            identity=printable(member.drive.identity),
        )
        for member in members
        if member.path not in ours and has_signature(member.path)
    ]
    if backing is not None and backing.path in ours and ours[backing.path].set_uuid:
        if ours[backing.path].lost_its_cache(set_uuid):
            remarks.append(
                N_("its cache drive failed while the array ran: it was not attached again")
            )
        elif cache is not None and _is_whole_cache(ours.get(cache.path)):
            try:
                _detach_cache(backing, cache, set_uuid=set_uuid, tell=tell)
            except StepFailedError as error:
                remarks.append(
                    Phrase(
                        N_("the cache could not be detached in order: {what}"), what=error.message
                    )
                )
        elif ours[backing.path].state == "dirty":
            remarks.append(N_("what only the cache drive had is lost, as its part of the array is"))
    for member in members:
        if member.path in ours:
            tell(Phrase(N_("clearing {path}"), path=member.path), 0, 0)
            clear_member(member)
    return tuple(remarks)


def _is_whole_cache(found: Superblock | None) -> bool:
    return found is not None and found.kind == "cache" and found.whole


def _detach_cache(backing: Unlocked, cache: Unlocked, *, set_uuid: str, tell: Progress) -> None:
    names = (backing.drive.name, cache.drive.name)
    with releasing(names, set_uuid=set_uuid):
        array = bring_up(backing, cache, set_uuid=set_uuid, tell=tell)
        set_cache_mode(array, "writethrough")
        write_back_all(array, tell=tell)
        detach(array, tell=tell)
