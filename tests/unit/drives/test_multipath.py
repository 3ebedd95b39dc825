# SPDX-License-Identifier: Apache-2.0
"""One drive over two paths is one drive; what only looks like it stays two."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from appliance.drives.identity import find_by_identity
from appliance.drives.model import Drive
from appliance.drives.multipath import Designators, merge_paths, parse_designators
from appliance.drives.safety import may_offer, may_write
from appliance.errors import RefusedError
from tests.unit.drives.machines import load_drives

_UNIT = bytes.fromhex("5000c500a1b2c3d4")
_PORTS = (bytes.fromhex("5000c500a1b2c3d5"), bytes.fromhex("5000c500a1b2c3d6"))


def _make_page(unit: bytes, port: bytes, relative: int) -> bytes:
    """As a SAS drive answers: a vendor's text, its unit, the port, its number, the whole device."""
    said = (
        b"\x02\x01\x00\x08SEAGATE "
        b"\x01\x03\x00\x08"
        + unit
        + b"\x61\x93\x00\x08"
        + port
        + b"\x61\x94\x00\x04\x00\x00\x00"
        + bytes([relative])
        + b"\x61\xa3\x00\x08\x50\x00\xc5\x00\xa1\xb2\xc3\xd7"
    )
    return b"\x00\x83" + len(said).to_bytes(2) + said


_PAGES = {
    "/dev/sda": _make_page(_UNIT, _PORTS[0], 1),
    "/dev/sdb": _make_page(_UNIT, _PORTS[1], 2),
}
_NUMBERS = {"/dev/sda": 9, "/dev/sdb": 4}


def _make_pair() -> list[Drive]:
    drive = replace(
        load_drives("sectors")[0],
        transport="sas",
        serial="ZC18A1B2",
        wwn="0x5000c500a1b2c3d4",
        mountpoints=(),
        holders=(),
        serial_doubt="",
        removable=False,
    )
    return [
        replace(drive, path="/dev/sda", twins=("/dev/sdb",)),
        replace(drive, path="/dev/sdb", twins=("/dev/sda",)),
    ]


def _merge(pair: Sequence[Drive]) -> list[Drive]:
    return list(merge_paths(pair, _PAGES, numbers=_NUMBERS))


def test_the_page_names_the_unit_and_the_port() -> None:
    assert parse_designators(_PAGES["/dev/sda"]) == Designators(
        frozenset({_UNIT}), frozenset({b"\x03" + _PORTS[0], b"\x04\x00\x00\x00\x01"})
    )


@pytest.mark.parametrize("cut", [0, 3, 20, 59])
def test_a_page_that_is_cut_off_names_nothing(cut: int) -> None:
    assert parse_designators(_PAGES["/dev/sda"][:cut]) == Designators()


def test_the_path_that_was_found_first_is_the_drive() -> None:
    other, main = _merge(_make_pair())
    assert (main.path, main.other_paths, main.twins) == ("/dev/sdb", ("/dev/sda",), ())
    assert (other.main_path, other.twins) == ("/dev/sdb", ())
    assert find_by_identity([other, main], serial="ZC18A1B2") == main
    assert find_by_identity([other, main], wwn=main.wwn) == main


def test_the_drive_may_be_written_to_and_its_other_path_never() -> None:
    other, main = _merge(_make_pair())
    stick = replace(main, path="/dev/sdz", serial="STICK", disk_uuid="1")
    assert may_write(main, stick=stick, released_identity=main.serial) == (True, "")
    assert may_write(other, stick=stick, released_identity=main.serial) == (
        False,
        "is a second path to the drive at /dev/sdb",
    )
    assert not may_offer(other, stick=stick)[0]


def test_what_uses_one_path_uses_the_drive() -> None:
    first, second = _make_pair()
    _, main = _merge([replace(first, mountpoints=("/mnt",)), second])
    assert not may_offer(main, stick=None)[0]


@pytest.mark.parametrize(
    "change",
    [
        {"serial": "ZC18A1B3"},
        {"wwn": ""},
        {"model": "ST8000NM0075"},
        {"firmware": "E003"},
        {"size_bytes": 4096},
        {"transport": "usb"},
        {"transport": "nvme"},
        {"serial_doubt": "a placeholder"},
        {"removable": True},
        {"twins": ("/dev/sda", "/dev/sda")},
    ],
)
def test_any_difference_leaves_two_drives_that_no_one_writes_to(change: dict[str, Any]) -> None:
    first, second = _make_pair()
    pair = [first, replace(second, **change)]
    assert merge_paths([*pair], _PAGES, numbers=_NUMBERS)[0].twins
    with pytest.raises(RefusedError):
        find_by_identity(
            [replace(each, serial="ZC18A1B2") for each in _merge(pair)], serial="ZC18A1B2"
        )


@pytest.mark.parametrize(
    "page",
    [
        b"",
        _make_page(_UNIT, _PORTS[0], 1),
        _make_page(_UNIT, _PORTS[1], 1),
        _make_page(_PORTS[1], _PORTS[1], 2),
    ],
    ids=["says nothing", "the same port", "the same number of a port", "another unit"],
)
def test_without_two_ports_of_one_unit_they_are_not_one_drive(page: bytes) -> None:
    merged = merge_paths(_make_pair(), _PAGES | {"/dev/sdb": page}, numbers=_NUMBERS)
    assert [each.twins for each in merged] == [("/dev/sdb",), ("/dev/sda",)]
    assert not any(each.other_paths or each.main_path for each in merged)


def test_paths_that_the_kernel_does_not_number_are_one_drive_all_the_same() -> None:
    """One that has just gone has no number: both at once, and two would be the one that is used."""
    merged = merge_paths(_make_pair(), _PAGES, numbers={})
    assert [each.main_path for each in merged] == ["", "/dev/sda"]
    assert find_by_identity(merged, serial="ZC18A1B2").path == "/dev/sda"
