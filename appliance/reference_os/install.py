# SPDX-License-Identifier: Apache-2.0
"""The reference OS: a copy of the stick's own root and a session set, on a released drive.

Kernel and initrd stay on the stick, or are on the drive as well (`reference_os.loader`). The root
is mounted under an overlay in RAM and the session set read-only, so every boot reads the same
blocks and writes none.
"""

import os
import uuid
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

from appliance.drives.clear import clear_holders
from appliance.drives.file_system import mounted
from appliance.drives.partition_table import write_partition_table
from appliance.drives.unlock import Unlocked
from appliance.errors import StepFailedError, blame_of
from appliance.phrases import N_, Phrase
from appliance.progress import Progress
from appliance.reference_os.loader import ESP_BYTES, make_esp, reading_stick
from appliance.reference_os.session_set import write_session_set
from appliance.run import run

SLOTS = 16
_ROOT = Path(
    "/dev/mapper/root"
)  # the stick's root as dm-verity hands it out: checked as it is read
_MOUNT = Path("/run/kaltstart/session")
_CHUNK_BYTES = 4 << 20
_FLUSH_BYTES = 64 << 20
_ALIGN_BYTES = 1 << 20


def root_partuuid(slot: int) -> str:
    """The partition UUID that the boot entries of `slot` name (mkosi.finalize)."""
    return f"6b616c74-0001-4000-8000-0000000000{slot:02d}"


def session_partuuid(slot: int) -> str:
    """The UUID of the session set's partition on the drive in `slot`."""
    return f"6b616c74-0002-4000-8000-0000000000{slot:02d}"


def esp_partuuid(slot: int) -> str:
    """The UUID of the ESP on the drive in `slot`, where it has one of its own."""
    return f"6b616c74-0006-4000-8000-0000000000{slot:02d}"


def entry_name(slot: int, *, charted: bool) -> str:
    """The boot entry for the drive in `slot` (mkosi.finalize)."""
    return f"measure-{slot:02d}" + ("-chart" if charted else "")


def root_bytes() -> int:
    """Size of the reference OS's root."""
    with _ROOT.open("rb") as root:
        return root.seek(0, os.SEEK_END)


