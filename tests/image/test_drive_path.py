# SPDX-License-Identifier: Apache-2.0
"""`path = "drive"`: the firmware starts the loader on the drive; one that does not is named."""

import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from tests.lab.campaign import Result, Trial, run_campaign
from tests.lab.drives import ModelledDrive
from tests.lab.requestlog import parse_requests

_KERNEL_BYTES = 20 << 20
"""Kernel and initrds are 26 MB; the loader's own files and the FAT are a small part of it."""
_PLAN = """\
version = 1
[campaign]
name = "Own path"
autostart = true
on_finish = "poweroff"
[[drive]]
serial = "LAB-1"
erase = "LAB-1"
[boot]
path = "drive"
cycles = 1
boot_set = "4M"
charts = "none"
wake_margin = 60
"""


@pytest.mark.long
@pytest.mark.parametrize("firmware", ["uefi", "secureboot"])
def test_a_drive_boots_by_its_own_loader(out: Path, firmware: str) -> None:
    drive = ModelledDrive(serial="LAB-1", name="LAB-1")
    trial = Trial(out=out, plan=_PLAN, drives=[drive], firmware=firmware, from_start=True)
    result = run_campaign(trial)

    assert result.ok, f"{result.outcome}: {result.reason}"
    (boot,) = _boots(result)
    print({name: boot[name] for name in ("path", "boot_s", "firmware_s", "loader_s")})
    assert (boot["path"], boot["valid"]) == ("drive", 1)
    assert boot["boot_s"]  # the lab reports no times of firmware and loader: decision 026
    assert max(_read_of_esp(result).values()) > _KERNEL_BYTES
    _check_variables(out)


@pytest.mark.long
def test_firmware_that_cannot_start_from_the_drive_is_named(out: Path) -> None:
    # The firmware of the lab has no driver for this controller, as real boards have none for many:
    # it deletes BootNext, finds nothing to start there, and starts the stick.
    drive = ModelledDrive(serial="LAB-1", name="LAB-1", bus="raid")
    result = run_campaign(Trial(out=out, plan=_PLAN, drives=[drive], from_start=True))

    assert result.outcome == "done", f"{result.outcome}: {result.reason}"
    done = result.lines_of("campaign-done")[-1].fields
    assert (done["samples"], done["failed"]) == ("0", "1")
    (boot,) = _boots(result)
    assert (boot["valid"], boot["boot_s"]) == (0, None)
    assert "did not follow BootNext" in str(boot["cold_reason"])
    assert max(_read_of_esp(result).values()) < _KERNEL_BYTES
    _check_variables(out)


def _boots(result: Result) -> list[dict[str, object]]:
    assert result.database is not None
    with closing(sqlite3.connect(result.database)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute("SELECT * FROM boot_times")]


def _read_of_esp(result: Result) -> dict[int, int]:
    """From outside: bytes read from the drive's ESP in each power-on after its installation."""
    drives = result.out / "drives"
    command = ["sfdisk", "--json", str(drives / "LAB-1.raw")]
    shown = subprocess.run(command, check=True, capture_output=True).stdout
    esp = json.loads(shown)["partitiontable"]["partitions"][2]
    assert esp["name"] == "kaltstart-ref-esp"
    start, end = esp["start"] * 512, (esp["start"] + esp["size"]) * 512
    read: dict[int, int] = {}
    for each in parse_requests((drives / "LAB-1.log").read_text()):
        if each.connection == 1:
            continue
        assert each.kind == "Read", "a boot writes nothing"
        if start <= each.offset < end:
            read[each.connection] = read.get(each.connection, 0) + each.length
    print("bytes read from the ESP by power-on:", read)
    return read or {0: 0}


def _check_variables(out: Path) -> None:
    """The appliance was the last to run: nothing of Kaltstart's is left to be started."""
    variables = (out / "firmware-variables.fd").read_bytes()
    name = "Kaltstart: drive under test\0".encode("utf-16-le")
    alive = b"\x3f"
    places = [at for at in range(len(variables)) if variables.startswith(name, at)]
    assert places, "it was made"
    headers = [variables.rfind(b"\xaa\x55", 0, at) for at in places]
    # VARIABLE_HEADER of EDK2: StartId 0x55AA, then the state; 0x3F is a variable that is there.
    assert all(variables[header + 2 : header + 3] != alive for header in headers)
