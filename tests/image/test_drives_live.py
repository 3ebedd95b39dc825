# SPDX-License-Identifier: Apache-2.0
"""25 drives, two of which do not answer: the list is there at once, and follows hot-plug."""

from pathlib import Path

import pytest

from tests.lab.campaign import IMAGE
from tests.lab.drives import DriveBay, ModelledDrive
from tests.lab.faults import parse_faults
from tests.lab.machine import PATIENCE_S, Machine, MachineSetup
from tests.lab.plug import plug, unplug
from tests.lab.stick import make_stick

_STALLED = "LAB-STALLED"
_DEAD = "LAB-DEAD"
_LATE = "LAB-LATE"
_SCRIPT = (Path(__file__).parent / "drives_live.sh").read_text()


def _drives() -> list[ModelledDrive]:
    size_bytes = 256 << 20
    buses = ["sata"] * 12 + ["nvme"] * 5 + ["scsi"] * 4 + ["usb"] * 2
    drives = [
        ModelledDrive(serial=f"LAB-{number:02}", bus=bus, size_bytes=size_bytes)
        for number, bus in enumerate(buses, 1)
    ]
    # Never of itself within this test: told to, once the image has started.
    stalled = ModelledDrive(
        serial=_STALLED, bus="scsi", size_bytes=size_bytes, faults=parse_faults(["stall@9999s"])
    )
    return [*drives, stalled]


@pytest.mark.long
def test_the_list_is_there_at_once_and_follows_what_is_plugged(out: Path) -> None:
    late = ModelledDrive(serial=_LATE, bus="usb", size_bytes=256 << 20)
    setup = MachineSetup(
        stick=make_stick(IMAGE, out / "stick.raw"),
        serial_log=out / "serial.log",
        agent=_SCRIPT,
        interface=True,
    )
    # From its first request on.
    dead = ModelledDrive(
        serial=_DEAD, bus="scsi", size_bytes=256 << 20, faults=parse_faults(["stall@boot1"])
    )
    with DriveBay([*_drives(), late, dead], folder=out / "drives") as bay:
        *here, (absent, its_socket), (silent, silent_socket) = bay.attached(power_on=1)
        with Machine(setup, drives=here) as machine:
            machine.wait_for(r"lab-agent: plug-in", timeout_s=PATIENCE_S)
            plug(machine, absent, its_socket)
            machine.wait_for(r"lab-agent: plug-out", timeout_s=PATIENCE_S)
            unplug(machine, absent, its_socket)
            machine.wait_for(r"lab-agent: plug-dead", timeout_s=PATIENCE_S)
            plug(machine, silent, silent_socket)
            machine.wait_for(r"lab-agent: stall", timeout_s=PATIENCE_S)
            bay.stop_answering(_STALLED)
            said = machine.listen(timeout_s=PATIENCE_S)
        (out / "said.txt").write_text(f"{said}\n")
        written = sum(one["write_bytes"] for drive in bay.drives for one in bay.stats(drive))

    assert said["appeared"] == "True", said
    assert said["disappeared"] == "True", said
    # All are listed before anybody has been waited for.
    assert said["first"].split()[0] == "25", said
    assert int(said["first"].split()[1]) > 0, said
    assert said["asked"] == "25", said
    assert set(said["silent"].split()) == {_STALLED, _DEAD}, said
    assert said["answered"] == "23", said
    assert said["details"] == "23", said
    assert said["command"] == "0 25", "the command waited for the silent drives"
    assert written == 0
