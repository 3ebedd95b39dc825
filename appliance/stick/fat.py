# SPDX-License-Identifier: Apache-2.0
"""Checking and repairing KALTSTART's FAT before it is mounted.

No sample is on it: those are on kaltstart-data. Makes a file system only where there is none, and
never removes a user's file, except what a repair cannot keep.
"""

import os
from pathlib import Path

from appliance.errors import StepFailedError
from appliance.flush import replace_file
from appliance.phrases import N_, Phrase
from appliance.run import run

SEED = Path("/usr/share/kaltstart/fat")
"""The files that KALTSTART is made with."""

_GRUBENV = "kaltstart/grubenv"
_LABEL = "KALTSTART"
_BACKUP_SECTOR = 6
_NOTHING_FOUND = 2
"""blkid(8): the device has no such tag, or could not be read."""


def repair_fat(path: str) -> tuple[str, ...]:
    """Repair the file system in partition `path`, or make one where there is none; what was done.

    Not to be called while it is mounted. One of another type, such as exFAT after the user chose
    "format", is left as it is.
    """
    kind = _find_type(path)
    if kind == "vfat":
        return _repair(path)
    if kind:
        note: str = Phrase(
            N_(
                "KALTSTART has the file system {kind}: plans on it are read as far as "
                "the kernel can, but a BIOS machine needs FAT32 for boot tests; format "
                "it as FAT32 on another computer"
            ),
            kind=kind,
        )
        return (note,)
    try:
        if _restore_boot_sector(Path(path)):
            return (N_("KALTSTART had lost its boot sector, which was put back"), *_repair(path))
    except OSError as error:
        return (Phrase(N_("KALTSTART cannot be read: {error}"), error=error.strerror),)
    try:
        # Sectors and clusters as in the image: see Environment= in mkosi.conf.
        layout = ["-F", "32", "-S", "512", "-s", "2"]
        run(["mkfs.vfat", *layout, "-n", _LABEL, path], timeout_s=300)
    except StepFailedError as error:
        return (
            Phrase(
                N_("KALTSTART holds no file system and none can be made: {what}"),
                what=error.message,
            ),
        )
    note = N_(
        "KALTSTART held no file system and was formatted again; all results are on "
        "kaltstart-data, and their reports can be written again"
    )
    return (note,)


def _restore_boot_sector(partition: Path) -> bool:
    """Put the copy that FAT32 keeps in its sector 6 back in its place; whether there was one.

    Raises OSError where the partition cannot be read or written.
    """
    with partition.open("r+b") as device:
        device.seek(_BACKUP_SECTOR * 512)
        sector = device.read(512)
        if sector[82:90] != b"FAT32   " or sector[510:] != b"\x55\xaa":
            return False
        device.seek(0)
        device.write(sector)
        device.flush()
        os.fsync(device.fileno())
    return True


def _find_type(path: str) -> str:
    """What blkid calls the file system; empty where it finds none (code 2), or cannot tell."""
    tags = ["--match-tag", "TYPE", "--output", "value"]
    answer = run(["blkid", "--probe", *tags, path], check=False)
    if answer.returncode == 0:
        return answer.stdout.strip()
    return "" if answer.returncode == _NOTHING_FOUND else N_("that cannot be told")


def _repair(path: str) -> tuple[str, ...]:
    """Clear what a computer left that was switched off or unplugged meanwhile.

    fsck.fat(8): code 0 is sound, 1 is that something was found, mended or not.
    """
    if run(["fsck.vfat", "-a", path], check=False, timeout_s=600).returncode == 0:
        return ()
    if run(["fsck.vfat", "-n", path], check=False, timeout_s=600).returncode == 0:
        return (N_("KALTSTART was not taken out properly on another computer, and was repaired"),)
    note = N_(
        "KALTSTART is damaged and cannot be repaired here: copy what is on it, and "
        "format it as FAT32 on another computer"
    )
    return (note,)


def lacks_seed(fat: Path) -> bool:
    """Whether `fat`, the mounted partition, lacks the file that GRUB needs on a BIOS machine.

    One that cannot be reached is put back, which tells why.
    """
    try:
        return not (fat / _GRUBENV).exists()
    except OSError:
        return True


def has_old_documents(fat: Path) -> bool:
    """Whether a document on `fat` is of another version, as it is after an upgrade."""
    try:
        return any(_is_old(source, fat) for source in SEED.iterdir())
    except OSError:
        return False


def _is_old(source: Path, fat: Path) -> bool:
    """Of a document alone: a person may have edited a TOML file, and GRUB writes to its own."""
    target = fat / source.relative_to(SEED)
    return (
        source.parent == SEED
        and source.suffix in {".html", ".json", ".py", ".txt"}
        and target.is_file()
        and target.read_bytes() != source.read_bytes()
    )


def restore_seed(fat: Path) -> None:
    """Put back into `fat`, which is writable, what it was made with and is missing or old.

    Raises OSError.
    """
    for source in sorted(SEED.rglob("*")):
        target = fat / source.relative_to(SEED)
        if source.is_dir():
            target.mkdir(exist_ok=True)
        elif not target.exists() or _is_old(source, fat):
            replace_file(target, source.read_bytes())
