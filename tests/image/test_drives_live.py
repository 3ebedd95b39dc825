"""24 drives, one of which does not answer: the list is there at once, and follows hot-plug."""

from pathlib import Path

from tests.lab.agent import credentials, listen
from tests.lab.campaign import IMAGE
from tests.lab.drives import DriveBay, ModelledDrive
from tests.lab.faults import parse_faults
from tests.lab.machine import Machine, MachineSetup
from tests.lab.plug import plug, unplug
from tests.lab.stick import make_stick

_READY_S = 900
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
            machine.wait_for(r"lab-agent: plug-in", timeout_s=_READY_S)
            plug(machine, absent, its_socket)
            machine.wait_for(r"lab-agent: plug-out", timeout_s=_READY_S)
            unplug(machine, absent, its_socket)
            machine.wait_for(r"lab-agent: stall", timeout_s=_READY_S)
            bay.stop_answering(_STALLED)
            said = listen(machine, timeout_s=_READY_S)
        (out / "said.txt").write_text(f"{said}\n")
        written = sum(one["write_bytes"] for drive in bay.drives for one in bay.stats(drive))

    assert said["appeared"] == "True", said
    assert said["disappeared"] == "True", said
    # All are listed before anybody has been waited for.
    assert said["first"].split()[0] == "24", said
    assert int(said["first"].split()[1]) > 0, said
    assert said["asked"] == "24", said
    assert said["silent"] == _STALLED, said
    assert said["answered"] == "23", said
    assert said["details"] == "23", said
    assert said["command"] == "0 24", "the command waited for the silent drive"
    assert written == 0
