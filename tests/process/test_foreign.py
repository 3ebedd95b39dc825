# SPDX-License-Identifier: Apache-2.0
"""The lab's foreign drives are what they claim to be, and clearing one leaves nothing of it.

On files: what `lsblk` and partitions' nodes add is tested on the image.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from appliance.drives.clear import (
    Leftovers,
    Place,
    carry_out,
    parse_signatures,
    plan_clearing,
)
from tests.lab.foreign import EXPECTED, make_foreign_images

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return make_foreign_images(tmp_path_factory.mktemp("foreign"))


def _look(image: Path) -> Leftovers:
    done = subprocess.run(["wipefs", "--json", image], capture_output=True, text=True, check=True)
    place = Place(str(image), 0, image.stat().st_size)
    return Leftovers((place,), (), parse_signatures(done.stdout, (place,)))


def _kinds(image: Path) -> set[str]:
    return {kind for _, kind in _look(image).signatures}


@pytest.mark.parametrize("name", EXPECTED)
def test_libblkid_knows_each_of_them(name: str, images: dict[str, Path]) -> None:
    assert _kinds(images[name]) == EXPECTED[name]


@pytest.mark.parametrize("name", EXPECTED)
def test_nothing_is_left_of_any_of_them(name: str, images: dict[str, Path], tmp_path: Path) -> None:
    image = Path(shutil.copy(images[name], tmp_path))
    for step in plan_clearing(_look(image)):
        carry_out(step, str(image))
    assert _kinds(image) == set()
    # What wipefs does not look for: uberblocks of ZFS, btrfs' copies, LVM's text.
    content = image.read_bytes()
    for mark in (b"\x0c\xb1\xba\0\0\0\0\0", b"_BHRfS_M", b"LVM2", b"physical_volumes"):
        assert mark not in content
