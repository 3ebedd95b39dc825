# SPDX-License-Identifier: Apache-2.0
"""Requests to upgrade the stick: what is refused, what is said, and how it ends."""

import hashlib
import lzma
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.campaign.status import Status
from appliance.campaign.steps.attempt import StoppedByPersonError
from appliance.drive_thread import AbandonedError
from appliance.service import upgrade_stick as module
from appliance.service.drive_watch import DriveList
from appliance.service.engine import Appliance
from appliance.stick import partitions
from appliance.stick.partition_table import read_table
from appliance.stick.upgrade import Placement, StickDevice, switch
from appliance.store.connect import open_database, open_read_only
from appliance.store.read.overview import select_events
from appliance.store.tables.requests import Request, insert_request, select_request
from tests.report.database import Boot, Disk, add_campaign
from tests.unit.campaign.world import STICK, OffError, World
from tests.unit.stick.small_stick import DATA_GUID, make_small

_NAME = "kaltstart-9.0.0-amd64.img.xz"
_OLD = make_small("old", mib=32, root_mib=3, data_at_mib=22)
_NEW = make_small("newer", mib=12, root_mib=4)


@pytest.fixture
def fat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """KALTSTART with an image."""
    folder = tmp_path / "fat"
    folder.mkdir()
    monkeypatch.setattr(module, "FAT", folder)
    (folder / _NAME).write_bytes(lzma.compress(_NEW, preset=0))
    return folder


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stick, and its partitions as the kernel has them."""
    path = tmp_path / "sdc"
    path.write_bytes(_OLD)
    block = tmp_path / "block"
    with path.open("rb") as file:
        for at, part in read_table(StickDevice(file)).partitions.items():
            folder = block / "sdc" / f"sdc{at + 1}"
            folder.mkdir(parents=True)
            (folder / "partition").write_text(f"{at + 1}\n")
            (folder / "start").write_text(f"{part.first}\n")
            (folder / "size").write_text(f"{part.last + 1 - part.first}\n")
    monkeypatch.setattr(module, "_BLOCK", block)
    monkeypatch.setattr(partitions, "_UPGRADED", tmp_path / "upgraded")
    return path


@pytest.fixture
def appliance(world: World, device: Path) -> Iterator[Appliance]:
    """An idle engine on that stick."""
    connection = open_database(world.path)
    add_campaign(connection)
    drive = replace(STICK.drive, path=str(device))
    stick = replace(STICK, drive=drive, data_uuid=str(DATA_GUID))
    yield Appliance(Status(), stick, connection, DriveList(), world.host())
    connection.close()


def _ask(appliance: Appliance, name: str = _NAME) -> Request:
    asked = insert_request(
        appliance.connection,
        "upgrade",
        {"file_name": name},
        at="2026-11-21T03:20:00.123Z",
        boot_id="b",
    )
    appliance._answer_requests()
    answered = select_request(appliance.connection, asked)
    assert answered is not None
    return answered


def _refuse(appliance: Appliance, device: Path, said: str, name: str = _NAME) -> None:
    """It is refused before anything is read or written."""
    answered = _ask(appliance, name)
    assert (answered.state, answered.exit_code) == ("refused", 3)
    assert said in answered.answer
    assert device.read_bytes() == _OLD


def _fail(appliance: Appliance, device: Path, said: str) -> None:
    """It begins, and ends in words, with all that starts the stick as before."""
    assert _ask(appliance).state == "accepted"
    event = select_events(appliance.connection, limit=1)[0]
    assert said in event.detail, event
    assert said in appliance.status.message, "a file's name stays as it is"
    after = device.read_bytes()
    assert (after[: 9 << 20], after[22 << 20 :]) == (_OLD[: 9 << 20], _OLD[22 << 20 :])


@pytest.mark.usefixtures("fat")
def test_the_machine_restarts_once_the_new_system_is_named(
    appliance: Appliance, world: World, device: Path
) -> None:
    answers: list[str] = []
    with pytest.raises(OffError):
        appliance.upgrade(_NAME, answers.append)
    assert answers == ["the new version is written beside this one; then the machine restarts"]
    assert world.log[-1] == "reboot"
    with device.open("rb") as file:
        root = read_table(StickDevice(file)).partitions[3]
    assert device.read_bytes()[root.offset_bytes :].startswith(b"root newer")
    connection = open_read_only(world.path)
    events = [event.event for event in select_events(connection)]
    assert "upgraded" in events
    connection.close()


@pytest.mark.usefixtures("fat")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("kaltstart-0.0.9-amd64.img.xz", "is older than this version"),
        ("kaltstart-9.0.1-amd64.img.xz", "there is no kaltstart-9.0.1-amd64.img.xz on KALTSTART"),
        ("kaltstart.raw", "is not the image of a version"),
        ("../kaltstart-9.0.0-amd64.img.xz", "is not the image of a version"),
        ("", "is not the image of a version"),
    ],
)
def test_a_file_that_is_not_it_is_refused(
    appliance: Appliance, device: Path, name: str, said: str
) -> None:
    _refuse(appliance, device, said, name)


@pytest.mark.usefixtures("fat")
def test_a_stick_that_cannot_be_written_is_refused(appliance: Appliance, device: Path) -> None:
    appliance.stick = replace(appliance.stick, drive=replace(appliance.stick.drive, read_only=True))
    _refuse(appliance, device, "the stick is write-protected")


@pytest.mark.usefixtures("fat")
def test_a_campaign_with_boots_left_is_finished_first(appliance: Appliance, device: Path) -> None:
    number = add_campaign(appliance.connection, disks=[Disk("A", "A", boots=[Boot(1, 9.0)])])
    appliance.connection.execute("UPDATE campaign SET state = 'paused'")
    appliance.connection.execute("UPDATE cycle SET state = 'planned'")
    _refuse(appliance, device, f"campaign {number} has boots left")


def test_an_image_that_does_not_agree_with_its_sums_is_not_read(
    appliance: Appliance, device: Path, fat: Path
) -> None:
    (fat / "SHA256SUMS").write_text(f"{'0' * 64}  {_NAME}\n")
    _fail(appliance, device, "does not agree with SHA256SUMS; nothing was changed")
    assert device.read_bytes() == _OLD
    (fat / "SHA256SUMS").write_text("")
    _fail(appliance, device, "does not agree with SHA256SUMS; nothing was changed")
    assert device.read_bytes() == _OLD


def test_an_image_that_agrees_is_taken(appliance: Appliance, world: World, fat: Path) -> None:
    found = hashlib.sha256((fat / _NAME).read_bytes()).hexdigest()
    (fat / "SHA256SUMS").write_text(f"{'1' * 64}  other\n{found} *{_NAME}\n")
    with pytest.raises(OffError):
        appliance.upgrade(_NAME, lambda _answer: None)
    assert world.log[-1] == "reboot"


@pytest.mark.parametrize("left", [0.0, 0.3, 0.9, 0.9999])
def test_a_damaged_image_changes_nothing(
    appliance: Appliance, device: Path, fat: Path, left: float
) -> None:
    packed = (fat / _NAME).read_bytes()
    (fat / _NAME).write_bytes(packed[: int(len(packed) * left)])
    _fail(appliance, device, "nothing was changed")


def test_an_image_that_was_cut_off_before_it_was_packed_is_to_be_copied_again(
    appliance: Appliance, device: Path, fat: Path
) -> None:
    (fat / _NAME).write_bytes(lzma.compress(_NEW[: 8 << 20], preset=0))
    _fail(appliance, device, f"{_NAME} is damaged; nothing was changed (copy it")


def test_what_is_no_image_changes_nothing(appliance: Appliance, device: Path, fat: Path) -> None:
    (fat / _NAME).write_bytes(lzma.compress(b"no image" * 100_000))
    _fail(appliance, device, "not one of Kaltstart")
    (fat / _NAME).write_bytes(b"not even packed" * 100_000)
    _fail(appliance, device, "is damaged; nothing was changed")


@pytest.mark.usefixtures("fat")
def test_another_stick_in_its_place_is_not_written(appliance: Appliance, device: Path) -> None:
    appliance.stick = replace(appliance.stick, data_uuid="0" * 8 + "-0000-4000-8000-" + "0" * 12)
    _fail(appliance, device, "not the one that this machine was started from")
    assert device.read_bytes() == _OLD


@pytest.mark.usefixtures("fat")
def test_a_key_while_it_is_written_changes_nothing(
    appliance: Appliance, device: Path, world: World
) -> None:
    insert_request(
        appliance.connection, "upgrade", {"file_name": _NAME}, at="2026-11-21T03:20:00.123Z",
        boot_id="b",
    )  # fmt: skip
    insert_request(appliance.connection, "stop", {}, at="2026-11-21T03:20:01.123Z", boot_id="b")
    appliance._answer_requests()
    assert appliance.status.message == "Stopped; the stick starts as before"
    assert device.read_bytes()[: 9 << 20] == _OLD[: 9 << 20]
    assert "reboot" not in world.log


class _LeftBehind:
    """The thread of a stick that hangs: a stop does not wait for it."""

    def tell(self, _label: str, _done: int, _total: int) -> None:
        """Nothing is asked."""

    def do(self, work: Callable[[], None], _what: str) -> None:
        with suppress(AbandonedError):
            work()
        raise StoppedByPersonError


@pytest.mark.usefixtures("fat", "device")
def test_a_stop_while_the_stick_hangs_in_the_switch_promises_nothing(
    appliance: Appliance, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(_stick: StickDevice, _placement: Placement) -> None:
        raise AbandonedError

    monkeypatch.setattr(module, "switch", hang)
    monkeypatch.setattr(module, "side_work", lambda *_, **__: nullcontext(_LeftBehind()))
    assert _ask(appliance).state == "accepted"
    assert "it may not start any more" in appliance.status.message
    assert "as before" not in appliance.status.message
    assert "reboot" not in world.log


@pytest.mark.usefixtures("fat")
def test_a_key_after_the_switch_comes_too_late(
    appliance: Appliance, world: World, device: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What runs is no longer what the table names: the machine restarts all the same."""

    def switch_and_stop(stick: StickDevice, placement: Placement) -> None:
        switch(stick, placement)
        insert_request(
            open_database(world.path), "stop", {}, at="2026-11-21T03:20:01.123Z", boot_id="b"
        )

    monkeypatch.setattr(module, "switch", switch_and_stop)
    with pytest.raises(OffError):
        appliance.upgrade(_NAME, lambda _answer: None)
    assert world.log[-1] == "reboot"
    with device.open("rb") as file:
        root = read_table(StickDevice(file)).partitions[3]
    assert device.read_bytes()[root.offset_bytes :].startswith(b"root newer")


