# SPDX-License-Identifier: Apache-2.0
"""One image, three firmwares; the other buses; warm boots, charts and the rehearsal."""

import re
from pathlib import Path

import pytest

from appliance import VERSION
from tests.lab.campaign import IMAGE, Result, Trial, run_campaign
from tests.lab.drives import ModelledDrive
from tests.lab.machine import PATIENCE_S, Machine, MachineSetup
from tests.lab.stick import make_stick
from tests.lab.timing import SeekCurve

_HOSTILE = 'a/b "c" d\'f7'
_ONE_SHOT = """\
until grep -q '"phase": "idle"' /run/kaltstart/status.json; do sleep 1; done 2> /dev/null
cat > one_shot.py << 'PYTHON'
from appliance.campaign.power import arm_entry
from appliance.campaign.this_boot import read_loader_variable, read_this_boot

arm_entry(read_this_boot(), "measure-01")
print(read_loader_variable("LoaderEntrySelected"), read_loader_variable("LoaderEntryOneShot"))
PYTHON
say "entries $(python3 one_shot.py 2>&1 | tail -n 1)"
say end
"""


def test_secure_boot_starts_the_appliance_and_takes_a_one_shot_entry(out: Path) -> None:
    setup = MachineSetup(
        stick=make_stick(IMAGE, out / "stick.raw"),
        serial_log=out / "serial.log",
        firmware="secureboot",
        agent=_ONE_SHOT,
    )
    with Machine(setup) as machine:
        ready = machine.wait_event("ready", timeout_s=PATIENCE_S)
        said = machine.listen(timeout_s=PATIENCE_S)
    assert ready.fields["firmware"] == "secureboot"
    assert "Failed to start" not in machine.text, "people read it on both consoles"
    assert f"Kaltstart {VERSION}" in machine.text, "something is on the screen before the interface"
    assert "Looking for the stick" in machine.text
    selected, one_shot = said["entries"].split(" ", 1)
    assert selected.startswith("kaltstart-"), said
    assert one_shot == "measure-01.conf"


@pytest.mark.long
def test_bios_runs_a_warm_campaign_on_nvme_and_scsi(out: Path) -> None:
    # The second drive's serial is one to break quoting with; the plan holds it escaped.
    plan = _plan(
        ["LAB-NVME-1", _HOSTILE.replace('"', '\\"')], 'cycles = 1\npower = "warm"\ncharts = "none"'
    )
    # After the boots the drives are used otherwise: the step overwrites the reference OS.
    plan += '[[workload]]\nkind = "lottery"\nfile_size = "1M"\npasses = ["direct"]\n'
    drives = [
        ModelledDrive(serial="LAB-NVME-1", bus="nvme"),
        ModelledDrive(serial=_HOSTILE, bus="scsi"),
    ]
    result = run_campaign(Trial(out=out, plan=plan, drives=drives, firmware="bios", await_off=True))

    _assert_done(result, samples=2)
    assert {line.fields["drive"] for line in result.lines_of("cycle-done")} == {
        "LAB-NVME-1",
        _HOSTILE,
    }
    assert {(row.power, row.cold_proof) for row in result.boot_times()} == {("warm", "unproven")}
    assert result.lines_of("ready")[0].fields["firmware"] == "bios"
    assert result.power_ons == 1
    steps = result.lines_of("step-done")
    assert {line.fields["drive"] for line in steps} == {"LAB-NVME-1", _HOSTILE}


@pytest.mark.long
def test_secure_boot_runs_a_cold_campaign_with_chart_and_rehearsal(out: Path) -> None:
    boot = 'cycles = 1\npower = "cold"\ncharts = "first-last"'
    plan = _plan(["LAB-SCSI-1"], boot, boot_set="24M")
    # A disk's head makes the boot long on a quick host too: half a minute, without the host's part.
    disk = ModelledDrive(serial="LAB-SCSI-1", model="hdd", bus="scsi", curve=SeekCurve().quicker(2))
    result = run_campaign(Trial(out=out, plan=plan, drives=[disk], firmware="secureboot"))

    _assert_done(result, samples=1)  # charted boots are not counted as samples
    assert result.lines_of("ready")[0].fields["firmware"] == "secureboot"
    assert sorted(row.charted for row in result.boot_times()) == [0, 1]
    assert result.report is not None
    of_units, of_processes = sorted(
        (result.report / "bootcharts").glob("*.svg"), key=lambda path: "units" not in path.name
    )
    assert "kaltstart-measure.service" in of_units.read_text()
    chart = of_processes.read_text()
    assert chart.rstrip().endswith("</svg>")
    # It goes on until the sample is taken: systemd-bootchart's own default ends after 20 s. It
    # begins with the second systemd, behind kernel and initrd.
    (charted_s,) = (row.boot_s for row in result.boot_times() if row.charted)
    drawn_s = max(map(float, re.findall(r'class="sec"[^>]*>([0-9.]+)s<', chart)))
    assert "10.000 samples/sec" in chart
    assert charted_s
    assert max(25, 0.5 * charted_s) < drawn_s < 1.5 * charted_s
    # Before the first boot, the rehearsal restarts the appliance and switches it off once.
    assert len(result.lines_of("ready")) == 4
    assert [line.fields["result"] for line in result.lines_of("wake-trial")] == ["wakes"]


@pytest.mark.long
def test_untimed_boots_come_before_cold_and_warm_ones_in_turn(out: Path) -> None:
    boot = 'cycles = 2\ntrain = 1\npower = ["cold", "warm"]\nwake_margin = 60\ncharts = "none"'
    plan = _plan(["LAB-NVME-1"], boot)
    drives = [ModelledDrive(serial="LAB-NVME-1", bus="nvme")]
    result = run_campaign(Trial(out=out, plan=plan, drives=drives))

    assert result.ok, f"{result.outcome}: {result.reason}"
    assert result.lines_of("campaign-done")[-1].fields["samples"] == "2"
    assert [
        (row.cycle, row.power, row.trained, row.valid, row.boot_s is None)
        for row in result.boot_times()
    ] == [(1, "cold", 1, 1, True), (2, "cold", 0, 1, False), (3, "warm", 0, 1, False)]
    assert [line.fields.get("trained") for line in result.lines_of("cycle-done")] == [
        "1",
        None,
        None,
    ]
    # The warm boot is a restart: the machine goes off for the two cold ones only.
    assert result.power_ons == 3
    assert result.report is not None
    page = (result.report / "report.html").read_text()
    assert "2 of 2 boots measured, 1 of 1 before them made and not timed" in page
    assert "as at its first boot" not in page


def _plan(serials: list[str], boot: str, *, boot_set: str = "4M") -> str:
    head = 'version = 1\n[campaign]\nname = "firmware"\nautostart = true\non_finish = "poweroff"\n'
    drives = "".join(f'[[drive]]\nserial = "{s}"\nerase = "{s}"\n' for s in serials)
    return f'{head}{drives}[boot]\nboot_set = "{boot_set}"\n{boot}\n'


def _assert_done(result: Result, *, samples: int) -> None:
    assert result.ok, f"{result.outcome}: {result.reason}"
    assert result.lines_of("campaign-done")[-1].fields["samples"] == str(samples)
    assert all(row.valid and row.boot_s for row in result.boot_times())
