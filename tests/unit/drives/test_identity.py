# SPDX-License-Identifier: Apache-2.0
"""Finding a drive again, and noticing that it is another one."""

from dataclasses import replace

import pytest

from appliance.drives import identity
from appliance.drives.identity import check_identity, compare_identity, find_by_identity, is_model
from appliance.drives.model import Drive
from appliance.errors import RefusedError

Drives = dict[str, Drive]


def test_found_by_serial_or_wwn_or_both(zoo: Drives) -> None:
    wanted, all_drives = zoo["sdn"], tuple(zoo.values())
    for serial, wwn in ((wanted.serial, ""), ("", wanted.wwn), (wanted.serial, wanted.wwn)):
        assert find_by_identity(all_drives, serial=serial, wwn=wwn) == wanted


@pytest.mark.parametrize(
    ("serial", "wwn", "message", "blame"),
    [
        ("GONE\x1b", "", r"no drive with serial number 'GONE\\+x1b' is in this machine", "other"),
        ("WD-WX41A1234567", "0x1", "no drive with serial number .* and WWN '0x1'", "other"),
        ("TWIN-1", "", "2 drives have serial number 'TWIN-1': /dev/sdh, /dev/sdk", "other"),
        ("", "", "without a serial number or WWN", "other"),
    ],
)
def test_absent_and_twice_present_are_refused(
    zoo: Drives, serial: str, wwn: str, message: str, blame: str
) -> None:
    with pytest.raises(RefusedError, match=message) as caught:
        find_by_identity(tuple(zoo.values()), serial=serial, wwn=wwn)
    assert caught.value.blame == blame
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_the_drive_as_it_is_now_is_given_back(zoo: Drives) -> None:
    now = replace(zoo["sdn"], read_only=True)
    assert compare_identity(zoo["sdn"], (zoo["sda"], now)) is now


@pytest.mark.parametrize(
    ("change", "message", "blame"),
    [
        (
            {"serial": "OTHER\x1b"},
            "/dev/sdn is another drive than before: its serial number",
            "other",
        ),
        ({"wwn": "0x1"}, "its WWN was '0x50014ee2b1234567' and is '0x1'", "other"),
        ({"size_bytes": 5}, "its size was '67108864' and is '5'", "other"),
        ({"path": "/dev/sdaa"}, "/dev/sdn is gone; it was 'WD-WX41A1234567'", "drive"),
    ],
)
def test_another_drive_under_the_same_name_is_refused(
    zoo: Drives, change: dict[str, str], message: str, blame: str
) -> None:
    now = replace(zoo["sdn"], **change)  # type: ignore[arg-type]
    with pytest.raises(RefusedError, match=message) as refused:
        compare_identity(zoo["sdn"], (now,))
    assert refused.value.blame == blame


def test_checking_looks_at_the_machine_again(zoo: Drives, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "find_drives", lambda: (zoo["sda"],))
    with pytest.raises(RefusedError, match="gone"):
        check_identity(zoo["sdn"])


@pytest.mark.parametrize(
    ("stored", "same"),
    [
        ("SEAGATE ST4000NM0035", True),
        ("ST4000NM0035", True),  # as an earlier version has stored it
        ("NM0035", False),
        ("SEAGATE", False),
        ("", False),
        ("HGST ST4000NM0035", False),
    ],
)
def test_a_model_stored_without_its_vendor_is_still_the_same(
    zoo: Drives,
    *,
    stored: str,
    same: bool,
) -> None:
    assert is_model(zoo["sda"], stored) is same


def test_a_word_at_the_end_is_not_the_same_model(zoo: Drives) -> None:
    """The disk in a dock that has a serial number of its own was changed."""
    other = replace(zoo["sdn"], model="Foo SSD", bare_model="Foo SSD")
    assert not is_model(other, "SSD")
