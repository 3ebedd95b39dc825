# SPDX-License-Identifier: Apache-2.0
"""Which serial lines have an interface, by what the kernel and the firmware say of them."""

import struct
from pathlib import Path

import pytest

from appliance.machine.serial_lines import SerialLine, find_serial_lines

_PORTS = ("0x3F8", "0x2F8", "0x3E8", "0x2E8")


def _machine(sys: Path, uarts: set[int], *, spcr: bytes = b"") -> None:
    """The four names of an x86 kernel, with a 16550A behind some of them."""
    for number, port in enumerate(_PORTS):
        tty = sys / f"class/tty/ttyS{number}"
        tty.mkdir(parents=True)
        (tty / "type").write_text("4\n" if number in uarts else "0\n")
        (tty / "port").write_text(f"{port}\n")
        (tty / "iomem_base").write_text("0x0\n")
    if spcr:
        (sys / "firmware/acpi/tables").mkdir(parents=True)
        (sys / "firmware/acpi/tables/SPCR").write_bytes(spcr)


def _spcr(address: int, *, space: int = 1, baud: int = 7) -> bytes:
    """Version 2 of the table, as firmware of servers has it."""
    header = struct.pack("<4sIBB6s8sIII", b"SPCR", 80, 2, 0, b"", b"", 1, 0, 1)
    register = struct.pack("<BBBBQ", space, 8, 0, 1, address)
    rest = struct.pack("<BBIBBBBBB", 3, 4, 0, baud, 0, 1, 0, 0, 0)
    return (header + b"\0\0\0\0" + register + rest).ljust(80, b"\0")


@pytest.mark.parametrize(
    ("uarts", "found"),
    [
        (set(), []),
        ({0}, ["ttyS0"]),
        ({0, 1}, ["ttyS0", "ttyS1"]),
        ({1, 3}, ["ttyS1"]),
    ],
)
def test_the_first_two_are_used_where_there_is_a_uart(
    tmp_path: Path, uarts: set[int], found: list[str]
) -> None:
    _machine(tmp_path, uarts)
    assert [line.name for line in find_serial_lines(sys=tmp_path)] == found


def test_the_line_that_the_firmware_names_is_used_too_at_its_speed(tmp_path: Path) -> None:
    _machine(tmp_path, {0, 2}, spcr=_spcr(0x3E8, baud=6))
    assert find_serial_lines(sys=tmp_path) == (
        SerialLine("ttyS0", 115_200),
        SerialLine("ttyS2", 57_600),
    )


def test_a_usual_line_has_the_speed_that_the_firmware_names(tmp_path: Path) -> None:
    _machine(tmp_path, {0, 1}, spcr=_spcr(0x2F8, baud=3))
    assert find_serial_lines(sys=tmp_path) == (
        SerialLine("ttyS0", 115_200),
        SerialLine("ttyS1", 9_600),
    )


def test_a_line_in_memory_is_found_by_its_place_there(tmp_path: Path) -> None:
    _machine(tmp_path, {0, 3}, spcr=_spcr(0xFE042000, space=0))
    (tmp_path / "class/tty/ttyS3/iomem_base").write_text("0xFE042000\n")
    assert [line.name for line in find_serial_lines(sys=tmp_path)] == ["ttyS0", "ttyS3"]


@pytest.mark.parametrize(
    "spcr",
    [b"", b"SPCR", _spcr(0), _spcr(0x4F8), _spcr(0x3E8, space=10), b"XXXX" + _spcr(0x3E8)[4:]],
)
def test_a_table_that_names_none_changes_nothing(tmp_path: Path, spcr: bytes) -> None:
    _machine(tmp_path, {0, 2}, spcr=spcr)
    assert find_serial_lines(sys=tmp_path) == (SerialLine("ttyS0", 115_200),)
