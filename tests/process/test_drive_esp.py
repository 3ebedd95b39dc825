# SPDX-License-Identifier: Apache-2.0
"""The ESP that a drive gets, as the real mkfs.fat makes it."""

import re
import subprocess
from pathlib import Path

import pytest

from appliance.reference_os.loader import ESP_BYTES, make_fat


@pytest.mark.parametrize("block_bytes", [512, 4096])
def test_firmware_takes_it_for_fat32(tmp_path: Path, block_bytes: int) -> None:
    """With fewer clusters than 65 525 it is FAT16 to firmware, whatever its header says."""
    esp = tmp_path / "esp"
    esp.touch()
    with esp.open("r+b") as file:
        file.truncate(ESP_BYTES)
    make_fat(str(esp), block_bytes=block_bytes)
    shown = subprocess.run(["fsck.fat", "-nv", esp], capture_output=True, text=True, check=True)
    found = re.search(r"(\d+) data clusters", shown.stdout) or re.search(
        r"\d+ files, \d+/(\d+) clusters", shown.stdout
    )
    assert found, shown.stdout
    assert int(found[1]) >= 65_525
    assert f"{block_bytes} bytes per logical sector" in shown.stdout
    assert "4096 bytes per cluster" in shown.stdout
