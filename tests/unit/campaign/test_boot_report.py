# SPDX-License-Identifier: Apache-2.0
"""Orders to a drive's own system and its reports; the firmware's variables are files here."""

from pathlib import Path

import pytest

from appliance.campaign import boot_option, boot_report, power
from appliance.campaign.boot_option import EspPlace, is_own
from appliance.campaign.this_boot import ThisBoot
from appliance.drives.own_loader import OwnLoader
from appliance.errors import StepFailedError
from appliance.report_boot import (
    ORDER_VARIABLE,
    REPORT_VARIABLE,
    BootReport,
    Order,
    format_report,
    parse_order,
)
from tests.unit.campaign.world import OWN_ESP

UEFI = ThisBoot(boot_id="boot-0", slot=None, charted=False, firmware="uefi")
LOADER = OwnLoader(OWN_ESP, "/EFI/debian/shimx64.efi")
REPORT = BootReport("3f9a", "", 0x80, 0x80, "boot-1", "Debian", "", "1 2 3", None, False)


@pytest.fixture
def variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "efivars"
    folder.mkdir()
    place = EspPlace(1, 2048, 589_824, OWN_ESP)
    monkeypatch.setattr(boot_option, "read_esp_place", lambda _: place)
    current = folder / "BootCurrent-8be4df61-93ca-11d2-aa0d-00e098032b8c"
    current.write_bytes(b"\6\0\0\0\3\0")
    return folder


def _put_report(variables: Path, report: BootReport) -> None:
    (variables / REPORT_VARIABLE).write_bytes(b"\7\0\0\0" + format_report(report).encode())


def test_an_order_names_the_entry_and_the_way_back(variables: Path) -> None:
    power.arm_installed(UEFI, LOADER, "3f9a")
    content = (variables / ORDER_VARIABLE).read_bytes()
    assert parse_order(content[4:].decode()) == Order("3f9a", 0x80, 3, OWN_ESP)
    option = next(variables.glob("Boot0080-*")).read_bytes()
    assert is_own(option)
    assert "\\EFI\\debian\\shimx64.efi\0".encode("utf-16-le") in option
    assert boot_option.is_armed()


def test_nothing_is_left_to_be_started_or_reported_when_it_is_taken_back(variables: Path) -> None:
    power.arm_installed(UEFI, LOADER, "3f9a")
    power.remove_boot_option()
    assert [path.name.partition("-")[0] for path in variables.iterdir()] == ["BootCurrent"]


def test_a_bios_machine_gives_no_order(variables: Path) -> None:
    bios = ThisBoot(boot_id="boot-0", slot=None, charted=False, firmware="bios")
    with pytest.raises(StepFailedError, match="needs UEFI firmware"):
        power.arm_installed(bios, LOADER, "3f9a")
    assert not (variables / ORDER_VARIABLE).exists()


def test_only_the_report_to_this_order_is_taken(variables: Path) -> None:
    assert boot_report.read("3f9a") is None
    _put_report(variables, REPORT)
    found = boot_report.read("3f9a")
    assert found is not None
    assert found.boot_id == "boot-1"
    assert boot_report.read("another") is None
    power.forget_report()
    assert boot_report.read("3f9a") is None


def test_a_new_order_removes_the_report_to_an_earlier_one(variables: Path) -> None:
    _put_report(variables, REPORT)
    power.arm_installed(UEFI, LOADER, "4b00")
    assert not (variables / REPORT_VARIABLE).exists()


@pytest.mark.parametrize("content", [b"", b"kaltstart=9", b"\xff\xfe"])
def test_a_spoilt_report_is_told_as_that(variables: Path, content: bytes) -> None:
    (variables / REPORT_VARIABLE).write_bytes(b"\7\0\0\0" + content)
    if not content:
        assert boot_report.read("3f9a") is None
        return
    with pytest.raises(StepFailedError, match="cannot be read"):
        boot_report.read("3f9a")


def test_what_the_system_could_not_report_comes_with_the_key_that_was_pressed(
    variables: Path,
) -> None:
    _put_report(variables, REPORT._replace(error="no such partition", stopped=True))
    found = boot_report.read("3f9a")
    assert found is not None
    assert (found.error, found.stopped) == ("no such partition", True)
