# SPDX-License-Identifier: Apache-2.0
"""Upgrading the stick that this machine runs from, by an image file on KALTSTART.

A person asks for it, and the machine then restarts into the new version. A request to stop ends it
before the partition table is written; until then nothing that starts the stick has changed. What is
written where: `appliance.stick.upgrade`.
"""

import hashlib
import lzma
import os
import threading
from functools import partial
from pathlib import Path

from appliance import VERSION
from appliance.campaign.context import CampaignContext
from appliance.campaign.drives.work import side_work
from appliance.campaign.host import Host
from appliance.campaign.states import next_cycle
from appliance.campaign.steps.attempt import StoppedByPersonError
from appliance.errors import RefusedError, StepFailedError
from appliance.machine.facts import parse_version
from appliance.phrases import N_, Phrase
from appliance.progress import Progress
from appliance.stick.partition_table import (
    CHUNK_BYTES,
    KEPT,
    SECTOR_BYTES,
    UnfitError,
    open_image,
    parse_image,
)
from appliance.stick.partitions import FAT, Stick, note_upgrade
from appliance.stick.upgrade import (
    HEAD_BYTES,
    Placement,
    StickDevice,
    plan_placement,
    read_current_table,
    switch,
    write_beside,
)
from appliance.store.read.overview import select_campaigns
from appliance.store.tables.boots import select_cycles
from appliance.sysfs import read_text
from appliance.units import printable

_SUMS = "SHA256SUMS"
_BLOCK = Path("/sys/class/block")
_UNCHANGED = N_("{what}; nothing was changed")
_SWITCHING, _SWITCHED = "switching", "switched"
_LAST = 19
"""The nice value of what waits for everything else."""
_COPY_AGAIN = N_("copy it and its SHA256SUMS to KALTSTART again, or download both again")
_KEPT = N_("it may not start any more; its data is kept: copy it with another computer")


def check_upgrade(context: CampaignContext, stick: Stick, file_name: str) -> None:
    """Raises RefusedError where it cannot be: nothing has been read of the file itself."""
    name = printable(file_name)
    version = parse_version(file_name)
    if version is None or Path(file_name).name != file_name:
        raise RefusedError(
            Phrase(N_("{file} is not the image of a version"), file=name),
            hint=N_("it must be called kaltstart-VERSION-amd64.img.xz"),
        )
    if version < tuple(int(number) for number in VERSION.split(".")):
        raise RefusedError(
            Phrase(N_("{file} is older than this version, {version}"), file=name, version=VERSION),
            hint=N_(
                "an older version may not read this stick's database; write it to another stick"
            ),
        )
    if not (FAT / file_name).is_file():
        raise RefusedError(Phrase(N_("there is no {file} on KALTSTART"), file=name))
    if stick.drive.read_only:
        raise RefusedError(N_("the stick is write-protected"))
    for campaign in select_campaigns(context.connection):
        cycles = select_cycles(context.connection, campaign.id)
        if campaign.state != "done" and next_cycle(cycles) is not None:
            raise RefusedError(
                Phrase(
                    N_(
                        "campaign {number} has boots left, and all boots of a campaign belong to "
                        "one version"
                    ),
                    number=campaign.id,
                ),
                hint=N_("resume it and let it finish, or skip its boots (page 3)"),
            )


def upgrade_stick(host: Host, stick: Stick, file_name: str, *, tell: Progress) -> None:
    """Write the system of this image beside the one that runs, and let the next start take it.

    Raises RefusedError and StepFailedError, which say whether the stick starts as before, and what
    `tell` raises, where it does.
    """
    reached: list[str] = []
    try:
        names = [Path(stick.drive.path).name]
        with side_work(host, N_("the stick"), tell=tell, names=names) as hand:
            hand.do(
                partial(_upgrade, stick, file_name, tell=hand.tell, reached=reached),
                N_("the image is checked"),
            )
    except StoppedByPersonError as error:
        if not reached:
            raise
        if _SWITCHED not in reached:  # the stick hangs, and nobody waits for it after a stop
            raise _doubt(N_("the stick does not answer")) from error
        # It came too late.


