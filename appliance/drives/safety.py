# SPDX-License-Identifier: Apache-2.0
"""Which drives may be offered to a person, and which may be written to, each with its reason. Pure.

The reason is what the person reads. It is empty where there is nothing to say; a drive that may be
offered can still carry a remark. Texts from devices are made printable here.
"""

from appliance.drives.model import Drive
from appliance.phrases import N_, Phrase, join_phrases
from appliance.units import printable

STICK_LABELS = frozenset({"KALTSTART", "kaltstart-data"})


def may_offer(drive: Drive, *, stick: Drive | None) -> tuple[bool, str]:
    """Whether a campaign may name this drive, if only to read it."""
    never = _never(drive, stick)
    if never:
        return False, never
    remarks = []
    if not drive.identity:
        remarks.append(N_("has neither serial number nor WWN: can only be read"))
    if drive.twins:
        twins = ", ".join(drive.twins)
        remarks.append(Phrase(N_("same identity as {twins}: can only be read"), twins=twins))
    if drive.other_paths:
        others = N_("a second path to it, {paths}, stays read-only")
        remarks.append(Phrase(others, paths=", ".join(drive.other_paths)))
    if drive.serial_doubt:
        text = N_("{what}: released by model and size as well")
        remarks.append(Phrase(text, what=drive.serial_doubt))
    if drive.removable:
        remarks.append(N_("removable medium"))
    return True, join_phrases(remarks)


def may_write(drive: Drive, *, stick: Drive | None, released_identity: str) -> tuple[bool, str]:
    """Whether this drive may be written to, released by its serial number (or WWN)."""
    reason = _never(drive, stick) or _not_told_apart(drive)
    if stick is None:
        reason = N_("the stick is not known, so nothing may be written")
    elif not reason and not released_identity:
        reason = N_("is not released for writing")
    elif not reason and released_identity not in (drive.serial, drive.wwn):
        reason = Phrase(
            N_("is {before}, released was {after}"),
            before=f"{printable(drive.identity)!r}",
            after=f"{printable(released_identity)!r}",
        )
    return not reason, reason


def _never(drive: Drive, stick: Drive | None) -> str:
    if stick is not None and drive.path == stick.path:
        return N_("this is the Kaltstart stick itself")
    same_table = stick is not None and drive.disk_uuid and drive.disk_uuid == stick.disk_uuid
    if same_table or STICK_LABELS & set(drive.partition_labels):
        return N_("this is a Kaltstart stick")
    if drive.main_path:
        return Phrase(N_("is a second path to the drive at {path}"), path=drive.main_path)
    if drive.size_bytes <= 0:
        return explain_no_capacity(drive)
    return _describe_use(drive)


def _describe_use(drive: Drive) -> str:
    """What uses it now; empty if nothing does."""
    if drive.mountpoints:
        return Phrase(N_("is in use: {what}"), what=_listed(tuple(map(_use, drive.mountpoints))))
    if drive.holders:
        return Phrase(N_("is part of {holders}"), holders=_listed(drive.holders))
    return ""


def explain_no_capacity(drive: Drive) -> str:
    """Why a drive of size 0 cannot be used."""
    if drive.removable:
        return N_("has no medium")
    # Linux takes sectors of 512, 1024, 2048 and 4096 bytes, and of all others shows no capacity
    # (sd_read_capacity() in drivers/scsi/sd.c).
    return N_("reports no capacity: it is not ready, or Linux cannot use its sector size")


def _not_told_apart(drive: Drive) -> str:
    if not drive.identity:
        return N_("has neither serial number nor WWN, so it cannot be told from another drive")
    if drive.twins:
        return Phrase(N_("shows the same identity as {paths}"), paths=", ".join(drive.twins))
    return ""


def _use(mountpoint: str) -> str:
    return (
        N_("swap space")
        if mountpoint == "[SWAP]"
        else Phrase(N_("mounted at {mountpoint}"), mountpoint=mountpoint)
    )


def _listed(texts: tuple[str, ...]) -> str:
    more = len(texts) - 3
    listed = join_phrases(map(printable, texts[:3]), "{first}, {rest}")
    return Phrase(N_("{what} and {count} more"), what=listed, count=more) if more > 0 else listed
