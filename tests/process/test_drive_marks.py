# SPDX-License-Identifier: Apache-2.0
"""Marks as sfdisk, mkfs and verify leave them, read from the medium again."""

import os
from pathlib import Path

import pytest

from appliance.caches import direct
from appliance.campaign.drives.ownership import leave_mark
from appliance.drives.own_uuid import is_own, make_file_system_uuid, make_table_uuid
from appliance.reference_os import install as reference_os
from appliance.reference_os.install import make_install_uuid, needed_bytes
from appliance.run import run
from appliance.workloads.drive_ends import read_ends
from appliance.workloads.verify.pattern import Pattern, stamp

_DRIVE_BYTES = 8 << 20


@pytest.fixture
def drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file; the file system that tests run on need not know O_DIRECT."""
    monkeypatch.setattr(os, "O_DIRECT", 0)
    monkeypatch.setattr(direct, "_logical_block_bytes", lambda _: 512)
    path = tmp_path / "drive"
    path.write_bytes(os.urandom(_DRIVE_BYTES))
    return path


def _overwrite(drive: Path, offset: int, content: bytes | bytearray) -> None:
    with drive.open("r+b") as file:
        file.seek(offset)
        file.write(content)


def test_a_mark_is_at_both_ends_until_both_are_overwritten(drive: Path) -> None:
    before = read_ends(str(drive))
    mark_uuid = make_table_uuid()
    assert is_own(mark_uuid)
    assert leave_mark(str(drive), mark_uuid)
    probed = run(["blkid", "--probe", "--output", "value", "--match-tag", "PTUUID", str(drive)])
    assert probed.stdout.strip() == mark_uuid
    marked = read_ends(str(drive))
    assert not before.table_uuids
    assert marked.table_uuids == {mark_uuid}
    assert not marked.has_pattern

    _overwrite(drive, 0, os.urandom(1 << 20))
    assert read_ends(str(drive)).table_uuids == {mark_uuid}
    again = make_table_uuid()
    assert leave_mark(str(drive), again)
    assert again != mark_uuid
    _overwrite(drive, _DRIVE_BYTES - (1 << 20), os.urandom(1 << 20))
    assert read_ends(str(drive)).table_uuids == {again}
    _overwrite(drive, 0, os.urandom(1 << 20))
    assert read_ends(str(drive)).table_uuids == frozenset()


def test_an_installation_is_known_at_either_end_by_its_table(
    drive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its GUID is stored before the first write."""
    root = tmp_path / "root"
    root.write_bytes(os.urandom(1 << 20))
    monkeypatch.setattr(reference_os, "_ROOT", root)
    os.truncate(drive, needed_bytes(1 << 20))
    install_uuid = make_install_uuid("5f6b")
    reference_os._make_partitions(
        str(drive),
        install_uuid=install_uuid,
        slot=1,
        boot_set_bytes=1 << 20,
        root_name="kaltstart-ref-root",
    )
    assert read_ends(str(drive)).table_uuids == {install_uuid}
    _overwrite(drive, 0, bytes(1 << 20))
    assert read_ends(str(drive)).table_uuids == {install_uuid}


def test_a_mark_on_a_drive_with_blocks_of_4096_bytes(
    drive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark_uuid = make_table_uuid()
    script = f"label: gpt\nlabel-id: {mark_uuid}\n"
    run(["sfdisk", "--sector-size=4096", "--wipe=always", str(drive)], stdin=script)
    monkeypatch.setattr(direct, "_logical_block_bytes", lambda _: 4096)
    assert read_ends(str(drive)).table_uuids == {mark_uuid}


@pytest.mark.parametrize("at", [0, _DRIVE_BYTES - 512])
def test_other_bytes_at_an_end_are_another_drive(drive: Path, at: int) -> None:
    before = read_ends(str(drive))
    assert read_ends(str(drive)) == before
    _overwrite(drive, at, os.urandom(512))
    assert read_ends(str(drive)).sha256 != before.sha256


@pytest.mark.parametrize("at", [0, _DRIVE_BYTES - (1 << 20)])
def test_the_pattern_of_a_verify_is_seen_at_either_end(drive: Path, at: int) -> None:
    chunk = Pattern(seed=1, run_id=2).make_chunk()
    stamp(chunk, at)
    _overwrite(drive, at, chunk)
    assert read_ends(str(drive)).has_pattern


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs"])
def test_file_systems_take_a_uuid_of_ours(tmp_path: Path, kind: str) -> None:
    made = make_file_system_uuid()
    assert is_own(made)
    path = tmp_path / kind
    with path.open("wb") as file:
        file.truncate(512 << 20)
    options = {"ext4": ["-F", "-U", made], "xfs": ["-m", f"uuid={made}"], "btrfs": ["-U", made]}
    run([f"mkfs.{kind}", "-q", *options[kind], str(path)])
    probed = run(["blkid", "--probe", "--output", "value", "--match-tag", "UUID", str(path)])
    assert probed.stdout.strip() == made


@pytest.mark.parametrize(
    "uuid",
    [
        "",
        "0c5a6a2e-7a30-4d25-8a2b-3f3e8b3b9d11",
        "6b616c74-0001-4000-8000-000000000001",
        "6b616c74-7374-4172-a57e-6b616c747374",
    ],
)
def test_what_is_not_made_for_a_bare_step_is_not_ours(uuid: str) -> None:
    assert not is_own(uuid)
