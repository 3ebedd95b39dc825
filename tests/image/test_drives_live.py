"""24 drives, one of which does not answer: the list is there at once, and follows hot-plug."""

import time
from pathlib import Path

from tests.lab.agent import credentials, listen
from tests.lab.campaign import IMAGE
from tests.lab.drives import DriveBay, ModelledDrive
from tests.lab.faults import parse_faults
from tests.lab.machine import Machine, MachineSetup
from tests.lab.plug import plug, unplug
from tests.lab.stick import make_stick

_READY_S = 900
_LIST_S = 2.0
_HOTPLUG_S = 1.0
_STALLED = "LAB-STALLED"
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


def test_the_list_is_there_at_once_and_follows_what_is_plugged(out: Path) -> None:
    late = ModelledDrive(serial=_LATE, bus="usb", size_bytes=256 << 20)
    setup = MachineSetup(
        stick=make_stick(IMAGE, out / "stick.raw"),
        serial_log=out / "serial.log",
        credentials=credentials(_SCRIPT),
    )
    with DriveBay([*_drives(), late], folder=out / "drives") as bay:
        attached = bay.attached(power_on=1)
        here = [(drive, socket) for drive, socket in attached if drive.serial != _LATE]
        absent, its_socket = next(each for each in attached if each[0].serial == _LATE)
        with Machine(setup, drives=here) as machine:
            machine.wait_for(r"lab-agent: stall", timeout_s=_READY_S)
            began = setup.serial_log.stat().st_size
            bay.stop_answering(_STALLED)
            seen_s = _wait_for_rows(machine, began)
            machine.wait_for(r"lab-agent: plug-in", timeout_s=_READY_S)
            plug(machine, absent, its_socket)
            machine.wait_for(r"lab-agent: plug-out", timeout_s=_READY_S)
            unplug(machine, absent, its_socket)
            said = listen(machine, timeout_s=_READY_S)
        (out / "said.txt").write_text(f"rows {seen_s:.2f}\n{said}\n")
        written = sum(one["write_bytes"] for drive in bay.drives for one in bay.stats(drive))

    assert said["drives"] == "24", said
    assert float(said["listed"]) <= _LIST_S, f"published so long after the interface began: {said}"
    assert seen_s <= _LIST_S, f"rows came {seen_s:.1f} s after the interface's first picture"
    assert said["silent"] == _STALLED, said
    assert said["answered"] == "23", said
    assert said["details"] == "23", said
    # The command takes the engine's answers; none of it waits for the drive.
    code, listed, seconds = said["command"].split()
    assert (code, listed) == ("0", "24")
    assert float(seconds) < 15
    assert float(said["appeared"]) <= _HOTPLUG_S, said
    assert float(said["disappeared"]) <= _HOTPLUG_S, said
    assert written == 0


def _wait_for_rows(machine: Machine, offset: int) -> float:
    """Seconds from the interface's first picture on the serial line to the first drive in it."""
    began_s = 0.0
    give_up_s = time.monotonic() + _READY_S
    log = machine.setup.serial_log
    while time.monotonic() < give_up_s:
        said = log.read_bytes()[offset:]
        now_s = time.monotonic()
        if not began_s and b"1 Drives" in said:
            began_s = now_s
        if began_s and b"LAB-0" in said:
            return now_s - began_s
        time.sleep(0.05)
    raise AssertionError("no drive was ever on the screen")
