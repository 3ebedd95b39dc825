# SPDX-License-Identifier: Apache-2.0
"""The drive's own ESP: the stick's boot loader, kernel and initrds, for a boot that is all its own.

The loader is the stick's, signed by the same keys, and the entries have the stick's names and
options. It has a folder of its own: without EFI/BOOT/BOOTX64.EFI no firmware starts the drive
unless an entry asks for it. The stick's ESP is only read.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from appliance.drives.file_system import mounted
from appliance.errors import StepFailedError, StickError
from appliance.flush import flush, sync_path
from appliance.phrases import N_, Phrase
from appliance.progress import Progress
from appliance.run import run

LOADER_FOLDER = "EFI/kaltstart"
"""Not EFI/BOOT, from which firmware starts a drive without any boot entry."""
FIRST_LOADER = "shimx64.efi"
ESP_BYTES = 288 << 20
"""FAT32 begins at 65 525 clusters (Microsoft's FAT specification, 1.03, page 14), and firmware
refuses one with fewer: enough of them for blocks of 512 and of 4096 bytes."""
_CLUSTER_BYTES = 4096
_CHUNK_BYTES = 4 << 20
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

    Raises StickError where the stick's cannot be read, StepFailedError, OSError.
    """
    make_fat(esp, block_bytes=block_bytes)
    with ExitStack() as mounts:
        with reading_stick(stick_esp):
            source = mounts.enter_context(mounted(stick_esp, "vfat", read_only=True))
        target = mounts.enter_context(mounted(esp, "vfat"))
        copy_loader(source, target, entries=entries, progress=progress)


def make_fat(path: str, *, block_bytes: int) -> None:
    """The file system alone, whose sectors are the drive's blocks. Raises StepFailedError."""
    per_cluster = str(_CLUSTER_BYTES // block_bytes)
    run(["mkfs.fat", "-F", "32", "-S", str(block_bytes), "-s", per_cluster, path])


def copy_loader(
    source: Path, target: Path, *, entries: tuple[str, ...], progress: Progress
) -> None:
    """The files alone, between two ESPs that are mounted.

    Raises StickError where `source` cannot be read, StepFailedError, OSError.
    """
    copies = {name: f"{LOADER_FOLDER}/{new}" for name, new in _LOADERS.items()}
    copies["loader/loader.conf"] = "loader/loader.conf"
    for entry in entries:
        name = f"loader/entries/{entry}.conf"
        copies[name] = name
        with reading_stick(name):
            entry_text = (source / name).read_text(errors="replace")
        copies |= {file: file for file in list_named_files(entry_text)}
    sizes = {}
    for name in copies:
        with reading_stick(name):
            sizes[name] = (source / name).stat().st_size
    total, done = sum(sizes.values()), 0
    for name, new in copies.items():
        progress(N_("boot loader and kernel"), done, total)
        (target / new).parent.mkdir(parents=True, exist_ok=True)
        _copy(source / name, target / new, name=name)
        sync_path(target / new)
        if (target / new).stat().st_size != sizes[name]:
            raise StepFailedError(
                Phrase(N_("{file} on the drive's ESP is not as long as the stick's"), file=new)
            )
        done += sizes[name]
    flush([target])


def _copy(source: Path, target: Path, *, name: str) -> None:
    with target.open("wb") as out, ExitStack() as opened:
        with reading_stick(name):
            data = opened.enter_context(source.open("rb"))
        while True:
            with reading_stick(name):
                chunk = data.read(_CHUNK_BYTES)
            if not chunk:
                return
            out.write(chunk)


@contextmanager
def reading_stick(name: str) -> Iterator[None]:
    """No drive may be abandoned for what the stick does. Raises StickError."""
    try:
        yield
    except (OSError, StepFailedError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise StickError(
            Phrase(N_("the stick cannot be read, {what}: {error}"), what=name, error=why),
            hint=N_("write the stick again"),
        ) from error
