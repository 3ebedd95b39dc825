import base64
from pathlib import Path

import pytest

from tests.lab.machine import MachineSetup, qemu_command
from tests.lab.qmp import keys_for


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
    for interactive in (False, True):
        line = " ".join(command(interactive=interactive))
        assert "logfile=/o/serial.log,logappend=on" in line


def test_second_stick() -> None:
    assert " ".join(command(second_stick=Path("/o/other.raw"))).count('"usb-storage"') == 2


def test_what_is_told_at_the_port_goes_to_a_file() -> None:
    words = command(told=Path("/o/told"))
    assert words[words.index("-debugcon") + 1] == "file:/o/told"
    assert "-debugcon" not in command()


def test_credentials_are_encoded() -> None:
    words = command(credentials={"systemd.extra-unit.x.service": "[Unit]\n"})
    encoded = base64.b64encode(b"[Unit]\n").decode()
    assert words[words.index("-smbios") + 1].endswith(f"systemd.extra-unit.x.service={encoded}")


def test_typed_text_becomes_keys() -> None:
    assert keys_for('aB-_"\n') == [
        ["a"], ["shift", "b"], ["minus"], ["shift", "minus"], ["shift", "apostrophe"], ["ret"],
    ]  # fmt: skip
