"""Which drives are asked for the array they belong to."""

import json

import pytest

from appliance.arrays.superblock import Superblock
from appliance.campaign import booted_array as module
from appliance.campaign.booted_array import read_sets
from appliance.errors import StepFailed
from tests.unit.campaign.world import HDD


def test_only_members_and_what_udev_knows_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def read_superblock(path: str) -> Superblock | None:
        asked.append(path)
        if path == "/dev/sdb":
            return Superblock("cache", True, "a", "the set", "", 512, 512 << 10)
        return None

    nodes = [
        {"path": "/dev/sda", "fstype": None},
        {"path": "/dev/sdb", "fstype": "bcache"},
        {"path": "/dev/sdc", "fstype": "ext4"},
        {"path": "/dev/sdd", "fstype": "bcache"},
    ]
    monkeypatch.setattr(module, "list_block_devices", lambda: json.dumps({"blockdevices": nodes}))
    monkeypatch.setattr(module, "read_superblock", read_superblock)
    assert read_sets() == {"/dev/sdb": "the set"}
    assert asked == ["/dev/sdb", "/dev/sdd"]
    asked.clear()
    assert read_sets(HDD) == {"/dev/sdb": "the set"}
    assert asked == ["/dev/sdb", "/dev/sdd", "/dev/sda"]


def test_no_list_of_drives_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "list_block_devices", lambda: "{}")
    with pytest.raises(StepFailed, match="no usable list"):
        read_sets()
