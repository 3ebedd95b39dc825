# SPDX-License-Identifier: Apache-2.0
"""The rows of drives.json, and how the command line shows them."""

import json
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from appliance.drives import probe
from appliance.drives.facts import unlisted
from appliance.drives.facts.query import Answer, DriveQuery, RawAnswers
from appliance.drives.facts.unlisted import UnlistedDrive
from appliance.drives.model import Drive
from appliance.drives.probe import read_drives
from appliance.errors import StepFailedError
from appliance.progress import ignore_progress
from appliance.run import Finished
from appliance.service import drive_watch
from appliance.service.drive_lines import describe_row, describe_unlisted
from appliance.service.drive_watch import DriveList, compose_rows, merge_rows
from tests.unit.drives.single import FOLDER, Single, load_single


@pytest.fixture
def disk(tmp_path: Path) -> Single:
    return load_single("sata-disk", tmp_path)


def test_a_row_before_anything_was_asked(disk: Single) -> None:
    (row,) = compose_rows([disk.drive], {}, {}, stick=disk.drive)
    assert (row["answer"], row["details"], row["health"]) == ("asking", None, None)
    assert not row["offered"], "it is the stick here"


def test_rows_are_json_with_all_that_was_said(disk: Single) -> None:
    (row,) = compose_rows([disk.drive], {disk.drive.path: disk.answer()}, {}, stick=None)
    read = json.loads(json.dumps(row))
    assert read["answer"] == "answered"
    assert read["details"]["rotation_rpm"] == 7200
    assert {each["name"] for each in read["health"]["counters"]} >= {"power_cycles"}


def test_answers_go_with_the_drive_that_gave_them(disk: Single) -> None:
    known = compose_rows([disk.drive], {disk.drive.path: disk.answer()}, {}, stick=None)
    (same,) = merge_rows([disk.drive], known, stick=None)
    assert same["answer"] == "answered"
    (other,) = merge_rows([replace(disk.drive, serial="ANOTHER")], known, stick=None)
    assert (other["answer"], other["details"], other["serial"]) == ("asking", None, "ANOTHER")
    (twin,) = merge_rows([replace(disk.drive, wwn="0x5000c500ffffffff")], known, stick=None)
    assert (twin["answer"], twin["health"]) == ("asking", None)


def test_lines_for_people(disk: Single) -> None:
    (row,) = compose_rows([disk.drive], {disk.drive.path: disk.answer()}, {}, stick=None)
    head, facts, finding = describe_row(row)
    assert disk.drive.serial in head
    assert facts.strip().startswith("512n, 7200 rpm, 1.5 Gb/s, write cache on, no TRIM")
    assert finding.strip().startswith("! connected with 1.5 Gb/s")


def test_drives_with_one_serial_number_are_told_apart_and_only_read(disk: Single) -> None:
    twin = replace(disk.drive, path="/dev/sdz", wwn="0x5000c500ffffffff", twins=("/dev/sda",))
    (row,) = compose_rows([twin], {twin.path: Answer("asking")}, {}, stick=None)
    head, asking, facts = describe_row(row)
    assert head.endswith(" may be used: same identity as /dev/sda: can only be read")
    assert (asking.strip(), facts.strip()) == ("asking", "WWN 0x5000c500ffffffff")


def test_a_silent_drive_says_so_and_nothing_of_it_acts_on_a_terminal(disk: Single) -> None:
    drive = replace(disk.drive, serial="\x1b[31mX", model="\x07")
    answer = Answer("not answering", "no answer within 15 s\x1b[0m")
    (row,) = compose_rows([drive], {drive.path: answer}, {}, stick=None)
    lines = describe_row(row)
    assert "not answering: no answer within 15 s" in lines[1]
    assert not any(character < " " for line in lines for character in line)


