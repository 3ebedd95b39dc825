from pathlib import Path

import pytest

from appliance.drives.model import Drive
from tests.unit.drives.machines import load_drives


@pytest.fixture
def zoo(tmp_path: Path) -> dict[str, Drive]:
    """Drives of the captured machine with everything in it, by kernel name."""
    return {drive.name: drive for drive in load_drives("zoo", tmp_path)}


@pytest.fixture
def held(tmp_path: Path) -> dict[str, Drive]:
    """Drives of the captured machine with everything in use, by kernel name."""
    return {drive.name: drive for drive in load_drives("held", tmp_path)}
