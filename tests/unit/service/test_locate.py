# SPDX-License-Identifier: Apache-2.0
"""Which drive is which: its light blinks while it is read, its slot's own light is lit."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.campaign.status import Status
from appliance.drives.model import Drive
from appliance.service.drive_watch import DriveList
from appliance.service.engine import Appliance
from appliance.service.locate import blinking
from appliance.store.connect import open_database
from appliance.store.tables.requests import Request, insert_request, select_request
from tests.unit.campaign.world import HDD, STICK, World

GONE = replace(HDD, path="/dev/sd-that-is-gone")


@pytest.fixture
def appliance(world: World) -> Iterator[Appliance]:
    connection = open_database(world.path)
    yield Appliance(Status(), STICK, connection, DriveList(), world.host())
    connection.close()


def ask(appliance: Appliance, device: str, identity: str) -> Request:
    asked = insert_request(
        appliance.connection, "locate", {"device": device, "identity": identity}, at="T",
        boot_id="b",
    )  # fmt: skip
    request = select_request(appliance.connection, asked)
    assert request is not None
    appliance._answer(request)
    answered = select_request(appliance.connection, asked)
    assert answered is not None
    return answered


def make_slot(sys: Path, drive: Drive, *, locate: str) -> Path:
    """An enclosure with a light beside the drive."""
    slot = sys / "slot"
    slot.mkdir(parents=True)
    (slot / "locate").write_text(locate)
    device = sys / "block" / drive.name / "device"
    device.mkdir(parents=True)
    (device / "enclosure_device:3").symlink_to(slot)
    return slot / "locate"


def test_only_the_drive_that_was_meant_blinks(appliance: Appliance) -> None:
    answered = ask(appliance, HDD.name, "ANOTHER")
    assert answered.state == "refused"
    assert "no longer there" in answered.answer


def test_it_ends_idle_and_says_what_could_not_be_read(appliance: Appliance, world: World) -> None:
    world.drives = (GONE,)
    answered = ask(appliance, GONE.name, HDD.identity)
    assert answered.state == "accepted"
    assert appliance.status.phase == "idle"
    events = dict(world.events())
    assert "not-located" in events
    # The reads may have changed what a hybrid keeps.
    assert HDD.identity in events["located"]


def test_the_light_of_the_slot_is_lit_meanwhile_and_as_before_afterwards(tmp_path: Path) -> None:
    locate = make_slot(tmp_path / "sys", GONE, locate="0")
    with blinking(GONE, sys=tmp_path / "sys"):
        assert locate.read_text() == "1"
    assert locate.read_text() == "0"


def test_a_light_that_another_program_has_lit_stays(tmp_path: Path) -> None:
    locate = make_slot(tmp_path / "sys", GONE, locate="1")
    with blinking(GONE, sys=tmp_path / "sys"):
        assert locate.read_text() == "1"
    assert locate.read_text() == "1"


def test_nothing_reads_on_afterwards(tmp_path: Path) -> None:
    with blinking(GONE, sys=tmp_path):
        pass
    assert not [each for each in threading.enumerate() if each.name == "blinking"]
