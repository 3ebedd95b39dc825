# SPDX-License-Identifier: Apache-2.0
"""A file system whose disk was exchanged writes nothing more, seen by the file behind the drive."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from appliance.drives.file_system import shut_down

_SIZE_BYTES = 320 << 20
_BLOCK_BYTES = 4096


@pytest.fixture(params=["ext4", "xfs"])
def mounted(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """The file behind the drive, and where its file system is mounted."""
    image, folder = tmp_path / "image", tmp_path / "mounted"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(_SIZE_BYTES)
    subprocess.run([f"mkfs.{request.param}", "-q", str(image)], check=True)
    with ExitStack() as undo:
        command = ["losetup", "--find", "--show", str(image)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no loop device can be had here: {done.stderr.strip()}")
        loop = done.stdout.strip()
        undo.callback(subprocess.run, ["losetup", "--detach", loop], check=True)
        mount = ["mount", "-t", request.param, loop, str(folder)]
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
        undo.callback(subprocess.run, ["umount", str(folder)], check=False)
        yield image, folder


def test_what_was_not_written_yet_never_is(mounted: tuple[Path, Path]) -> None:
    image, folder = mounted
    subprocess.run(["sync", "--file-system", str(folder)], check=True)
    before = image.read_bytes()
    (folder / "file").write_bytes(bytes(range(256)) * 4096)
    shut_down(folder)
    with pytest.raises(OSError, match="Input/output error"):
        (folder / "file").unlink()
    subprocess.run(["umount", str(folder)], check=True)
    after = image.read_bytes()
    changed = [
        at
        for at in range(0, _SIZE_BYTES, _BLOCK_BYTES)
        if before[at : at + _BLOCK_BYTES] != after[at : at + _BLOCK_BYTES]
    ]
    assert len(changed) <= 1, "the first block of ext4's journal"
