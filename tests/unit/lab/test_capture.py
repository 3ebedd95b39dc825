# SPDX-License-Identifier: Apache-2.0
"""The shapes of machines, and how a captured one is written."""

import json

import pytest

from tests.lab.capture import FOLDER, dump_machine
from tests.lab.drives import parse_drives
from tests.lab.shapes import SHAPES

_CAPTURED = [name for name in SHAPES if (FOLDER / f"{name}.json").exists()]


@pytest.mark.parametrize("name", _CAPTURED)
def test_a_captured_shape_is_what_it_says_and_is_written_line_by_line(name: str) -> None:
    text = (FOLDER / f"{name}.json").read_text()
    captured = json.loads(text)
    assert dump_machine(captured) == text
    assert captured["about"].startswith(SHAPES[name].about)
    # Whole disks only, and the stick is one of them.
    assert len(captured["smartctl"]) > len(SHAPES[name].drives)


@pytest.mark.parametrize("name", SHAPES)
def test_each_shape_could_stand_in_a_description(name: str) -> None:
    for drive in SHAPES[name].drives:
        text = (
            f"[[drive]]\nserial = {json.dumps(drive.serial)}\nbus = '{drive.bus}'\n"
            f"sectors = '{drive.sectors}'\nremovable = {str(drive.removable).lower()}\n"
            f"read_only = {str(drive.read_only).lower()}\nnamespaces = {drive.namespaces}\n"
            f"faults = {json.dumps(drive.faults.texts)}\nwwn = '{drive.wwn}'\n"
        )
        (parsed,) = parse_drives(text)
        assert (parsed.serial, parsed.sectors, parsed.faults) == (
            drive.serial,
            drive.sectors,
            drive.faults,
        )
