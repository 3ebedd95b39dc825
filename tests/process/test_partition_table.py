# SPDX-License-Identifier: Apache-2.0
"""The real sfdisk writes a partition table; its sync() of all drives the kernel leaves out."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.drives import partition_table
from appliance.drives.partition_table import write_partition_table
from appliance.errors import StepFailedError

_SIZE_BYTES = 64 << 20
_UUID = "6b616c74-0005-4c1b-8a7e-8f50a2071dff"
_SCRIPT = f"label: gpt\nlabel-id: {_UUID}\ntype=linux, size=10MiB, name=first\n"
_KILL = 0x80000000  # SECCOMP_RET_KILL_PROCESS


@pytest.fixture
def drive(tmp_path: Path) -> Iterator[str]:
    """A loop device: for a file sfdisk asks for no sync()."""
    image = tmp_path / "image"
    image.touch()
    with image.open("r+b") as file:
        file.truncate(_SIZE_BYTES)
    command = ["losetup", "--find", "--show", str(image)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        # A host may have none to give; each campaign with a boot in tests/image writes one.
        pytest.skip(f"no loop device can be had here: {done.stderr.strip()}")
    loop = done.stdout.strip()
    yield loop
    subprocess.run(["losetup", "--detach", loop], check=True)


def test_the_table_is_there_and_no_other_drive_was_waited_for(
    drive: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_partition_table(drive, _SCRIPT, wipe_partitions=True)
    dumped = subprocess.run(
        ["sfdisk", "--dump", drive], capture_output=True, text=True, check=True
    ).stdout
    assert f"label-id: {_UUID.upper()}" in dumped
    assert 'name="first"' in dumped
    # It does ask, or all this could go.
    answers_0, kills = (partition_table._ANSWER_0, _KILL)
    killing = tuple(
        (*each[:3], kills if each[3] == answers_0 else each[3]) for each in partition_table._NO_SYNC
    )
    monkeypatch.setattr(partition_table, "_NO_SYNC", killing)
    with pytest.raises(StepFailedError):
        write_partition_table(drive, _SCRIPT)
