# SPDX-License-Identifier: Apache-2.0
"""What the real tools leave on a drive, and what is then found on its medium."""

import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from appliance.caches import direct
from appliance.campaign.drives.ownership import leave_mark
from appliance.drives.clear import Place
from appliance.drives.file_system import read_file_system_uuid
from appliance.drives.own_uuid import make_file_system_uuid, make_table_uuid
from appliance.run import run
from appliance.workloads.drive_content import (
    DriveContent,
    Signature,
    describe_change,
    describe_foreign,
    make_content,
    read_content,
    read_signatures,
)
from appliance.workloads.drive_ends import read_ends
from appliance.workloads.verify.pattern import Pattern, stamp

_DRIVE_BYTES = 320 << 20
_RESERVED = "0FC63DAF-8483-4772-8E79-3D69D8477DE4"


@pytest.fixture
def drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sparse file; the file system that tests run on need not know O_DIRECT."""
    monkeypatch.setattr(os, "O_DIRECT", 0)
    monkeypatch.setattr(direct, "_logical_block_bytes", lambda _: 512)
    path = tmp_path / "drive"
    path.touch()
    os.truncate(path, _DRIVE_BYTES)
    return path


def _look(drive: Path) -> DriveContent:
    """As `read_content` does, but for lsblk, which knows no files."""
    ends = read_ends(str(drive))
    places = (Place(str(drive), 0, _DRIVE_BYTES),)
    return make_content(ends, read_signatures(places, dos_table=ends.dos_table))


def _write(drive: Path, offset: int, content: bytes | bytearray) -> None:
    with drive.open("r+b") as file:
        file.seek(offset)
        file.write(content)


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A loop device and the file below it: a disk that is changed behind the kernel's back."""
    image = tmp_path / "image"
    image.touch()
    os.truncate(image, _DRIVE_BYTES)
    command = ["losetup", "--find", "--show", str(image)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no loop device can be had here: {done.stderr.strip()}")
    path = done.stdout.strip()
    yield path, image
    subprocess.run(["losetup", "--detach", path], check=True)


def test_what_the_kernel_has_cached_of_a_disk_before_is_not_believed(
    loop: tuple[str, Path],
) -> None:
    path, image = loop
    ours, theirs = make_file_system_uuid(), make_file_system_uuid()
    run(["mkfs.ext4", "-q", "-F", "-U", ours, path])
    with open(path, "rb") as held:  # noqa: PTH123 - as the lock does: the last close drops pages
        held.read(1 << 16)
        before = read_content(path)
        run(["mkfs.ext4", "-q", "-F", "-U", theirs, str(image)])
        run(["sync", str(image)])
        held.seek(0)
        assert uuid.UUID(ours).bytes in held.read(1 << 16), "of the other disk"
        after = read_content(path)
    assert {each.uuid for each in before.signatures} == {ours}
    assert {each.uuid for each in after.signatures} == {theirs}
    assert after.sha256 != before.sha256


def test_an_empty_drive_carries_nothing(drive: Path) -> None:
    found = _look(drive)
    assert (found.tables, found.signatures, found.filled) == (frozenset(),) * 3


def test_a_mark_is_an_empty_table_until_the_user_makes_a_partition_in_it(drive: Path) -> None:
    mark_uuid = make_table_uuid()
    assert leave_mark(str(drive), mark_uuid)
    marked = _look(drive)
    assert marked.tables == {mark_uuid}
    assert not marked.filled
    assert not describe_foreign(marked, DriveContent(), {mark_uuid})
    run(["sfdisk", "--append", str(drive)], stdin=f"size=16MiB, type={_RESERVED}\n")
    used = _look(drive)
    assert used.tables == used.filled == {mark_uuid}
    assert describe_foreign(used, DriveContent(), {mark_uuid}) == f"the partition table {mark_uuid}"


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs"])
def test_a_file_system_is_known_by_its_uuid(drive: Path, kind: str) -> None:
    """On the whole drive: where a mark was, its copy at the end may still be."""
    mark_uuid, made = make_table_uuid(), make_file_system_uuid()
    assert leave_mark(str(drive), mark_uuid)
    before = _look(drive)
    options = {"ext4": ["-F", "-U", made], "xfs": ["-f", "-m", f"uuid={made}"]}
    run([f"mkfs.{kind}", "-q", *options.get(kind, ["-f", "-U", made]), str(drive)])
    found = _look(drive)
    assert {each.uuid for each in found.signatures} == {made}
    assert not describe_foreign(found, before, {mark_uuid, made})
    assert describe_foreign(found, before, {mark_uuid}).startswith(f"{kind} {made} at byte ")
    assert describe_change(found, before)


def test_another_dos_table_is_another_content(drive: Path) -> None:
    script = "label: dos\nlabel-id: 0x1234abcd\nstart=2048, size=4096, type=83\n"
    run(["sfdisk", str(drive)], stdin=script)
    (before,) = _look(drive).signatures
    assert (before.kind, before.uuid.partition("-")[0]) == ("dos", "1234abcd")
    run(["sfdisk", "--append", str(drive)], stdin="size=4096, type=7\n")
    (after,) = _look(drive).signatures
    assert after.uuid.partition("-")[0] == "1234abcd"
    assert after != before


def test_what_is_in_a_partition_has_its_place_on_the_drive(drive: Path, tmp_path: Path) -> None:
    part = tmp_path / "drive1"
    part.touch()
    os.truncate(part, 64 << 20)
    made = make_file_system_uuid()
    run(["mkfs.ext4", "-q", "-F", "-U", made, str(part)])
    places = (Place(str(drive), 0, _DRIVE_BYTES), Place(str(part), 1 << 20, 64 << 20))
    assert read_signatures(places) == (Signature("ext4", made, (1 << 20) + 1080, True),)


@pytest.mark.parametrize("seed", range(1, 9))
def test_what_a_verify_wrote_is_no_signature(drive: Path, seed: int) -> None:
    """Power may go in its middle: then nothing but the pattern is there."""
    chunk = Pattern(seed=seed, run_id=2).make_chunk()
    for at in (0, _DRIVE_BYTES - (1 << 20)):
        stamp(chunk, at)
        _write(drive, at, chunk)
    assert _look(drive).signatures == frozenset()


def test_what_a_fio_wrote_is_hardly_ever_a_signature(drive: Path) -> None:
    random = Random(1)
    for at in (0, _DRIVE_BYTES - (2 << 20)):
        _write(drive, at, random.randbytes(2 << 20))
    assert _look(drive).signatures == frozenset()


@pytest.mark.parametrize("kind", ["ext4", "btrfs"])
def test_a_dos_table_beside_a_file_system_leaves_its_uuid_and_is_seen(
    drive: Path, kind: str
) -> None:
    """As another computer makes it: its partitions begin at 1 MiB."""
    own = make_file_system_uuid()
    options = ["-q", "-F", "-U", own] if kind == "ext4" else ["-q", "-f", "-U", own]
    run([f"mkfs.{kind}", *options, str(drive)])
    assert describe_foreign(_look(drive), DriveContent(), {own}) == ""
    command = ["sfdisk", "--lock=no", "--wipe=never", "--wipe-partitions=never", str(drive)]
    run(command, stdin="label: dos\nstart=2048, type=7\n")
    assert read_file_system_uuid(str(drive)) == own, "which is all that a mount needs"
    assert describe_foreign(_look(drive), DriveContent(), {own}).startswith("dos ")


def test_a_partition_that_is_added_changes_the_ends_and_not_the_tables_number(drive: Path) -> None:
    command = ["sfdisk", "--lock=no", "--wipe=never", str(drive)]
    run(command, stdin="label: gpt\nsize=64MiB\nsize=64MiB\n")
    before = read_ends(str(drive))
    assert read_ends(str(drive)) == before
    run([*command, "--append"], stdin="size=64MiB\n")
    after = read_ends(str(drive))
    assert after.table_uuids == before.table_uuids
    assert after.sha256 != before.sha256
