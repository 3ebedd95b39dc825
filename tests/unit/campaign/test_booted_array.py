"""Which drives are asked for the array they belong to."""

from dataclasses import replace

import pytest

from appliance.arrays.superblock import Superblock
from appliance.campaign import booted_array as module
from appliance.campaign.booted_array import read_sets
from appliance.errors import StepFailed
from tests.unit.campaign.world import HDD, SSD

MEMBER = replace(SSD, file_system="bcache")
OTHER = replace(SSD, path="/dev/sdd", serial="OTHER", file_system="bcache")


def test_only_members_and_what_udev_knows_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def read_superblock(path: str) -> Superblock | None:
        asked.append(path)
        if path == MEMBER.path:
            return Superblock("cache", True, "a", "the set", "", 512, 512 << 10)
        return None

    monkeypatch.setattr(module, "read_superblock", read_superblock)
    assert read_sets([HDD, MEMBER, OTHER]) == {MEMBER.path: "the set"}
    assert asked == [MEMBER.path, OTHER.path]
    asked.clear()
    assert read_sets([HDD, MEMBER, OTHER], HDD) == {MEMBER.path: "the set"}
    assert asked == [HDD.path, MEMBER.path, OTHER.path]


def test_a_drive_that_does_not_answer_counts_only_as_a_member(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def read_superblock(path: str) -> Superblock | None:
        raise StepFailed(f"{path}: a bcache superblock of an unknown kind")

    monkeypatch.setattr(module, "read_superblock", read_superblock)
    assert read_sets([HDD, OTHER]) == {}
    with pytest.raises(StepFailed, match=r"/dev/sdb: .*unknown kind"):
        read_sets([HDD, MEMBER], MEMBER)
