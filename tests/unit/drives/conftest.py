# SPDX-License-Identifier: Apache-2.0
import pytest

from appliance.drives.model import Drive
from tests.unit.drives.machines import load_drives


@pytest.fixture
def zoo() -> dict[str, Drive]:
    """Drives of the captured machine with everything in it, by kernel name."""
    return {drive.name: drive for drive in load_drives("zoo")}


@pytest.fixture
def held() -> dict[str, Drive]:
    """Drives of the captured machine with everything in use, by kernel name."""
    return {drive.name: drive for drive in load_drives("held")}
