# SPDX-License-Identifier: Apache-2.0
"""Writing the stick: to the disk that was shown and named by its serial number, and to no other."""

import lzma
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.lab.campaign import REPO

_LSBLK = """\
#!/bin/bash
case "$*" in
  *MOUNTPOINTS*) ;;
  *TRAN*PATH* | *PATH*) echo shown ;;
  *SERIAL,WWN,SIZE*) cat {folder}/identity ;;
  *TRAN*) echo usb ;;
  *SERIAL*) cat {folder}/serial ;;
  *MODEL*) echo "Ultra Fit " ;;
  *bytes*SIZE*) echo 8000000000 ;;
  *SIZE*) echo " 7.5G" ;;
esac
"""


IMAGE = bytes(512) + b"EFI PART" + b"image" * 1000
"""Begins as a disk does that has a GPT: its header is in the second block."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository whose ci/write finds a stick that is a file, and tools that know it."""
    (tmp_path / "ci").mkdir()
    (tmp_path / "build").mkdir()
    (tmp_path / "build/kaltstart.raw").write_bytes(IMAGE)
    sys_block = tmp_path / "sys/sdz"
    sys_block.mkdir(parents=True)
    for name, text in (("dev", "8:400"), ("diskseq", "7"), ("removable", "1")):
        (sys_block / name).write_text(text)
    (tmp_path / "sdz").write_bytes(b"theirs")
    (tmp_path / "serial").write_text(" STICK-1 \n")
    (tmp_path / "identity").write_text("STICK-1 0x1 8000000000\n")
    text = (REPO / "ci/write").read_text()
    for was, now in (
        ("/sys/block/", f"{tmp_path}/sys/"),
        ("${device#/dev/}", "sdz"),
        ('[ -b "$device" ]', '[ -e "$device" ]'),
        (" oflag=direct", ""),
        (":/usr/sbin:/sbin", f":{tmp_path}/sbin"),
    ):
        assert was in text
        text = text.replace(was, now)
    (tmp_path / "ci/write").write_text(text)
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "lsblk").write_text(_LSBLK.format(folder=tmp_path))
    (tools / "lsblk").chmod(0o755)
    shutil.copy("/bin/true", tools / "blockdev")
    return tmp_path


def _write(
    folder: Path, *answers: str, options: tuple[str, ...] = (), device: str = "sdz"
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", folder / "ci/write", *options, folder / device],
        env={"PATH": f"{folder}/tools:/usr/bin:/bin"},
        input="".join(f"{answer}\n" for answer in answers),
        check=False,
        capture_output=True,
        text=True,
    )


def test_it_is_written_once_name_and_serial_number_are_typed(folder: Path) -> None:
    done = _write(folder, str(folder / "sdz"), "STICK-1")
    assert done.returncode == 0, done.stderr
    assert (folder / "sdz").read_bytes() == IMAGE


def test_it_is_written_by_root_without_roots_path(folder: Path) -> None:
    """As `su` without a dash leaves it on Debian: blockdev is in /usr/sbin."""
    (folder / "sbin").mkdir()
    (folder / "tools/blockdev").rename(folder / "sbin/blockdev")
    done = _write(folder, str(folder / "sdz"), "STICK-1")
    assert done.returncode == 0, done.stderr
    assert (folder / "sdz").read_bytes() == IMAGE


