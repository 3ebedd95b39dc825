"""The drive's own ESP: the stick's boot loader, kernel and initrds, for a boot that is all its own.

The loader is the stick's, signed by the same keys, and the entries have the stick's names and
options. It lies in a folder of its own: without EFI/BOOT/BOOTX64.EFI no firmware starts the drive
unless it is told to. The stick's ESP is only read.
"""

import re
import shutil
from pathlib import Path

from appliance.drives.file_system import mounted
from appliance.errors import StepFailedError
from appliance.flush import flush, sync_path
from appliance.phrases import N_
from appliance.progress import Progress
from appliance.run import run

LOADER_FOLDER = "EFI/kaltstart"
"""Not EFI/BOOT, from which firmware starts a drive that nobody has entered."""
FIRST_LOADER = "shimx64.efi"
ESP_BYTES = 288 << 20
"""FAT32 begins at 65 525 clusters (Microsoft's FAT specification, 1.03, page 14), and firmware
refuses one with fewer: enough of them for blocks of 512 and of 4096 bytes."""
_CLUSTER_BYTES = 4096
_LOADERS = {
    "EFI/BOOT/BOOTX64.EFI": FIRST_LOADER,
    # The name that shim starts from its own folder.
    "EFI/BOOT/grubx64.efi": "grubx64.efi",
}
_FILES = re.compile(r"^(?:linux|initrd)\s+/(\S+)$", re.MULTILINE)


def list_named_files(entry: str) -> tuple[str, ...]:
    """The files that a boot entry names, without the first slash. Pure."""
    return tuple(_FILES.findall(entry))


def make_esp(
    stick_esp: str,
    esp: str,
    *,
    entries: tuple[str, ...],
    block_bytes: int,
    progress: Progress,
) -> None:
    """Make the file system at `esp`, and copy there what starts `entries` from `stick_esp`.

    Raises StepFailedError, OSError.
    """
    make_fat(esp, block_bytes=block_bytes)
    with (
        mounted(stick_esp, "vfat", read_only=True) as source,
        mounted(esp, "vfat") as target,
    ):
        copy_loader(source, target, entries=entries, progress=progress)


def make_fat(path: str, *, block_bytes: int) -> None:
    """The file system alone, whose sectors are the drive's blocks. Raises StepFailedError."""
    per_cluster = str(_CLUSTER_BYTES // block_bytes)
    run(["mkfs.fat", "-F", "32", "-S", str(block_bytes), "-s", per_cluster, path])


def copy_loader(
    source: Path, target: Path, *, entries: tuple[str, ...], progress: Progress
) -> None:
    """The files alone, between two ESPs that are mounted. Raises StepFailedError, OSError."""
    copies = {name: f"{LOADER_FOLDER}/{new}" for name, new in _LOADERS.items()}
    copies["loader/loader.conf"] = "loader/loader.conf"
    for entry in entries:
        name = f"loader/entries/{entry}.conf"
        copies[name] = name
        copies |= {each: each for each in list_named_files((source / name).read_text())}
    sizes = {name: (source / name).stat().st_size for name in copies}
    total, done = sum(sizes.values()), 0
    for name, new in copies.items():
        progress(N_("boot loader and kernel"), done, total)
        (target / new).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / new)
        sync_path(target / new)
        if (target / new).stat().st_size != sizes[name]:
            raise StepFailedError(f"{new} on the drive's ESP is not as long as the stick's")
        done += sizes[name]
    flush([target])
