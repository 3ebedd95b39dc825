# SPDX-License-Identifier: Apache-2.0
"""A new image over a stick that has results: what is kept stays, whenever the power is cut."""

import hashlib
import lzma
import shutil
import subprocess
from io import BytesIO
from pathlib import Path
from typing import override

import pytest

from appliance.stick.partition_table import (
    CHUNK_BYTES,
    DISK_UUID,
    BlockDevice,
    UnfitError,
    Upgrade,
    parse_image,
    plan_upgrade,
    read_table,
)
from ci.keep_data import write_upgrade
from tests.lab.campaign import REPO
from tests.lab.stick import DATA_NAME, FAT_NAME, find_partition, find_partitions

_MIB = 1 << 20
_ESP, _BIOS = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B", "21686148-6449-6E6F-744E-656564454649"
_ROOT, _VERITY = "4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709", "2C7357ED-EBD2-46D9-AEC1-23D437EC2BF5"
_BASIC = "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7"
_LINUX = "0FC63DAF-8483-4772-8E79-3D69D8477DE4"
_SYSTEM = ("esp", "linux", "root-x86-64", "root-x86-64-verity")


class _Cut(Exception):  # noqa: N818  # no error: the power is gone
    pass


class _Disk(BlockDevice):
    """A file whose power goes at a write, in the middle of it. A sector is written or not."""

    def __init__(self, path: Path, *, cut_at: int = -1) -> None:
        self._left = cut_at
        super().__init__(path.open("r+b"))

    @override
    def write(self, offset: int, data: bytes) -> None:
        if self._left == 0:
            super().write(offset, data[: len(data) // 1024 * 512])
            raise _Cut
        self._left -= 1
        super().write(offset, data)


def _make(
    path: Path,
    *,
    size_mib: int,
    root_mib: int,
    data: bool = False,
    extra: str = "",
    esp_at: int = 3,
) -> None:
    """An image or a stick of this layout; each partition is filled with bytes of its own."""
    lines = [
        "label: gpt",
        f"label-id: {DISK_UUID}",
        f"start=1MiB, size=2MiB, type={_BASIC}, name={FAT_NAME}",
        f"start={esp_at}MiB, size=3MiB, type={_ESP}, name=esp",
        f"start={esp_at + 3}MiB, size=1MiB, type={_BIOS}, name=linux",
        f"start={esp_at + 4}MiB, size={root_mib}MiB, type={_ROOT}, name=root-x86-64",
        f"start={esp_at + 4 + root_mib}MiB, size=1MiB, type={_VERITY}, name=root-x86-64-verity",
    ]
    if data:
        lines.append(f"start=16MiB, size=4MiB, type={_LINUX}, name={DATA_NAME}")
    if extra:
        lines.append(extra)
    with path.open("wb") as file:
        file.truncate(size_mib * _MIB)
    subprocess.run(
        ["sfdisk", "--quiet", path], input="\n".join(lines), text=True, check=True,
        capture_output=True,
    )  # fmt: skip
    with path.open("r+b") as file:
        file.write(path.stem.encode().ljust(440, b"!"))
        for part in find_partitions(path):
            file.seek(part.offset_bytes)
            word = f"{path.stem} {part.name} ".encode()
            file.write((word * (part.size_bytes // len(word) + 1))[: part.size_bytes])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where an old stick and a new image are, for copies."""
    folder = tmp_path_factory.mktemp("made")
    _make(folder / "old.raw", size_mib=24, root_mib=4, data=True)
    _make(folder / "new.raw", size_mib=16, root_mib=6)
    return folder


@pytest.fixture
def stick(tmp_path: Path, made: Path) -> Path:
    return shutil.copyfile(made / "old.raw", tmp_path / "old.raw")


@pytest.fixture
def image(tmp_path: Path, made: Path) -> Path:
    return shutil.copyfile(made / "new.raw", tmp_path / "new.raw")


def _read(path: Path, name: str) -> bytes:
    part = find_partition(path, name)
    assert part is not None, name
    with path.open("rb") as file:
        file.seek(part.offset_bytes)
        return file.read(part.size_bytes)


def _write(stick: Path, image: Path, *, cut_at: int = -1) -> None:
    source = BytesIO(image.read_bytes())
    head = source.read(34 * 512)
    disk = _Disk(stick, cut_at=cut_at)
    upgrade = _plan(stick, image)
    write_upgrade(disk, source, head, upgrade)


def _plan(stick: Path, image: Path) -> Upgrade:
    disk = _Disk(stick)
    with image.open("rb") as file:
        new = parse_image(file.read(34 * 512))
    return plan_upgrade(read_table(disk), new, sectors=disk.size_bytes // 512)


def _check_kept(stick: Path, before: dict[str, bytes]) -> None:
    disk = _Disk(stick)
    parts = {part.name: part for part in read_table(disk).partitions.values()}
    for name, content in before.items():
        part = parts[name]
        assert disk.read(part.offset_bytes, part.size_bytes) == content, name


def _check_written(stick: Path, image: Path, before: dict[str, bytes]) -> None:
    assert _read(stick, FAT_NAME) == before[FAT_NAME]
    assert _read(stick, DATA_NAME) == before[DATA_NAME]
    for name in _SYSTEM:
        assert _read(stick, name) == _read(image, name), name
    assert stick.read_bytes()[:440] == image.read_bytes()[:440]
    checked = subprocess.run(
        ["sfdisk", "--verify", stick], capture_output=True, text=True, check=True
    )
    assert "No errors" in checked.stdout, checked.stdout


def _before(stick: Path) -> dict[str, bytes]:
    return {name: _read(stick, name) for name in (FAT_NAME, DATA_NAME)}


def test_the_system_is_the_images_and_the_rest_is_kept(stick: Path, image: Path) -> None:
    before = _before(stick)
    _write(stick, image)
    _check_written(stick, image, before)
    # Both tables are the same to another program.
    with stick.open("r+b") as file:
        file.seek(512)
        file.write(bytes(512))
    _check_kept(stick, before)


# Boot code and the ESP's head, 11 MiB of system, two tables, the ESP's head and boot code again.
_WRITES = 2 + 11 * _MIB // CHUNK_BYTES + 2 + 2


@pytest.mark.parametrize("cut_at", range(_WRITES))
def test_a_cut_at_any_write_loses_nothing_and_the_same_command_completes_it(
    stick: Path, image: Path, cut_at: int
) -> None:
    before = _before(stick)
    old_esp, old_code = _read(stick, "esp"), stick.read_bytes()[:440]
    with pytest.raises(_Cut):
        _write(stick, image, cut_at=cut_at)
    _check_kept(stick, before)
    # The ESP is whole or none, and so is what BIOS starts: no machine starts half a system.
    esp, code = _Disk(stick).read(3 * _MIB, 3 * _MIB), stick.read_bytes()[:440]
    if cut_at < 2:
        assert esp == old_esp
        assert code in {old_code, bytes(440)}
    elif cut_at == _WRITES - 1:
        assert all(_read(stick, name) == _read(image, name) for name in _SYSTEM)
        assert code == bytes(440)
    else:
        assert esp[:512] == bytes(512)
        assert code == bytes(440)
    _write(stick, image)
    _check_written(stick, image, before)


def test_every_write_was_cut_once(stick: Path, image: Path) -> None:
    _write(stick, image, cut_at=_WRITES)
    with pytest.raises(_Cut):
        _write(stick, image, cut_at=_WRITES - 1)


def test_a_stick_that_never_started_has_no_data_yet(tmp_path: Path, image: Path) -> None:
    stick = tmp_path / "old.raw"
    _make(stick, size_mib=24, root_mib=4)
    kept = _read(stick, FAT_NAME)
    _write(stick, image)
    assert _read(stick, FAT_NAME) == kept
    assert find_partition(stick, DATA_NAME) is None


def test_a_stick_whose_table_was_cut_is_read_by_its_copy(stick: Path, image: Path) -> None:
    before = _before(stick)
    with stick.open("r+b") as file:
        file.seek(1024)
        file.write(b"\xff" * 128)
    _write(stick, image)
    _check_written(stick, image, before)


@pytest.mark.parametrize("cut_at", [_WRITES - 4, _WRITES - 3])
def test_the_only_whole_table_is_written_last(stick: Path, image: Path, cut_at: int) -> None:
    """As after a cut in the write of the table at the start, before another image is taken."""
    before = _before(stick)
    with stick.open("r+b") as file:
        file.seek(1024)
        file.write(b"\xff" * 128)
    with pytest.raises(_Cut):
        _write(stick, image, cut_at=cut_at)
    _check_kept(stick, before)
    _write(stick, image)
    _check_written(stick, image, before)


def test_a_copy_of_a_larger_stick_is_refused(stick: Path, image: Path) -> None:
    """The table at the end would be written into what is kept."""
    with stick.open("r+b") as file:
        file.truncate(20 * _MIB)
    with pytest.raises(UnfitError, match=f"{DATA_NAME} reaches beyond the stick's end"):
        _plan(stick, image)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"root_mib": 9}, "needs room that kaltstart-data takes"),
        ({"esp_at": 2, "root_mib": 4}, "needs room that KALTSTART takes"),
    ],
)
def test_an_image_that_does_not_fit_is_refused(
    stick: Path, tmp_path: Path, what: dict[str, int], message: str
) -> None:
    image = tmp_path / "new.raw"
    if "esp_at" in what:
        # Of another layout: its KALTSTART is smaller.
        _make(image, size_mib=24, root_mib=4)
        subprocess.run(
            ["sfdisk", "--quiet", image], check=True, text=True, capture_output=True,
            input=f"label: gpt\nlabel-id: {DISK_UUID}\nstart=1MiB, size=1MiB, name={FAT_NAME}\n"
            f"start=2MiB, size=3MiB, type={_ESP}, name=esp\n",
        )  # fmt: skip
    else:
        _make(image, size_mib=24, root_mib=what["root_mib"])
    with pytest.raises(UnfitError, match=message):
        _plan(stick, image)


def test_what_is_no_stick_of_ours_is_refused(tmp_path: Path, image: Path) -> None:
    other = tmp_path / "other.raw"
    with other.open("wb") as file:
        file.truncate(24 * _MIB)
    with pytest.raises(UnfitError, match="no partition table"):
        _plan(other, image)
    subprocess.run(
        ["sfdisk", "--quiet", other], input=f"label: gpt\nname={FAT_NAME}\n", text=True,
        check=True, capture_output=True,
    )  # fmt: skip
    with pytest.raises(UnfitError, match="the stick is not one of Kaltstart"):
        _plan(other, image)


@pytest.mark.parametrize("kind", [_LINUX, _ESP, _BIOS, _ROOT, _VERITY])
@pytest.mark.parametrize("name", ["mine", ""])
def test_a_partition_that_the_user_made_is_not_lost(
    tmp_path: Path, image: Path, kind: str, name: str
) -> None:
    """Whatever its type: that of a root or an ESP says nothing about whose it is."""
    stick = tmp_path / "old.raw"
    extra = f'start=20MiB, size=1MiB, type={kind}, name="{name}"'
    _make(stick, size_mib=24, root_mib=4, data=True, extra=extra)
    with pytest.raises(UnfitError, match=rf'partition 7 of the stick \("{name}"\)'):
        _plan(stick, image)


def test_what_is_no_image_of_ours_is_refused(stick: Path, tmp_path: Path) -> None:
    image = tmp_path / "new.raw"
    image.write_bytes(b"image" * 100_000)
    with pytest.raises(UnfitError, match="not one of Kaltstart"):
        _plan(stick, image)


@pytest.fixture
def folder(tmp_path: Path, stick: Path, image: Path) -> Path:
    """ci/write beside its helper, and a stick that is a file: with a real partition table."""
    for name in (
        "ci/keep_data.py",
        "appliance/__init__.py",
        "appliance/stick/__init__.py",
        "appliance/stick/partition_table.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPO / name, tmp_path / name)
    sys_block = tmp_path / "sys/sdz"
    sys_block.mkdir(parents=True)
    for name, text in (("dev", "8:400"), ("diskseq", "7"), ("removable", "1")):
        (sys_block / name).write_text(text)
    stick.rename(tmp_path / "sdz")
    text = (REPO / "ci/write").read_text()
    for was, now in (
        ("/sys/block/", f"{tmp_path}/sys/"),
        ("${device#/dev/}", "sdz"),
        ('[ -b "$device" ]', '[ -e "$device" ]'),
        (" oflag=direct", ""),
    ):
        assert was in text
        text = text.replace(was, now)
    (tmp_path / "ci/write").write_text(text)
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "lsblk").write_text(
        "#!/bin/bash\n"
        'case "$*" in *MOUNTPOINTS*) ;; *SERIAL*) echo STICK-1 ;; *bytes*SIZE*) echo 25165824 ;; '
        "*) echo usb ;; esac\n"
    )
    (tools / "lsblk").chmod(0o755)
    shutil.copy("/bin/true", tools / "blockdev")
    return tmp_path


def _call(folder: Path, *options: str | Path) -> subprocess.CompletedProcess[str]:
    device = folder / "sdz"
    return subprocess.run(
        ["bash", folder / "ci/write", *options, device],
        env={"PATH": f"{folder}/tools:/usr/bin:/bin:/usr/sbin:/sbin"},
        input=f"{device}\nSTICK-1\n", check=False, capture_output=True, text=True,
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["raw", "xz"])
def test_the_command_keeps_the_data(folder: Path, image: Path, kind: str) -> None:
    before = _before(folder / "sdz")
    given = image
    if kind == "xz":
        given = folder / "kaltstart-1-amd64.img.xz"
        given.write_bytes(lzma.compress(image.read_bytes()))
        checksum = hashlib.sha256(given.read_bytes()).hexdigest()
        (folder / "SHA256SUMS").write_text(f"{checksum}  {given.name}\n")
    done = _call(folder, "--keep-data", "--image", given)
    assert done.returncode == 0, done.stderr
    assert f"{DATA_NAME} is kept (4 MiB)" in done.stdout
    assert "Everything on it will be lost" not in done.stdout
    _check_written(folder / "sdz", image, before)


@pytest.mark.parametrize("damage", ["sum", "not listed", "cut off"])
def test_a_damaged_image_is_refused_before_anything_is_asked(
    folder: Path, image: Path, damage: str
) -> None:
    before = (folder / "sdz").read_bytes()
    given = folder / "kaltstart-1-amd64.img.xz"
    packed = lzma.compress(image.read_bytes())
    given.write_bytes(packed[:-100] if damage == "cut off" else packed)
    if damage != "cut off":
        name = given.name if damage == "sum" else "another"
        (folder / "SHA256SUMS").write_text(f"{'0' * 64}  {name}\n")
    done = _call(folder, "--keep-data", "--image", given)
    assert done.returncode == 3
    assert "Type its name" not in done.stdout
    assert (folder / "sdz").read_bytes() == before


def test_an_image_that_is_cut_off_is_refused_while_the_stick_still_starts(
    folder: Path, image: Path
) -> None:
    before = (folder / "sdz").read_bytes()
    image = image.rename(image.with_name("{a} kaltstart.raw"))
    with image.open("r+b") as file:
        file.truncate(image.stat().st_size // 2)
    done = _call(folder, "--keep-data", "--image", image)
    assert (done.returncode, done.stderr.count("cut off")) == (3, 1), done.stderr
    assert "Type its name" not in done.stdout
    assert (folder / "sdz").read_bytes() == before


def test_without_keep_data_a_packed_image_is_written_whole(folder: Path, image: Path) -> None:
    script = (folder / "ci/write").read_text()
    assert "(385 << 20)" in script
    (folder / "ci/write").write_text(script.replace("(385 << 20)", "0"))
    given = folder / "new.img.xz"
    given.write_bytes(lzma.compress(image.read_bytes()))
    done = _call(folder, "--image", given)
    assert done.returncode == 0, done.stderr
    size = image.stat().st_size
    assert (folder / "sdz").read_bytes()[:size] == image.read_bytes()
