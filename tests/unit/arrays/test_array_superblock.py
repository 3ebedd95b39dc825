# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.arrays.model import array_set_uuid, label_of
from appliance.arrays.superblock import Superblock, parse_super_show
from appliance.errors import StepFailedError

FIXTURES = Path(__file__).parents[2] / "fixtures/bcache"
SET_UUID = "11112222-3333-4444-5555-666677778888"
OTHER_UUID = "11112222-3333-4444-5555-666677779999"


def shown(name: str) -> Superblock:
    found = parse_super_show((FIXTURES / f"{name}.txt").read_text())
    assert found is not None
    return found


def test_backing_drive_that_was_just_made() -> None:
    found = shown("backing-new")
    assert found == Superblock(
        kind="backing",
        whole=True,
        set_uuid=SET_UUID,
        label="",
        block_bytes=512,
        state="detached",
    )


def test_dirty_backing_drive() -> None:
    found = shown("backing-dirty")
    assert found.state == "dirty"
    assert found.label == label_of(SET_UUID)


@pytest.mark.parametrize("name", ["cache-new", "cache-used"])
def test_cache_drive(name: str) -> None:
    found = shown(name)
    assert (found.kind, found.set_uuid) == ("cache", SET_UUID)
    assert found.state == ""


def test_drive_without_a_superblock() -> None:
    assert parse_super_show((FIXTURES / "none.txt").read_text()) is None
    assert parse_super_show("") is None


def test_wrong_checksum_is_not_whole() -> None:
    text = (FIXTURES / "cache-new.txt").read_text()
    broken = parse_super_show(text.replace("[match]\nsb.version", "[expected 1]\nsb.version"))
    assert broken is not None
    assert not broken.whole


def test_unknown_kind_is_said() -> None:
    text = (FIXTURES / "cache-new.txt").read_text().replace("0 [cache device]", "9 [unknown]")
    with pytest.raises(StepFailedError, match="unknown kind"):
        parse_super_show(text)


def test_membership_is_the_sets_uuid() -> None:
    assert shown("backing-clean").belongs_to(SET_UUID)
    assert shown("backing-clean").belongs_to(SET_UUID.upper())
    assert not shown("backing-clean").belongs_to(OTHER_UUID)
    assert not shown("cache-used").belongs_to(OTHER_UUID)


def test_detached_backing_drive_is_known_by_its_label() -> None:
    detached = shown("backing-detached")
    assert detached.set_uuid == ""
    assert detached.belongs_to(SET_UUID)
    assert not detached.belongs_to(OTHER_UUID)
    assert not replace(detached, label="").belongs_to(SET_UUID)
    assert replace(detached, label=label_of(SET_UUID, "parted")).belongs_to(SET_UUID)


def test_detached_on_purpose_or_not() -> None:
    detached = shown("backing-detached")
    assert detached.lost_its_cache(SET_UUID)
    parted = replace(detached, label=label_of(SET_UUID, "parted"))
    assert not parted.lost_its_cache(SET_UUID)
    assert not shown("backing-new").lost_its_cache(SET_UUID)


def test_label_fits_into_a_superblock() -> None:
    assert len(label_of(SET_UUID).encode()) < 32
    assert len(label_of(SET_UUID, "parted").encode()) < 32


def test_label_holds_all_that_tells_our_arrays_apart() -> None:
    made = array_set_uuid(7)
    others = [array_set_uuid(8)[:20] + made[20:], made[:-1] + ("1" if made[-1] == "0" else "0")]
    others.append(made.replace("-8", "-9"))
    assert len({label_of(each) for each in (made, *others)}) == 4
