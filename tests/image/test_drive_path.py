"""`path = "drive"`: the firmware starts the loader on the drive; one that cannot is found out."""

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
serial = "LAB-SATA-1"
erase = "LAB-SATA-1"
[[drive]]
serial = "LAB-RAID-1"
erase = "LAB-RAID-1"
[boot]
path = "drive"
cycles = 1
boot_set = "4M"
charts = "none"
wake_margin = 60
"""
# The firmware of the lab has no driver for this controller, as real boards have none for many: it
# deletes BootNext, finds nothing to start there, and starts the stick.
_DRIVES = (
    ModelledDrive(serial="LAB-SATA-1", name="LAB-SATA-1"),
    ModelledDrive(serial="LAB-RAID-1", name="LAB-RAID-1", bus="raid"),
)


@pytest.mark.long
@pytest.mark.parametrize("firmware", ["uefi", "secureboot"])
def test_a_drive_boots_by_its_own_loader(out: Path, firmware: str) -> None:
    result = run_campaign(
        Trial(out=out, plan=_PLAN, drives=_DRIVES, firmware=firmware, from_start=True)
    )

    assert result.outcome == "done", f"{result.outcome}: {result.reason}"
    done = result.lines_of("campaign-done")[-1].fields
    assert (done["samples"], done["failed"]) == ("1", "1")
    assert [line.fields["drive"] for line in result.lines_of("cycle-done")] == ["LAB-SATA-1"]
    by_drive = {row["drive_serial"]: row for row in _boots(result)}
    sata, raid = by_drive["LAB-SATA-1"], by_drive["LAB-RAID-1"]
    assert (sata["path"], sata["valid"]) == ("drive", 1)
    assert sata["boot_s"]
    assert sata["loader_s"]
    assert raid["valid"] == 0
    assert "did not follow BootNext" in str(raid["cold_reason"])
    _check_reads(result, "LAB-SATA-1", is_started=True)
    _check_reads(result, "LAB-RAID-1", is_started=False)
    _check_variables(out)


def _boots(result: Result) -> list[dict[str, object]]:
    assert result.database is not None
    with closing(sqlite3.connect(result.database)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute("SELECT * FROM boot_times")]


def _check_reads(result: Result, name: str, *, is_started: bool) -> None:
    """From outside: who read the kernel from the drive's ESP, and that nobody wrote after it."""
    drives = result.out / "drives"
    table = json.loads(
        subprocess.run(
            ["sfdisk", "--json", drives / f"{name}.raw"], check=True, capture_output=True
        ).stdout
    )["partitiontable"]
    esp = table["partitions"][2]
    start, size = esp["start"] * 512, esp["size"] * 512
    assert esp["name"] == "kaltstart-ref-esp"
    requests = list(parse_requests((drives / f"{name}.log").read_text()))
    installed = max(each.connection for each in requests if each.kind != "Read")
    assert installed == min(each.connection for each in requests if each.kind != "Read")
    read = {
        connection: sum(
            each.length
            for each in requests
            if each.connection == connection
            and each.kind == "Read"
            and start <= each.offset < start + size
        )
        for connection in {each.connection for each in requests if each.connection > installed}
    }
    print(name, "bytes read from its ESP by power-on:", read)
    assert any(amount > _KERNEL_BYTES for amount in read.values()) == is_started


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
