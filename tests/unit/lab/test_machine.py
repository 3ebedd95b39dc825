# SPDX-License-Identifier: Apache-2.0
import base64
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from tests.lab.drives import ModelledDrive
from tests.lab.machine import Machine, MachineSetup, qemu_command
from tests.lab.qmp import keys_for
from tests.lab.saved import make_order


def command(firmware: str = "uefi", **more: object) -> list[str]:
    setup = MachineSetup(
        stick=Path("/o/stick.raw"),
        serial_log=Path("/o/serial.log"),
        firmware=firmware,
        **more,  # type: ignore[arg-type]
    )
    return qemu_command(setup, drives=[], sockets=Path("/s"))


@pytest.mark.parametrize(
    ("firmware", "present", "absent"),
    [
        ("uefi", "OVMF_CODE_4M.fd", "secure"),
        ("secureboot", "OVMF_CODE_4M.secboot.fd", "OVMF_CODE_4M.fd"),
        ("bios", "q35", "pflash"),
    ],
)
def test_firmware(firmware: str, present: str, absent: str) -> None:
    line = " ".join(command(firmware))
    assert present in line
    assert absent not in line
    assert ("smm=on" in line) == (firmware == "secureboot")


def test_the_display_is_the_standard_one_or_another() -> None:
    assert "-vga std" in " ".join(command())
    assert "-vga none -device isa-vga" in " ".join(command(display="isa-vga"))


def test_serial_line_is_always_logged() -> None:
    assert "path=/o/serial.log,append=on" in " ".join(command())
    assert "logfile=/o/serial.log,logappend=on" in " ".join(command(interactive=True))


def test_second_stick() -> None:
    assert " ".join(command(second_stick=Path("/o/other.raw"))).count('"usb-storage"') == 2


def test_what_is_told_at_the_port_goes_to_a_file() -> None:
    words = command(told=Path("/o/told"))
    assert words[words.index("-debugcon") + 1] == "file:/o/told"
    assert "-debugcon" not in command()


def test_credentials_are_encoded() -> None:
    words = command(interface=True, credentials={"systemd.extra-unit.x.service": "[Unit]\n"})
    encoded = base64.b64encode(b"[Unit]\n").decode()
    assert words[words.index("-smbios") + 1].endswith(f"systemd.extra-unit.x.service={encoded}")


def _credentials(words: list[str]) -> set[str]:
    prefix = "type=11,value=io.systemd.credential.binary:"
    return {
        word.removeprefix(prefix).partition("=")[0] for word in words if word.startswith(prefix)
    }


def test_the_interface_starts_only_where_it_is_wanted_and_an_agent_where_there_is_one() -> None:
    assert "systemd.unit-dropin.kaltstart-tui@tty1.service" in _credentials(command())
    assert _credentials(command(interface=True)) == set()
    assert "systemd.extra-unit.lab-agent.service" in _credentials(command(agent="say end"))


def test_the_machines_clock_counts_instructions_where_it_is_told_to() -> None:
    words = command(icount_shift=1)
    assert words[words.index("-icount") + 1] == "shift=1,sleep=on"
    assert "tcg,thread=single" in words
    assert "-icount" not in command()


def test_restarts_are_held_only_where_that_is_wanted() -> None:
    """Going off stops it in either case: its clock is read then."""
    for held, action in ((False, "shutdown=pause"), (True, "shutdown=pause,reboot=shutdown")):
        words = command(holds_restarts=held)
        assert words[words.index("-action") + 1] == action


def test_what_has_no_line_end_was_said_too(tmp_path: Path) -> None:
    log = tmp_path / "serial.log"
    machine = Machine(MachineSetup(stick=Path("/o/stick.raw"), serial_log=log))
    log.write_bytes(b"BdsDxe: starting\r\n\x1b[05;30H  Own \x1b[0msystem  ")
    assert not machine.has_said("Own"), "nothing was read yet"
    machine.poll()
    assert machine.has_said("Own system")
    assert machine.has_said("^BdsDxe")
    assert not machine.has_said("own system")