def test_who_may_not_write_to_it_is_told_before_any_question(folder: Path) -> None:
    for each in folder.parents:
        if not each.stat().st_mode & 0o001:
            each.chmod(each.stat().st_mode | 0o011)
    folder.chmod(0o755)
    (folder / "sdz").chmod(0o644)
    done = subprocess.run(
        ["bash", folder / "ci/write", folder / "sdz"],
        env={"PATH": f"{folder}/tools:/usr/bin:/bin"},
        user=65534,
        group=65534,
        extra_groups=[],
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert "sudo" in done.stderr


@pytest.mark.parametrize("answers", [("sdz",), ("", "STICK-1"), ("{}", ""), ("{}", "STICK-2")])
def test_nothing_is_written_without_both(folder: Path, answers: tuple[str, ...]) -> None:
    done = _write(folder, *(answer.format(folder / "sdz") for answer in answers))
    assert done.returncode == 3
    assert "nothing was written" in done.stderr
    assert (folder / "sdz").read_bytes() == b"theirs"


@pytest.mark.parametrize("doubt", ["no serial number", "a foreign disk"])
@pytest.mark.parametrize(
    ("answers", "is_written"),
    [
        (("Ultra Fit", "7.5G"), True),
        (("Ultra Fit", "8G"), False),
        (("", "7.5G"), False),
        ((), False),
    ],
)
def test_model_and_size_are_typed_too_where_it_may_be_another_disk(
    folder: Path, doubt: str, answers: tuple[str, ...], *, is_written: bool
) -> None:
    typed = [str(folder / "sdz")]
    if doubt == "no serial number":
        (folder / "serial").write_text("\n")
    else:
        (folder / "sys/sdz/removable").write_text("0")
        typed.append("STICK-1")
    done = _write(folder, *typed, *answers)
    assert (done.returncode == 0) == is_written
    assert ((folder / "sdz").read_bytes() != b"theirs") == is_written


def test_another_disk_in_its_place_is_not_written(folder: Path) -> None:
    lsblk = folder / "tools/lsblk"
    changed = lsblk.read_text().replace("identity ;;", "identity; echo OTHER > {}/identity ;;")
    lsblk.write_text(changed.format(folder))
    done = _write(folder, str(folder / "sdz"), "STICK-1")
    assert done.returncode == 3
    assert "no longer the disk that was shown" in done.stderr
    assert (folder / "sdz").read_bytes() == b"theirs"


def test_a_disk_that_the_kernel_uses_unseen_is_not_written(folder: Path) -> None:
    """A second drive of a mounted btrfs has neither mount point nor holder (BLKRRPART: EBUSY)."""
    shutil.copy("/bin/false", folder / "tools/blockdev")
    done = _write(folder, str(folder / "sdz"), "STICK-1")
    assert done.returncode == 3
    assert "the kernel is using" in done.stderr
    assert (folder / "sdz").read_bytes() == b"theirs"


@pytest.mark.parametrize("name", ["README.md", "kaltstart.raw.zst", "notes.xz"])
def test_what_is_no_image_of_a_disk_is_not_written(folder: Path, name: str) -> None:
    """A compressed image is none either: no machine would start from the stick."""
    image = folder / name
    text = b"some text, or what a program has compressed. " * 100
    image.write_bytes(lzma.compress(text) if name.endswith(".xz") else text)
    done = _write(folder, str(folder / "sdz"), "STICK-1", options=("--image", str(image)))
    assert done.returncode == 3
    assert f"{name} is not the image of a stick" in done.stderr
    assert (folder / "sdz").read_bytes() == b"theirs"


def test_a_compressed_release_is_written_as_what_is_in_it(folder: Path) -> None:
    image = folder / "kaltstart-1-amd64.img.xz"
    image.write_bytes(lzma.compress(IMAGE, check=lzma.CHECK_CRC32))
    done = _write(folder, str(folder / "sdz"), "STICK-1", options=("--image", str(image)))
    assert done.returncode == 0, done.stderr
    assert (folder / "sdz").read_bytes() == IMAGE


@pytest.mark.parametrize(
    ("options", "device", "code", "said"),
    [
        (("--keep",), "sdz", 2, "write: unknown option --keep"),
        (("--image",), "", 2, "write: "),
        ((), "sdy", 3, "lsblk -o PATH,MODEL,SIZE,TRAN"),
        (("sda",), "sdz", 2, "write: name one device"),
    ],
)
def test_a_mistake_in_the_command_is_named(
    folder: Path, options: tuple[str, ...], device: str, code: int, said: str
) -> None:
    done = _write(folder, options=options, device=device)
    assert done.returncode == code
    assert said in done.stderr
    assert (folder / "sdz").read_bytes() == b"theirs"
