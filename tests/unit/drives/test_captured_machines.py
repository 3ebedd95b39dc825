# SPDX-License-Identifier: Apache-2.0
"""Each captured machine through discovery, guard, details, health and verdict."""

import unicodedata

import pytest

from appliance.drives.safety import may_offer, may_write
from tests.unit.drives.describe import describe, judge_health
from tests.unit.drives.machines import FOLDER, NAMES, load_machine


def test_there_are_machines_enough() -> None:
    assert len(NAMES) >= 15


@pytest.mark.parametrize("name", NAMES)
def test_a_machine_is_seen_as_it_was(name: str) -> None:
    # After a wanted change: python3 -m tests.unit.drives.describe
    assert describe(load_machine(name)) == (FOLDER / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_writable_without_its_own_identity_or_beside_two_sticks(
    name: str,
) -> None:
    machine = load_machine(name)
    for drive in machine.drives:
        assert not may_write(drive, stick=None, released_identity=drive.identity)[0]
        assert not may_write(drive, stick=machine.stick, released_identity="")[0]
        if not drive.identity or drive.twins or drive.mountpoints or drive.holders:
            for released in (drive.serial, drive.wwn):
                assert not may_write(drive, stick=machine.stick, released_identity=released)[0]


@pytest.mark.parametrize("name", NAMES)
def test_every_drive_has_a_class_or_a_reason_why_not(name: str) -> None:
    machine = load_machine(name)
    verdicts = judge_health(machine)
    assert len(verdicts) == len(machine.drives)
    for drive in machine.drives:
        judged = verdicts[drive.path]
        classes = [row for row in judged.limits if row.name == "class"]
        if judged.drive_class is None:
            assert drive.transport == "other"
            assert "only the limits of all classes" in judged.reasons
        elif judged.drive_class == "sata-ssd" and drive.transport != "sata":
            assert [row.outcome for row in classes] == ["kept"]
        else:
            assert classes == []


@pytest.mark.parametrize("name", NAMES)
def test_no_reason_carries_what_a_terminal_acts_on(name: str) -> None:
    machine = load_machine(name)
    reasons = [may_offer(drive, stick=machine.stick)[1] for drive in machine.drives]
    reasons += [
        may_write(drive, stick=machine.stick, released_identity="something else")[1]
        for drive in machine.drives
    ]
    text = "".join(reasons) + describe(machine).replace("\n", "")
    assert not [each for each in text if unicodedata.category(each)[0] == "C"]
