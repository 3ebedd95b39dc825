# SPDX-License-Identifier: Apache-2.0
"""The partitions that a stick gets at its first start: room stays for later versions."""

import subprocess
from pathlib import Path

from tests.lab.campaign import REPO
from tests.lab.stick import DATA_NAME, find_partition, find_partitions

_DEFINITIONS = REPO / "mkosi.extra/usr/lib/kaltstart/repart.d"
_MIB = 1 << 20


def test_the_data_begins_behind_room_for_larger_systems(tmp_path: Path) -> None:
    stick = tmp_path / "stick.raw"
    with stick.open("wb") as file:
        file.truncate(512 * _MIB)
    # As mkosi leaves it: the last system partition is smaller than repart would make a new one.
    subprocess.run(
        ["sfdisk", "--quiet", stick], check=True, text=True, capture_output=True,
        input="label: gpt\nstart=1MiB, size=1112KiB, "
        "type=2C7357ED-EBD2-46D9-AEC1-23D437EC2BF5, name=root-x86-64-verity\n",
    )  # fmt: skip
    (before,) = find_partitions(stick)
    subprocess.run(
        ["systemd-repart", f"--definitions={_DEFINITIONS}", "--dry-run=no", "--empty=refuse",
         "--offline=yes", "--seed=random", "--discard=no", stick],
        check=True, capture_output=True,
    )  # fmt: skip
    system, data = find_partitions(stick)
    assert system == before
    assert data == find_partition(stick, DATA_NAME)
    assert data.offset_bytes - (system.offset_bytes + system.size_bytes) >= 320 * _MIB
    assert data.size_bytes > 64 * _MIB