def session_partition_bytes(boot_set_bytes: int) -> int:
    """Room for the session set.

    A file takes up to a block more than its size, and ext4 its share.
    """
    size_bytes = int(boot_set_bytes * 1.35) + (16 << 20)
    return -(-size_bytes // _ALIGN_BYTES) * _ALIGN_BYTES


def needed_bytes(boot_set_bytes: int, *, has_esp: bool = False) -> int:
    """The smallest drive that holds it all, partition tables included."""
    needed = root_bytes() + session_partition_bytes(boot_set_bytes) + 4 * _ALIGN_BYTES
    return needed + ESP_BYTES * has_esp


def partition_path(drive_path: str, number: int) -> str:
    """The kernel's name of a partition: a p goes between two digits."""
    return f"{drive_path}p{number}" if drive_path[-1].isdigit() else f"{drive_path}{number}"


def make_install_uuid(stick_mark: str) -> str:
    """A new GUID for its partition table, by which this very installation is known again.

    It ends in what tells the stick that installs it: see `is_installed_from`.
    """
    return str(uuid.uuid4())[: -len(_sum_up(""))] + _sum_up(stick_mark)


def is_installed_from(install_uuid: str, stick_mark: str) -> bool:
    """Whether a stick with this mark (`Stick.mark`) has made the installation of that GUID."""
    return install_uuid.endswith(_sum_up(stick_mark))


def _sum_up(stick_mark: str) -> str:
    return f"{crc32(stick_mark.encode()):08x}"


def install_reference_os(
    target: Unlocked,
    *,
    install_uuid: str,
    slot: int,
    boot_set_bytes: int,
    progress: Progress,
    show: Callable[[str], None] | None = None,
    stick_esp: str = "",
) -> None:
    """Write the reference OS to an unlocked drive, overwriting it.

    `install_uuid` will be the GUID of its partition table. `show` gets the plan of what is cleared
    for it, before anything is written. With `stick_esp`, the path of the stick's ESP, the drive
    gets an ESP of its own.

    Raises RefusedError before anything is written when the drive is in use, StepFailedError when
    the drive or a tool fails. Nothing is read back: that would train a hybrid drive before its
    first sample.
    """
    clear_holders(target, show=show)
    write_reference_os(
        target.path,
        install_uuid=install_uuid,
        slot=slot,
        boot_set_bytes=boot_set_bytes,
        progress=progress,
        stick_esp=stick_esp,
        block_bytes=target.drive.logical_block_bytes,
    )


def write_reference_os(
    path: str,
    *,
    install_uuid: str,
    slot: int,
    boot_set_bytes: int,
    progress: Progress,
    root_name: str = "kaltstart-ref-root",
    stick_esp: str = "",
    block_bytes: int = 512,
) -> None:
    """Write the reference OS to the drive or array at `path`, unlocked and locked against udev.

    `install_uuid` will be the GUID of its partition table, `root_name` is what the root's partition
    is called. `stick_esp`: see `install_reference_os`. Raises StepFailedError.
    """
    progress(N_("partitions"), 0, 0)
    _make_partitions(
        path,
        install_uuid=install_uuid,
        slot=slot,
        boot_set_bytes=boot_set_bytes,
        root_name=root_name,
        has_esp=bool(stick_esp),
    )
    try:
        _copy_root(Path(partition_path(path, 1)), progress=progress)
        _make_session_set(partition_path(path, 2), boot_set_bytes=boot_set_bytes, progress=progress)
        if stick_esp:
            make_esp(
                stick_esp,
                partition_path(path, 3),
                entries=tuple(entry_name(slot, charted=charted) for charted in (False, True)),
                block_bytes=block_bytes,
                progress=progress,
            )
    except OSError as error:
        raise StepFailedError(
            Phrase("{path}: {error}", path=path, error=error.strerror or error),
            blame=blame_of(error),
        ) from error


def _make_partitions(
    path: str,
    *,
    install_uuid: str,
    slot: int,
    boot_set_bytes: int,
    root_name: str,
    has_esp: bool = False,
) -> None:
    # Sizes with a unit: sfdisk would count bare numbers in the drive's own sectors. Whole
    # mebibytes: it would round anything else down to them.
    script = (
        f"label: gpt\nlabel-id: {install_uuid}\n"
        f"type=linux, size={-(-root_bytes() // _ALIGN_BYTES)}MiB, "
        f"uuid={root_partuuid(slot)}, name={root_name}\n"
        f"type=linux, size={session_partition_bytes(boot_set_bytes) // _ALIGN_BYTES}MiB, "
        f"uuid={session_partuuid(slot)}, name=kaltstart-ref-session\n"
    )
    if has_esp:
        script += (
            f"type=uefi, size={ESP_BYTES // _ALIGN_BYTES}MiB, "
            f"uuid={esp_partuuid(slot)}, name=kaltstart-ref-esp\n"
        )
    write_partition_table(path, script, wipe_partitions=True)


def _copy_root(target: Path, *, progress: Progress) -> None:
    total = root_bytes()
    done = 0
    buffer = memoryview(bytearray(_CHUNK_BYTES))
    with _ROOT.open("rb", buffering=0) as source, target.open("r+b", buffering=0) as out:
        while True:
            with reading_stick("its root"):
                count = source.readinto(buffer)
            if not count:
                break
            view = buffer[:count]
            while view:
                view = view[out.write(view) :]
            if (done + count) // _FLUSH_BYTES > done // _FLUSH_BYTES:
                # A single flush of everything at the end could not be stopped.
                os.fsync(out.fileno())
            done += count
            progress(N_("reference OS"), done, total)
        os.fsync(out.fileno())


def _make_session_set(partition: str, *, boot_set_bytes: int, progress: Progress) -> None:
    # No journal: the file system is written once and read-only ever after.
    run(
        [
            "mkfs.ext4",
            "-q",
            "-F",
            "-O",
            "^has_journal",
            "-E",
            "lazy_itable_init=0,nodiscard",
            partition,
        ]
    )
    with mounted(partition, "ext4") as folder:
        write_session_set(folder, boot_set_bytes, progress=progress)


def mount_session_set(drive_path: str) -> Path:
    """Mount the session set of the drive this boot runs from, without writing to it."""
    _MOUNT.mkdir(parents=True, exist_ok=True)
    run(
        [
            "mount",
            "-t",
            "ext4",
            "-o",
            "ro,noload,noatime",
            partition_path(drive_path, 2),
            str(_MOUNT),
        ]
    )
    return _MOUNT
