# SPDX-License-Identifier: Apache-2.0
"""Loop devices over drives, which the kernel shows in no `holders/`."""

import json
from pathlib import Path

import pytest

from appliance.drives import clear as clearing
from appliance.drives import unlock as writable
from appliance.drives.clear import clear_holders
from appliance.drives.loops import find_loops_over, hang_loops, read_loops
from appliance.drives.model import Drive
from appliance.drives.probe import parse_lsblk
from appliance.drives.safety import may_offer, may_write
from appliance.drives.unlock import check_not_held
from appliance.errors import RefusedError, StepFailedError
from tests.unit.drives.machines import FOLDER, load_drives


def by_serial(drives: tuple[Drive, ...], serial: str) -> Drive:
    return next(drive for drive in drives if drive.serial == serial)


def listed(*loops: tuple[str, str], **on_loop: object) -> Drive:
    """The drive of the captured machine that a loop device can lie over, with these over it."""
    captured = json.loads((FOLDER / "zoo.json").read_text())["lsblk"]["blockdevices"]
    stick = next(node for node in captured if node["kname"] == "sdu")
    held = json.loads((FOLDER / "held.json").read_text())["lsblk"]["blockdevices"]
    (loop,) = [node for node in held if node["kname"] == "loop7"]
    nodes = [stick, *(loop | on_loop | {"name": name, "kname": name} for name, _ in loops)]
    (drive,) = parse_lsblk(hang_loops(json.dumps({"blockdevices": nodes}), dict(loops)))
    return drive


def test_a_drive_under_a_loop_device_is_neither_offered_nor_written_to() -> None:
    drives = load_drives("in-use")
    drive = by_serial(drives, "IN-USE-LOOP")
    assert drive.holders == ("loop7 (loop)",)
    stick = by_serial(drives, "LAB-STICK-1")
    refused = (False, "is part of loop7 (loop)")
    assert may_offer(drive, stick=stick) == refused
    assert may_write(drive, stick=stick, released_identity=drive.serial) == refused


def test_one_over_a_file_is_no_ones_holder() -> None:
    drives = load_drives("held")
    assert not [drive for drive in drives if any("loop" in each for each in drive.holders)]


def test_over_a_partition_and_over_another_loop_device() -> None:
    drive = listed(("loop1", "loop0"), ("loop0", "sdu2"))
    assert {"loop0 (loop)", "loop1 (loop)"} < set(drive.holders)
    # Not here, or over what is not here: nothing to hang, nothing to fail at.
    assert "loop0 (loop)" not in listed(("loop0", "sdz")).holders
    assert parse_lsblk(hang_loops('{"blockdevices": []}', {"loop0": "sda"})) == ()


@pytest.mark.parametrize("point", ["[SWAP]", "/run/mnt/loop"])
def test_what_a_loop_device_is_used_for_is_the_drives_use(point: str) -> None:
    assert listed(("loop0", "sdu"), mountpoints=[point]).mountpoints == (point,)


@pytest.mark.parametrize(
    ("backing", "name"),
    [
        ("/dev/sda\n", "sda"),
        ("/dev/sda1\n", "sda1"),
        ("/dev/sda (deleted)\n", "sda"),
        ("/run/root/dev/sda\n", "sda"),
        ("/dev/cciss/c0d0p1\n", "cciss!c0d0p1"),
        ("/run/mnt/f/image.raw\n", None),
        ("", None),
    ],
)
def test_what_the_kernel_says_it_lies_over(backing: str, name: str | None, tmp_path: Path) -> None:
    file = tmp_path / "block/loop0/loop/backing_file"
    file.parent.mkdir(parents=True)
    file.write_text(backing)
    (tmp_path / "block/loop1").mkdir()  # in no use
    assert read_loops(sys=tmp_path) == ({} if name is None else {"loop0": name})


def test_over_a_disk_or_its_partition_but_no_namesake(tmp_path: Path) -> None:
    (tmp_path / "block/sda/sda1").mkdir(parents=True)
    (tmp_path / "block/sdaa/sdaa1").mkdir(parents=True)
    for number, backing in enumerate(("sda", "sda1", "sdaa", "sdaa1")):
        file = tmp_path / f"block/loop{number}/loop/backing_file"
        file.parent.mkdir(parents=True)
        file.write_text(f"/dev/{backing}\n")
    assert find_loops_over("sda", sys=tmp_path) == ("loop0", "loop1")
    assert find_loops_over("sdaa", sys=tmp_path) == ("loop2", "loop3")
    assert find_loops_over("sdb", sys=tmp_path) == ()


def test_unlocking_and_clearing_refuse_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = tmp_path / "disk"
    disk.touch()
    monkeypatch.setattr(writable, "find_loops_over", lambda _: ("loop0",))
    monkeypatch.setattr(clearing, "run", lambda *_, **__: pytest.fail("went on"))
    with pytest.raises(RefusedError, match="loop0 is on top of it"):
        check_not_held(str(disk))

    class Target:
        path = str(disk)

    with pytest.raises(RefusedError, match="loop0 is on top of it"):
        clear_holders(Target())


def test_a_useless_list_is_a_failure() -> None:
    with pytest.raises(StepFailedError, match="lsblk"):
        hang_loops("no JSON", {"loop0": "sda"})