@dataclass
class Machine:
    """What the list sees: captured drives that are plugged in and out, and answer when told to."""

    path: Path
    names: list[str] = field(default_factory=list)
    changes: int = 0
    goes: bool = True
    asked: list[str] = field(default_factory=list)
    may_answer: threading.Event = field(default_factory=threading.Event)
    unlisted: tuple[UnlistedDrive, ...] = ()
    behind_raid: tuple[UnlistedDrive, ...] = ()

    def plug(self, *names: str) -> None:
        """Have just these drives."""
        self.names = list(names)
        self.changes += 1

    def list_block_devices(self) -> str:
        """What lsblk would say."""
        if not self.goes:
            raise StepFailedError("lsblk failed")
        nodes = []
        for name in self.names:
            captured = json.loads((FOLDER / f"{name}.json").read_text())
            nodes += captured["lsblk"]["blockdevices"]
        return json.dumps({"blockdevices": nodes})

    def ask(self, drive: Drive, heard: RawAnswers) -> None:
        """Ask a drive."""
        self.asked.append(drive.path)
        assert self.may_answer.wait(60)
        heard.smart = '{"smartctl": {"exit_status": 0}}'

    def let_answer(self) -> None:
        """Wait until the drives that were asked have answered."""
        self.may_answer.set()
        for thread in threading.enumerate():
            if thread.name.startswith("ask "):
                thread.join(60)

    def published(self) -> dict[str, Any]:
        """The file the interface reads."""
        content: dict[str, Any] = json.loads(self.path.read_text())
        return content

    def answers(self) -> list[str]:
        """How far each drive is, in the file."""
        return [row["answer"] for row in self.published()["drives"]]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(tmp_path / "drives.json")
    monkeypatch.setattr(drive_watch, "DRIVES", machine.path)
    monkeypatch.setattr(drive_watch, "list_block_devices", machine.list_block_devices)
    monkeypatch.setattr(probe, "read_serial", lambda name: f"SERIAL-{name}")
    monkeypatch.setattr(drive_watch, "read_number", lambda name: f"{name} {machine.changes}")
    monkeypatch.setattr(drive_watch, "_look", lambda **_: (machine.changes,))
    monkeypatch.setattr(drive_watch, "read_unlisted", lambda: machine.unlisted)
    monkeypatch.setattr(drive_watch, "has_raid_disks", lambda: bool(machine.behind_raid))
    monkeypatch.setattr(drive_watch, "ask_behind_raid", lambda _: machine.behind_raid)
    return machine


def test_what_cannot_be_listed_is_published_once_all_are_found(machine: Machine) -> None:
    place = "PCI 0000:03:00.0 (megaraid_sas)"
    machine.unlisted = (UnlistedDrive(place, "it shows volumes", "set it to JBOD"),)
    behind = UnlistedDrive("/dev/bus/0 megaraid,3", "a disk", "JBOD", serial="BEHIND")
    machine.may_answer.set()
    machine.plug("sata-disk")
    listed = DriveList(DriveQuery(machine.ask))
    listed.step()
    assert machine.published()["unlisted"] == [], "a controller may still get its driver"
    (row,) = machine.published()["drives"]
    machine.behind_raid = (behind, replace(behind, serial=row["serial"]))
    listed.all_found(None)
    listed.step()
    machine.let_answer()
    listed.step()
    found = machine.published()["unlisted"]
    assert [each["place"] for each in found] == [place, "/dev/bus/0 megaraid,3"]
    assert found[1]["serial"] == "BEHIND", "one that is shown as a drive, too, is a row"
    lines = [line for each in found for line in describe_unlisted(each)]
    assert lines[0] == f"not listed: {place}"
    assert "not listed: /dev/bus/0 megaraid,3 BEHIND" in lines


