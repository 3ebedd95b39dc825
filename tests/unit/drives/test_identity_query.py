# SPDX-License-Identifier: Apache-2.0
"""Who drives say they are: captured answers, and what is made of them."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from appliance.drives import identity_query
from appliance.drives.identity_query import (
    AskedIdentity,
    ask_identity,
    ask_scsi_identity,
    check_asked,
    check_shown,
    parse_identity,
)
from appliance.drives.model import Drive
from appliance.drives.serial_number import BRIDGE, PLACEHOLDER
from appliance.errors import RefusedError, StepFailedError
from appliance.run import Finished
from tests.unit.drives.machines import NAMES, load_drives

FIXTURES = Path(__file__).parents[2] / "fixtures"
SIZE = 67_108_864
SATA = AskedIdentity("WD-WX41A1234567", "0x50014ee2b1234567", "WDC WD10EZEX-08WN4A0", SIZE)
SCSI = AskedIdentity("HOLD-A", "0x5000c50012345678", "SEAGATE ST4000NM0035", SIZE)


def captured(name: str) -> str:
    return (FIXTURES / f"smart/{name}.json").read_text()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ata-qemu", SATA),
        ("scsi-qemu", SCSI),
        ("nvme-qemu", AskedIdentity("NVME/ONE 1", "", "QEMU NVMe Ctrl", SIZE)),
        ("virtio", None),
        ("usb-unknown-bridge", None),
    ],
)
def test_answers_of_captured_drives(name: str, expected: AskedIdentity | None) -> None:
    assert parse_identity(captured(name)) == expected


@pytest.mark.parametrize("text", ["", "{}", '{"smartctl": {"exit_status": 0}, "serial_number": 5}'])
def test_rubbish_is_no_answer(text: str) -> None:
    assert parse_identity(text) is None


def _answered() -> list[tuple[Drive, dict[str, Any]]]:
    found = []
    for name in NAMES:
        machine = json.loads((FIXTURES / f"machines/{name}.json").read_text())
        said: dict[str, Any] = machine.get("smartctl", {})
        found += [(each, said[each.path]) for each in load_drives(name) if said.get(each.path)]
    return found


def test_every_captured_drive_is_who_the_kernel_takes_it_for() -> None:
    """Serial numbers made to break quoting among them."""
    compared = 0
    for drive, said in _answered():
        asked = parse_identity(json.dumps(said))
        check_asked(drive, None, asked)
        compared += bool(asked and asked.serial)
    assert compared > 30


def test_another_drive_than_the_kernel_noted_is_refused(zoo: dict[str, Drive]) -> None:
    other = replace(SATA, serial="WD-WX41A7654321")
    with pytest.raises(RefusedError, match="answers as another drive"):
        check_asked(zoo["sdn"], None, other)
    check_asked(zoo["sdn"], None, SATA)
    check_asked(zoo["sdn"], None, None)
    # The number the kernel has is the dock's; the disk's own is another.
    check_asked(replace(zoo["sdn"], serial_doubt="the dock's"), None, other)


def test_every_captured_scsi_drive_is_what_the_kernel_shows() -> None:
    """It asks INQUIRY and READ CAPACITY, which bridges answer as well."""
    compared = 0
    for drive, said in _answered():
        if said.get("device", {}).get("protocol") == "SCSI":
            asked = parse_identity(json.dumps(said))
            check_shown(replace(drive, serial_doubt=BRIDGE), asked)
            assert asked is None or not asked.size_bytes or asked.size_bytes == drive.size_bytes
            compared += bool(asked and asked.size_bytes and asked.model)
    assert compared > 20


@pytest.mark.parametrize(
    ("model", "bytes_more", "is_listed"),
    [
        ("QEMU HARDDISK", 0, True),
        ("HARDDISK", 512, True),
        ("QEMU HARDDISK", 1024, False),
        ("QEMU HARDDISK", -512, False),
        ("JMicron Tech", 0, False),
        ("", 0, True),
        ("Evil\x1b[1m", 0, True),  # smartctl has its own way with that
    ],
)
def test_what_is_in_the_dock_now_is_compared_with_what_is_listed(
    zoo: dict[str, Drive], model: str, bytes_more: int, *, is_listed: bool
) -> None:
    drive = replace(zoo["sdt"], model="QEMU HARDDISK", bare_model="HARDDISK", serial_doubt=BRIDGE)
    now = AskedIdentity("", "", model, drive.size_bytes + bytes_more)
    check_shown(drive, None)
    check_shown(drive, replace(now, size_bytes=0, model=""))
    if is_listed:
        check_shown(drive, now)
        return
    with pytest.raises(RefusedError, match="no longer the disk that the list shows"):
        check_shown(drive, now)


def test_the_model_of_the_disk_itself_is_not_compared_with_its_bridges(
    zoo: dict[str, Drive],
) -> None:
    """Its number came through the bridge, and is a placeholder."""
    drive = replace(zoo["sdt"], serial_doubt=PLACEHOLDER, model="WDC WD10EZEX-08WN4A0")
    check_shown(drive, AskedIdentity("", "", "ASMT 2115", drive.size_bytes))
    with pytest.raises(RefusedError, match="no longer the disk that the list shows"):
        check_shown(drive, AskedIdentity("", "", "ASMT 2115", 2 * drive.size_bytes))


def test_the_kernels_own_questions_are_asked_again(
    zoo: dict[str, Drive], monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(command: Sequence[str], **_: object) -> Finished:
        assert command == ["smartctl", "--json=c", "--info", "--device=scsi", zoo["sdt"].path]
        return Finished(tuple(command), 0, captured("scsi-qemu"), "")

    monkeypatch.setattr(identity_query, "run", answer)
    assert ask_scsi_identity(zoo["sdt"]) == SCSI


def test_a_bridge_that_smartctl_does_not_know_is_asked_in_other_ways(
    zoo: dict[str, Drive], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def answer(command: Sequence[str], **_: object) -> Finished:
        asked.append(" ".join(command[3:-1]))
        name = "scsi-qemu" if "--device=scsi" in command else "usb-unknown-bridge"
        return Finished(tuple(command), 0, captured(name), "")

    monkeypatch.setattr(identity_query, "run", answer)
    assert ask_identity(zoo["sdt"]) == SCSI
    assert asked == ["", "--device=sat", "--device=scsi"]
    asked.clear()
    assert ask_identity(zoo["vda"]) is None
    assert asked == [""]


def test_a_drive_that_does_not_answer_in_time_answers_nothing(
    zoo: dict[str, Drive], monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(command: Sequence[str], **options: object) -> Finished:
        assert options["timeout_s"] == identity_query.TIMEOUT_S
        raise StepFailedError("no answer within 20 s: smartctl")

    monkeypatch.setattr(identity_query, "run", hang)
    assert ask_identity(zoo["sdt"]) is None