def _upgrade(stick: Stick, file_name: str, *, tell: Progress, reached: list[str]) -> None:
    """In a thread of its own; puts into `reached` how far it is with the switch."""
    # Unpacking leaves the processor to the interface, which shows how far it is.
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LAST)
    path = FAT / file_name
    name = printable(file_name)
    try:
        _check_sum(path, FAT / _SUMS, tell=tell)
        with Path(stick.drive.path).open("r+b") as file, open_image(path) as image:
            disk = StickDevice(file)
            head = image.read(HEAD_BYTES)
            placement = _place(disk, head, stick)
            write_beside(disk, image, placement, tell=tell)
            tell(N_("the partition table is written"), 0, 0)  # the last chance to stop it
            _place(disk, head, stick)
            note_upgrade()
            reached.append(_SWITCHING)
            _switch(disk, placement)
            reached.append(_SWITCHED)
    except UnfitError as error:
        reason = Phrase(error.words, **error.fields)
        what = Phrase("{file}: {what}", file=name, what=reason)
        raise RefusedError(Phrase(_UNCHANGED, what=what)) from error
    except (EOFError, lzma.LZMAError, MemoryError) as error:
        what = Phrase(N_("{file} is damaged"), file=name)
        raise RefusedError(Phrase(_UNCHANGED, what=what), hint=_COPY_AGAIN) from error
    except OSError as error:
        why = error.strerror or str(error)
        what = Phrase(N_("the stick cannot be upgraded: {what}"), what=why)
        raise StepFailedError(
            Phrase(_UNCHANGED, what=what),
            hint=N_("it may be failing: copy the folder reports of KALTSTART, and replace it"),
            blame="other",
        ) from error


def _switch(disk: StickDevice, placement: Placement) -> None:
    """Raises StepFailedError: from here on nobody knows what the stick holds."""
    try:
        switch(disk, placement)
    except OSError as error:
        raise _doubt(error.strerror or str(error)) from error


def _doubt(why: str) -> StepFailedError:
    return StepFailedError(
        Phrase(N_("the stick's partition table cannot be written: {what}"), what=why),
        hint=_KEPT,
        blame="other",
    )


def _place(disk: StickDevice, head: bytes, stick: Stick) -> Placement:
    """Where it goes, on this stick and no other one. Raises UnfitError."""
    table = read_current_table(disk, _read_partitions(_BLOCK / Path(stick.drive.path).name))
    data = next((part for part in table.partitions.values() if part.name == KEPT[1]), None)
    if data is None or str(data.guid) != stick.data_uuid:
        raise UnfitError(N_("the stick is not the one that this machine was started from"))
    sectors = disk.size_bytes // SECTOR_BYTES
    return plan_placement(table, head, parse_image(head), sectors=sectors)


def _read_partitions(folder: Path) -> dict[int, tuple[int, int]]:
    """As the kernel has them: number → first sector of 512 bytes, how many."""
    return {
        int(read_text(part.parent / "partition")): (
            int(read_text(part.parent / "start")),
            int(read_text(part.parent / "size")),
        )
        for part in folder.glob("*/partition")
    }


def _check_sum(path: Path, sums: Path, *, tell: Progress) -> None:
    """Against SHA256SUMS, where that is beside it. Raises RefusedError, OSError."""
    if not sums.is_file():
        return
    lines = (line.split() for line in sums.read_text(errors="replace").splitlines())
    wanted = {words[1].lstrip("*"): words[0] for words in lines if len(words) == 2}
    total, done = path.stat().st_size, 0
    found = hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(CHUNK_BYTES):
            found.update(data)
            done += len(data)
            tell(N_("the image is checked"), done, total)
    if wanted.get(path.name) != found.hexdigest():
        raise RefusedError(
            Phrase(
                _UNCHANGED,
                what=Phrase(N_("{file} does not agree with SHA256SUMS"), file=printable(path.name)),
            ),
            hint=_COPY_AGAIN,
        )