def test_a_second_path_is_no_row(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.may_answer.set()
    machine.plug("sata-disk", "usb")

    def read(text: str) -> tuple[Drive, ...]:
        first, second = read_drives(text)
        return first, replace(second, main_path=first.path)

    monkeypatch.setattr(drive_watch, "read_drives", read)
    listed = DriveList(DriveQuery(machine.ask))
    listed.step()
    assert len(machine.published()["drives"]) == 1
    machine.let_answer()


def test_the_list_is_published_before_anybody_has_answered(machine: Machine) -> None:
    machine.plug("sata-disk", "nvme")
    listed = DriveList(DriveQuery(machine.ask))
    listed.step()
    assert machine.published()["looking"]
    assert machine.answers() == ["asking", "asking"]
    machine.let_answer()
    listed.all_found(None)
    listed.step()
    assert not machine.published()["looking"]
    assert machine.answers() == ["answered", "answered"]


def test_drives_come_and_go(machine: Machine) -> None:
    machine.may_answer.set()
    listed = DriveList(DriveQuery(machine.ask))
    listed.step()
    assert machine.published()["drives"] == []
    machine.plug("usb")
    listed.step()
    assert [row["transport"] for row in machine.published()["drives"]] == ["usb"]
    machine.plug()
    listed.step()
    assert machine.published()["drives"] == []


def test_no_drive_is_asked_within_quiet_and_all_are_asked_again_behind_it(machine: Machine) -> None:
    machine.may_answer.set()
    machine.plug("sata-disk")
    listed = DriveList(DriveQuery(machine.ask))
    listed.step()
    machine.let_answer()
    with listed.quiet(ignore_progress):
        machine.plug("sata-disk", "nvme")
        listed.step()
        assert len(machine.asked) == 1
        assert machine.answers()[1] == "asking", "shown, and not asked"
    listed.step()
    machine.let_answer()
    assert sorted(machine.asked[1:]) == sorted(row["path"] for row in machine.published()["drives"])


def test_a_drive_that_hangs_is_not_waited_for_for_ever(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drive_watch, "DEADLINE_S", 0)
    monkeypatch.setattr(drive_watch, "_LATE_S", 0)
    machine.plug("sata-disk")
    listed = DriveList(DriveQuery(machine.ask))
    listed.step()
    with listed.quiet(ignore_progress) as late:
        assert [drive.path for drive in late] == machine.asked
    machine.let_answer()
    with listed.quiet(ignore_progress) as late:
        assert late == ()


def test_a_controller_is_not_asked_for_its_disks_on_into_a_campaign(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each disk may take seconds, and there may be many."""
    kinds = [f"megaraid,{number}" for number in range(3)]
    scan = json.dumps({"devices": [{"name": "/dev/bus/0", "type": kind} for kind in kinds]})
    asked: list[str] = []
    has_begun = threading.Event()

    def run(command: list[str], **_: object) -> Finished:
        if "--scan" in command:
            return Finished(tuple(command), 0, scan, "")
        asked.append(command[-2].removeprefix("--device="))
        has_begun.set()
        assert machine.may_answer.wait(60)
        return Finished(tuple(command), 0, "", "")

    monkeypatch.setattr(unlisted, "run", run)
    monkeypatch.setattr(drive_watch, "ask_behind_raid", unlisted.ask_behind_raid)
    monkeypatch.setattr(drive_watch, "has_raid_disks", lambda: True)
    monkeypatch.setattr(drive_watch, "DEADLINE_S", 0)
    listed = DriveList(DriveQuery(machine.ask))
    listed.all_found(None)
    listed.step()
    assert has_begun.wait(60)
    with listed.quiet(lambda *_: machine.may_answer.set()):
        listed.step()
        names = {thread.name for thread in threading.enumerate()}
        assert "ask behind RAID" not in names
        assert asked == kinds[:1], "the one that was being asked may answer"
    listed.step()
    machine.let_answer()
    assert asked[1:] == kinds, "behind it all are asked"


def test_what_has_not_changed_is_not_published_again(machine: Machine) -> None:
    machine.may_answer.set()
    machine.plug("sata-disk")
    listed = DriveList(DriveQuery(machine.ask))
    listed.step()
    machine.let_answer()
    listed.step()
    before = machine.path.stat().st_ino
    listed.step()
    assert machine.path.stat().st_ino == before, "each publication is a new file"


def test_a_list_that_fails_is_tried_again(machine: Machine) -> None:
    machine.plug("sata-disk")
    machine.may_answer.set()
    machine.goes = False
    listed = DriveList(DriveQuery(machine.ask))
    listed.step()
    assert not machine.path.exists()
    machine.goes = True
    listed.step()
    assert len(machine.published()["drives"]) == 1
    machine.let_answer()
