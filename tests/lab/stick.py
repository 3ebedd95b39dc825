# SPDX-License-Identifier: Apache-2.0
"""The stick as a file: a copy of the image, its partitions, and their content.

Works from outside with mtools and e2fsprogs, never by mounting; only while no machine has it.
"""

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

FAT_NAME = "KALTSTART"
DATA_NAME = "kaltstart-data"


class StickError(Exception):
    """The stick's file is not what it should be."""


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition of a stick's file."""

    number: int
    name: str
    offset_bytes: int
    size_bytes: int


_GROW_BYTES = (1 << 30) + (224 << 20)
"""Room for a second system, 320 MiB (mkosi.extra's repart.d), and 0.9 GB for kaltstart-data."""


def make_stick(image: Path, stick: Path, *, grow_bytes: int = _GROW_BYTES) -> Path:
    """Copy the image, with room behind it for the data partition."""
    if not image.exists():
        raise StickError(f"{image} is missing; make it with ci/build")
    _run("cp", "--sparse=always", "--reflink=auto", image, stick)
    with stick.open("r+b") as file:
        file.truncate(image.stat().st_size + grow_bytes)
    return stick


def find_partitions(stick: Path) -> tuple[Partition, ...]:
    """The stick's partitions, in the order of its table."""
    table = json.loads(_run("sfdisk", "--json", stick))["partitiontable"]
    sector = int(table["sectorsize"])
    return tuple(
        Partition(number, part.get("name", ""), part["start"] * sector, part["size"] * sector)
        for number, part in enumerate(table.get("partitions", []), 1)
    )


def find_partition(stick: Path, name: str) -> Partition | None:
    """The partition with this name, if there is one."""
    return next((part for part in find_partitions(stick) if part.name == name), None)


def put_file(stick: Path, name: str, content: str | bytes) -> None:
    """Write a file into the FAT partition; `name` is a path in it, such as plans/mine.toml."""
    folder = name.rpartition("/")[0]
    if folder and folder not in list_folder(stick, ""):
        _run("mmd", "-i", _fat(stick), f"::/{folder}")
    with tempfile.NamedTemporaryFile() as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        _run("mcopy", "-o", "-i", _fat(stick), file.name, f"::/{name}")


def put_into_initrd(stick: Path, name: str, content: str) -> None:
    """Have the initrd of every boot contain one more file; `name` is a path from its root.

    As one more archive behind the image's: the kernel unpacks them one after the other, each from
    an offset that 4 divides (init/initramfs.c).
    """
    esp = next(part for part in find_partitions(stick) if part.name == "esp")
    place, target = f"{stick}@@{esp.offset_bytes}", "::/kaltstart/initrd.cpio.zst"
    with tempfile.TemporaryDirectory() as temporary:
        folder, archive = Path(temporary) / "root", Path(temporary) / "archive"
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(content)
        _run("mcopy", "-i", place, target, archive)
        listed = [".", *(str(each.relative_to(folder)) for each in sorted(folder.rglob("*")))]
        added = subprocess.run(
            ["cpio", "--create", "--format=newc", "--quiet"], cwd=folder,
            input="\n".join(listed).encode(), capture_output=True, check=True,
        ).stdout  # fmt: skip
        before = archive.read_bytes()
        archive.write_bytes(before + bytes(-len(before) % 4) + added)
        _run("mcopy", "-o", "-i", place, archive, target)


def get_file(stick: Path, name: str) -> bytes | None:
    """A file of the FAT partition; None where it is missing."""
    done = subprocess.run(
        ["mtype", "-i", _fat(stick), f"::/{name}"], capture_output=True, check=False
    )
    return done.stdout if done.returncode == 0 else None


def list_folder(stick: Path, name: str) -> tuple[str, ...]:
    """Names in a folder of the FAT partition; nothing where it is missing."""
    done = subprocess.run(
        ["mdir", "-b", "-i", _fat(stick), f"::/{name}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        return ()
    return tuple(line.rstrip("/").rpartition("/")[2] for line in done.stdout.splitlines() if line)


def get_report(stick: Path, folder: Path) -> Path | None:
    """Copy the newest report (the highest campaign id) to `folder`; None where there is none."""

    def campaign_id(name: str) -> int:
        head = name.partition("-")[0]
        return int(head) if head.isdigit() else -1

    names = list_folder(stick, "reports")
    if not names:
        return None
    newest = max(names, key=campaign_id)
    folder.parent.mkdir(parents=True, exist_ok=True)
    _run("rm", "-rf", folder)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        _run("mcopy", "-s", "-m", "-n", "-i", _fat(stick), f"::/reports/{newest}", temporary)
        (Path(temporary) / newest).rename(folder)
    return folder


def get_database(stick: Path, folder: Path) -> Path | None:
    """Copy kaltstart.sqlite, with its journal if a power cut left one, to `folder`.

    From a copy of the data partition whose own journal is replayed first, as the kernel would do
    when it mounts it. None where there is no data partition or no database on it yet.
    """
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        data = Path(temporary) / "data.ext4"
        if not _copy_data_partition(stick, data):
            return None
        found: Path | None = None
        for name in ("kaltstart.sqlite", "kaltstart.sqlite-journal"):
            target = folder / name
            target.unlink(missing_ok=True)
            _run("debugfs", "-R", f'dump -p /{name} "{target}"', data)
            if target.exists() and target.stat().st_size == 0:
                target.unlink()
            if name == "kaltstart.sqlite" and target.exists():
                found = target
    return found


def get_data_tree(stick: Path, source: str, folder: Path) -> Path:
    """Copy a folder of the data partition, such as /raw, into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        data = Path(temporary) / "data.ext4"
        if _copy_data_partition(stick, data):
            _run("debugfs", "-R", f'rdump "{source}" "{folder}"', data)
    return folder


def _copy_data_partition(stick: Path, target: Path) -> bool:
    part = find_partition(stick, DATA_NAME)
    if part is None:
        return False
    _run(
        "dd", f"if={stick}", f"of={target}", "bs=1M", "conv=sparse", "status=none",
        "iflag=skip_bytes,count_bytes", f"skip={part.offset_bytes}", f"count={part.size_bytes}",
    )  # fmt: skip
    with target.open("r+b") as file:
        file.truncate(part.size_bytes)
    done = subprocess.run(["e2fsck", "-fy", target], capture_output=True, text=True, check=False)
    # 1: errors were corrected, which a replayed journal counts as. 8: there is no file system yet.
    if done.returncode & 8:
        return False
    if done.returncode > 2:
        raise StickError(f"e2fsck of the data partition: {done.stdout[-500:]}{done.stderr[-500:]}")
    return True


def _fat(stick: Path) -> str:
    part = find_partition(stick, FAT_NAME)
    if part is None:
        raise StickError(f"{stick} has no partition {FAT_NAME}")
    return f"{stick}@@{part.offset_bytes}"


def _run(*words: str | Path) -> str:
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode != 0:
        raise StickError(f"{words[0]} failed: {(done.stderr or done.stdout).strip()}")
    return done.stdout