def _held(*, state: Path | None = None) -> list[str]:
    setup = MachineSetup(
        stick=Path("/o/stick.raw"), serial_log=Path("/o/serial.log"), agent="say end"
    )
    return qemu_command(setup, drives=[], sockets=Path("/s"), hold=not state, state=state)


def test_a_machine_that_goes_on_has_the_devices_of_the_saved_one() -> None:
    saved, going_on = _held(), _held(state=Path("/saved/state"))
    assert going_on[going_on.index("-incoming") + 1] == "file:/saved/state"
    devices = [
        [word for before, word in pairwise(words) if before in {"-device", "-serial", "-chardev"}]
        for words in (saved, going_on)
    ]
    assert devices[0] == devices[1]
    assert any("order.sock" in word for word in devices[0])
    # Once it starts again it is a machine of its test, and waits for no one.
    held = "systemd.unit-dropin.kaltstart-engine.service"
    assert held in _credentials(saved)
    assert held not in _credentials(going_on)


def test_an_order_looks_for_the_drives_and_leaves_the_agent_its_script() -> None:
    setup = MachineSetup(stick=Path("s"), serial_log=Path("l"), agent="say end")
    drives = [
        ModelledDrive(serial="A"),
        ModelledDrive(serial="B", bus="scsi"),
        ModelledDrive(serial="C", bus="nvme", namespaces=2),
    ]
    order = make_order(setup, drives, now_s=5)
    assert "--set=@5 " in order
    assert '[ "$n" -lt 1 ]' in order  # one SATA port
    assert "-lt 5 ]" in order  # the stick and four disks
    assert "> /run/agent" in order
    assert "lab-interface" not in order
    assert "lab-interface" in make_order(replace(setup, interface=True), [], now_s=5)


def test_typed_text_becomes_keys() -> None:
    assert keys_for('aB-_"\n') == [
        ["a"], ["shift", "b"], ["minus"], ["shift", "minus"], ["shift", "apostrophe"], ["ret"],
    ]  # fmt: skip


def _devices(words: list[str]) -> list[dict[str, object]]:
    return [
        json.loads(word) for before, word in pairwise(words) if before == "-device" and "{" in word
    ]


@pytest.mark.parametrize(
    ("port", "controller", "kind"),
    [
        ("xhci", "qemu-xhci", "usb-storage"),
        ("ehci", "ich9-usb-ehci1", "usb-storage"),
        ("uhci", "piix3-usb-uhci", "usb-storage"),
        ("ehci-uas", "ich9-usb-ehci1", "usb-uas"),
    ],
)
def test_the_stick_hangs_on_the_only_usb_controller(port: str, controller: str, kind: str) -> None:
    found = _devices(command(stick_port=port))
    assert [device["driver"] for device in found][:2] == [controller, kind]
    assert found[1]["bus"] == f"{found[0]['id']}.0"
    assert [device["bootindex"] for device in found if "bootindex" in device] == [1]


def test_usb_drives_keep_their_controller_beside_another_one_of_the_stick() -> None:
    setup = MachineSetup(stick=Path("s"), serial_log=Path("l"), stick_port="ehci")
    drives = [(ModelledDrive(serial="U", bus="usb"), Path("/s/0.sock"))]
    found = _devices(qemu_command(setup, drives=drives, sockets=Path("/s")))
    assert [device["driver"] for device in found][:2] == ["ich9-usb-ehci1", "qemu-xhci"]


def test_a_served_stick_is_told_to_flush() -> None:
    words = command(stick_socket=Path("/s/stick.sock"))
    block = json.loads(words[words.index("-blockdev") + 1])
    assert block["file"]["server"]["path"] == "/s/stick.sock"
    assert "cache" not in block
