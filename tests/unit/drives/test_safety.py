# SPDX-License-Identifier: Apache-2.0
"""Who may be offered, who may be written to, and the reason a person reads."""

from dataclasses import replace

import pytest

from appliance.drives.model import Drive
from appliance.drives.safety import may_offer, may_write

Drives = dict[str, Drive]


def refusal(drive: Drive, stick: Drive | None, released: str | None = None) -> str:
    """Why `drive` may not be written to; empty where it may. Released as itself by default."""
    allowed, reason = may_write(
        drive, stick=stick, released_identity=drive.identity if released is None else released
    )
    assert allowed == (reason == "")
    return reason


def test_a_released_drive_may_be_written_to(zoo: Drives) -> None:
    stick = zoo["sdu"]
    for name in ("sdn", "sdo", "sdp", "sds", "nvme1n1", "sdl", "sdt", "vda"):
        assert may_offer(replace(zoo[name], serial_doubt=""), stick=stick) == (True, "")
        assert refusal(zoo[name], stick) == ""


def test_release_by_wwn_is_a_release_too(zoo: Drives) -> None:
    assert refusal(zoo["sdn"], zoo["sdu"], "0x50014ee2b1234567") == ""


@pytest.mark.parametrize("released", ["wd-wx41a1234567", "WD-WX41A123456", " WD-WX41A1234567"])
def test_a_release_that_does_not_match_is_none(zoo: Drives, released: str) -> None:
    reason = refusal(zoo["sdn"], zoo["sdu"], released)
    assert reason == f"is 'WD-WX41A1234567', released was {released!r}"


def test_without_release_nothing_is_written(zoo: Drives) -> None:
    assert refusal(zoo["sdn"], zoo["sdu"], "") == "is not released for writing"
    assert refusal(replace(zoo["sdn"], wwn=""), zoo["sdu"], "") == "is not released for writing"


def test_without_a_known_stick_nothing_is_written(zoo: Drives) -> None:
    assert refusal(zoo["sdn"], None) == "the stick is not known, so nothing may be written"
    assert may_offer(zoo["sdn"], stick=None) == (True, "")


def test_the_stick_is_never_offered(zoo: Drives) -> None:
    stick = zoo["sdu"]
    assert may_offer(stick, stick=stick) == (False, "this is the Kaltstart stick itself")
    assert refusal(stick, stick) == "this is the Kaltstart stick itself"
    # Known by its labels even if it is unknown which drive is the stick.
    assert may_offer(stick, stick=None) == (False, "this is a Kaltstart stick")


@pytest.mark.parametrize(
    "mark",
    [
        {"partition_labels": ("other", "kaltstart-data")},
        {"partition_labels": ("KALTSTART",)},
        {"disk_uuid": "182e6314-744f-40ec-a3ff-af5d1fadfd67"},
    ],
)
def test_siblings_of_the_stick_are_never_offered(zoo: Drives, mark: dict[str, str]) -> None:
    sibling = replace(zoo["sdn"], **mark)  # type: ignore[arg-type]
    assert may_offer(sibling, stick=zoo["sdu"]) == (False, "this is a Kaltstart stick")
    assert refusal(sibling, zoo["sdu"]) == "this is a Kaltstart stick"


def test_a_stick_without_a_table_makes_no_siblings(zoo: Drives) -> None:
    assert refusal(zoo["sdn"], replace(zoo["sdu"], disk_uuid="")) == ""


def test_our_own_reference_os_may_be_overwritten(zoo: Drives) -> None:
    labels = ("kaltstart-ref-root", "kaltstart-ref-session")
    drive = replace(zoo["sdn"], partition_labels=labels)
    assert may_offer(drive, stick=zoo["sdu"]) == (True, "")
    assert refusal(drive, zoo["sdu"]) == ""


def test_without_identity_a_drive_can_only_be_read(zoo: Drives) -> None:
    drive, stick = zoo["sdq"], zoo["sdu"]
    assert may_offer(drive, stick=stick) == (
        True,
        "has neither serial number nor WWN: can only be read",
    )
    assert refusal(drive, stick) == (
        "has neither serial number nor WWN, so it cannot be told from another drive"
    )


def test_twins_can_only_be_read(zoo: Drives) -> None:
    drive, stick = zoo["sdh"], zoo["sdu"]
    assert may_offer(drive, stick=stick) == (True, "same identity as /dev/sdk: can only be read")
    assert refusal(drive, stick) == "shows the same identity as /dev/sdk"


def test_removable_media_are_offered_with_a_remark(zoo: Drives) -> None:
    assert may_offer(zoo["sdi"], stick=zoo["sdu"]) == (True, "removable medium")
    assert refusal(zoo["sdi"], zoo["sdu"]) == ""


def test_a_reader_without_medium_is_listed_and_not_offered(zoo: Drives) -> None:
    drive = zoo["sdw"]
    assert (drive.size_bytes, drive.removable) == (0, True)
    assert may_offer(drive, stick=zoo["sdu"]) == (False, "has no medium")
    assert refusal(drive, zoo["sdu"]) == "has no medium"


def test_a_drive_without_capacity_is_listed_with_what_may_be_wrong(zoo: Drives) -> None:
    drive = replace(zoo["sdz"], size_bytes=0)
    allowed, reason = may_offer(drive, stick=zoo["sdu"])
    assert not allowed
    assert "reports no capacity" in reason
    assert refusal(drive, zoo["sdu"]) == reason


def test_reasons_are_printable_and_short(zoo: Drives) -> None:
    many = tuple(f"/mnt/{n}\x1b[31m" for n in range(9))
    allowed, reason = may_offer(replace(zoo["sdn"], mountpoints=many), stick=zoo["sdu"])
    assert not allowed
    assert reason.isprintable()
    assert reason.endswith("mounted at /mnt/2\\x1b[31m and 6 more")
    assert refusal(zoo["sdp"], zoo["sdu"], "\x1b[2J").isprintable()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("sda", 'is in use: swap space, mounted at /run/mnt/two, mounted at /run/mnt/a b"c'),
        ("sdb", "is part of vg0-data (lvm), secret (crypt)"),
        ("sdc", "is part of md_lab (linear)"),
        ("sdd", "is part of bcache0 (bcache)"),
        ("sde", "is in use: mounted at /run/mnt/f"),
        ("sdt", "this is the Kaltstart stick itself"),
    ],
)
def test_drives_in_use_are_never_offered(held: Drives, name: str, reason: str) -> None:
    assert may_offer(held[name], stick=held["sdt"]) == (False, reason)
    assert refusal(held[name], held["sdt"]) == reason


def test_a_reference_os_of_ours_was_seen_as_such(held: Drives) -> None:
    labels = ("kaltstart-ref-root", "kaltstart-ref-session")
    assert held["sdo"].partition_labels == labels
    assert refusal(held["sdo"], held["sdt"]) == ""
