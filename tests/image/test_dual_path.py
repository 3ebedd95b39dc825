# SPDX-License-Identifier: Apache-2.0
"""A SAS drive with both ports connected: one row, written to over one path and never the other."""

import json
from pathlib import Path

import pytest

from tests.lab.campaign import IMAGE
from tests.lab.drives import DriveBay, ModelledDrive
from tests.lab.machine import PATIENCE_S, Machine, MachineSetup
from tests.lab.stick import make_stick, put_file

_PLAN = """\
version = 1
[campaign]
name = "dual path"
autostart = true
on_finish = "tui"
[[drive]]
serial = "DUAL-1"
erase = "DUAL-1"
[[workload]]
kind = "verify"
size = "16M"
power_cycle = false
"""
_BOOTED = _PLAN.partition("[[workload]]")[0] + '[boot]\nmode = "install"\ncycles = 1\n'
_AGENT = f"""\
until dmesg | grep -q 'kaltstart: campaign-' && grep -q '"phase": "idle"' /run/kaltstart/status.json
do sleep 1; done
cat > /run/plan.toml <<'PLAN'
{_BOOTED}PLAN
cat > /run/paths.py <<'PYTHON'
import json, subprocess, sys
from pathlib import Path
from appliance.drives.probe import read_designators, read_serial
for block in sorted(Path("/sys/block").glob("sd*")):
    words = (block / "stat").read_text().split()
    print("path", json.dumps([block.name, read_serial(block.name), int(words[6]),
          (block / "ro").read_text().strip(), read_designators(block.name).hex()]))
command = [sys.executable, "-m", "appliance"]
listed = json.loads(subprocess.check_output([*command, "drives", "--json"]))
for each in listed["unlisted"]:
    print("unlisted", json.dumps([each["place"], each["what"], each["model"], each["serial"]]))
for row in listed["drives"]:
    keys = ("path", "serial", "offered", "reason", "other_paths", "twins")
    findings = (row["details"] or {{}}).get("findings", [])
    print("row", json.dumps([*[row[key] for key in keys], findings]))
said = subprocess.run([*command, "check", "/run/plan.toml"], capture_output=True, text=True)
print("boot", said.returncode, " ".join(said.stderr.split())[:500])
PYTHON
python3 /run/paths.py 2>&1 | while read -r line; do say "$line"; done
say over
"""


@pytest.mark.long
def test_a_drive_with_two_paths_is_one_drive(out: Path) -> None:
    dual = ModelledDrive(
        serial="DUAL-1", bus="scsi", size_bytes=128 << 20, wwn="0x5000c500a1b2c3d0", paths=2
    )
    # No name of a port: for all that is known, two drives of one number.
    twins = [
        ModelledDrive(serial="TWIN", bus="scsi", size_bytes=64 << 20, wwn="0x5000c500a1b2c300")
        for _ in range(2)
    ]
    setup = MachineSetup(
        stick=make_stick(IMAGE, out / "stick.raw"),
        serial_log=out / "serial.log",
        processors=2,
        agent=_AGENT,
    )
    put_file(setup.stick, "plan.toml", _PLAN)
    volume = ModelledDrive(serial="RAID-1", bus="raid", size_bytes=64 << 20)
    with DriveBay([dual, *twins, volume], folder=out / "drives") as bay:
        with Machine(setup, drives=bay.attached(power_on=1)) as machine:
            done = machine.wait_event("campaign-done", timeout_s=PATIENCE_S)
            machine.wait_for(r"lab-agent: over", timeout_s=PATIENCE_S)
            said = [
                line.partition("lab-agent: ")[2].split(" ", 1)
                for line in machine.text.splitlines()
                if "lab-agent: " in line
            ]
        written = {drive.name: bay.stats(drive)[0]["write_bytes"] for drive in bay.drives}
    assert done.fields["failed"] == "0"
    paths = [json.loads(words[1]) for words in said if words[0] == "path"]
    dual_paths = [each for each in paths if each[1] == "DUAL-1"]
    rows = [json.loads(words[1]) for words in said if words[0] == "row"]
    listed = [row for row in rows if row[1] == "DUAL-1"]

    assert len(dual_paths) == 2, "QEMU shows the drive twice"
    assert len(listed) == 1
    path, _, offered, reason, other_paths, doubled, _ = listed[0]
    assert offered, reason
    assert "second path" in reason
    assert doubled == []
    sectors = {f"/dev/{name}": count for name, _, count, *_ in dual_paths}
    assert {path, *other_paths} == set(sectors)
    assert [sectors[each] for each in other_paths] == [0], "the second path was written to"
    assert {each[3] for each in dual_paths} == {"1"}, "a path is not read-only"
    first, *others = written.values()
    assert min(first, sectors[path] * 512) > 15 << 20
    assert not any(others)

    assert [row[5] != [] for row in rows if row[1] == "TWIN"] == [True, True]
    # QEMU shows the volumes of this controller where the real one has them.
    (raid,) = [row for row in rows if row[1] == "RAID-1"]
    assert any("a volume of a RAID controller (megaraid_sas)" in each for each in raid[6])
    (unlisted,) = [json.loads(words[1]) for words in said if words[0] == "unlisted"]
    assert "(megaraid_sas)" in unlisted[0]
    assert unlisted[1].endswith("volumes instead of its disks: 1")
    boot = next(words[1] for words in said if words[0] == "boot")
    assert boot.startswith("3 "), boot
    assert "take out the cable" in boot
