# SPDX-License-Identifier: Apache-2.0
"""A drive's identity: finding it by serial number or WWN, and checking that it is unchanged.

A path such as /dev/sda says where a drive is at the moment, never who it is.
"""

from collections.abc import Sequence

from appliance.drives.model import Drive, prefer_with_capacity
from appliance.drives.probe import find_drives
from appliance.errors import RefusedError
from appliance.phrases import N_, Phrase, join_phrases
from appliance.units import printable


class DriveAbsentError(RefusedError):
    """A drive that is looked for is not here; a person may have taken it out as well.

    One that goes while it works fails what it works on, and that is the drive's fault.
    """


def find_by_identity(drives: Sequence[Drive], *, serial: str = "", wwn: str = "") -> Drive:
    """The one drive with this serial number or WWN (both, where both are given).

    Raises DriveAbsentError, and RefusedError when it is present more than once.
    """
    names = join_phrases(
        (
            Phrase(words, serial=f"{printable(text)!r}")
            for words, text in ((N_("serial number {serial}"), serial), (N_("WWN {serial}"), wwn))
            if text
        ),
        N_("{first} and {rest}"),
    )
    if not names:
        raise RefusedError(N_("a drive was asked for without a serial number or WWN"))
    matches = prefer_with_capacity(
        [
            drive
            for drive in drives
            if not drive.main_path
            and (not serial or drive.serial == serial)
            and (not wwn or drive.wwn == wwn)
        ]
    )
    if not matches:
        raise DriveAbsentError(Phrase(N_("no drive with {what} is in this machine"), what=names))
    if len(matches) > 1:
        paths = ", ".join(drive.path for drive in matches)
        raise RefusedError(
            Phrase(
                N_("{count} drives have {what}: {paths}"),
                count=len(matches),
                what=names,
                paths=paths,
            ),
            hint=N_("unplug all but one of them"),
        )
    return matches[0]


def is_model(drive: Drive, model: str) -> bool:
    """Whether `drive` is of the model that was stored. Pure.

    Campaigns of earlier versions have stored a SCSI or USB drive's without the vendor's name, which
    goes before it now.
    """
    return drive.model == model or (bool(model) and drive.bare_model == model)


def check_identity(drive: Drive) -> Drive:
    """Look at `drive.path` right now: the drive as it is at this moment.

    Raises RefusedError when it has gone or another drive answers there.
    """
    return compare_identity(drive, find_drives())


def compare_identity(drive: Drive, now: Sequence[Drive]) -> Drive:
    """`drive` as it is in `now`. Pure. Raises RefusedError when it is not the same one."""
    here = next((other for other in now if other.path == drive.path), None)
    if here is None:
        raise RefusedError(
            Phrase(
                N_("{path} is gone; it was {before}"),
                path=drive.path,
                before=f"{printable(drive.identity)!r}",
            ),
            hint=N_("check its cable and its power"),
            blame="drive",
        )
    for what, before, after in (
        (N_("serial number"), drive.serial, here.serial),
        ("WWN", drive.wwn, here.wwn),
        (N_("size"), f"{drive.size_bytes}", f"{here.size_bytes}"),
    ):
        if before != after:
            raise RefusedError(
                Phrase(
                    N_(
                        "{path} is another drive than before: its {what} was {before} and is "
                        "{after}"
                    ),
                    path=drive.path,
                    what=what,
                    before=f"{printable(before)!r}",
                    after=f"{printable(after)!r}",
                ),
                hint=N_("connect the released drive again"),
            )
    return here