def test_an_image_in_capital_letters_is_the_same(
    appliance: Appliance, world: World, fat: Path
) -> None:
    """As a computer may write it on a FAT, which takes both for one name."""
    (fat / _NAME).rename(fat / _NAME.upper())
    with pytest.raises(OffError):
        appliance.upgrade(_NAME.upper(), lambda _answer: None)
    assert world.log[-1] == "reboot"


@pytest.mark.usefixtures("fat")
def test_no_campaign_begins_where_the_next_start_is_another_version(
    appliance: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a switch of which nobody knows how it ended, or a restart that fails."""

    def fail(_stick: StickDevice, _placement: Placement) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(module, "switch", fail)
    assert _ask(appliance).state == "accepted"
    assert "it may not start any more" in appliance.status.message
    for kind, payload in (("start", {"plan_toml": "version = 1"}), ("resume", {"campaign_id": 1})):
        asked = insert_request(
            appliance.connection, kind, payload, at="2026-11-21T03:20:02.123Z", boot_id="b"
        )
        appliance._answer_requests()
        answered = select_request(appliance.connection, asked)
        assert answered is not None
        assert answered.exit_code == 3
        assert "was upgraded since this machine was started" in answered.answer


@pytest.mark.usefixtures("fat", "device")
def test_what_is_asked_for_meanwhile_is_refused_for_the_upgrade(
    appliance: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[str] = []

    def ask_beside(*_: object, **__: object) -> None:
        asked = insert_request(
            appliance.connection, "start", {"plan_toml": ""}, at="2026-11-21T03:20:02.123Z",
            boot_id="b",
        )  # fmt: skip
        appliance.screen._answer_requests()
        answered = select_request(appliance.connection, asked)
        answers.append(answered.answer if answered else "")
        raise StoppedByPersonError

    monkeypatch.setattr(module, "upgrade_stick", ask_beside)
    appliance.upgrade(_NAME, lambda _answer: None)
    assert [answer.partition(":")[0] for answer in answers] == ["the stick is being upgraded"]
    assert appliance.status.work == ""
