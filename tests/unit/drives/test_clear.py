# SPDX-License-Identifier: Apache-2.0
"""What is cleared off a drive, in which order, and what is never touched."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from appliance.drives import clear as module
from appliance.drives.clear import (
    Leftovers,
    Place,
    blanked,
    clear_holders,
    describe,
    parse_signatures,
    parse_tree,
    plan_clearing,
)
from appliance.errors import RefusedError, StepFailedError
from appliance.run import Finished

FIXTURES = Path(__file__).parents[2] / "fixtures"
MIB = 1 << 20
DISK = Place("/dev/sda", 0, 64 * MIB)
FIRST = Place("/dev/sda1", MIB, 16 * MIB)
SECOND = Place("/dev/sda2", 17 * MIB, 2 * 512)


def wipefs(name: str) -> tuple[tuple[str, str], ...]:
    """What was captured of a foreign drive (tests/lab/foreign.py) as a file called `name`.raw."""
    text = (FIXTURES / "wipefs" / f"{name}.json").read_text()
    return parse_signatures(text, (Place(f"/dev/{name}.raw", 0, 64 * MIB),))


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("gpt", ["gpt", "gpt", "PMBR"]),
        ("lvm", ["LVM2_member"]),
        ("zfs", ["zfs_member"] * 4),
        ("btrfs", ["btrfs"]),
        ("md10", ["linux_raid_member"]),
        ("none", []),
    ],
)
def test_signatures_are_read(name: str, kinds: list[str]) -> None:
    assert wipefs(name) == tuple((f"/dev/{name}.raw", kind) for kind in kinds)


@pytest.mark.parametrize("text", ["[]", "{", '{"signatures": [{"device": "sdz", "type": "x"}]}'])
def test_a_list_that_cannot_be_read_is_a_failed_step(text: str) -> None:
    with pytest.raises(StepFailedError, match="wipefs gave no usable list"):
        parse_signatures(text, (DISK,))


def test_an_empty_drive_needs_nothing() -> None:
    assert plan_clearing(Leftovers((DISK,), (), wipefs("none"))) == ()


def test_partitions_first_and_the_drive_last() -> None:
    found = Leftovers(
        (DISK, FIRST, SECOND),
        (),
        (("/dev/sda", "gpt"), ("/dev/sda", "PMBR"), ("/dev/sda1", "LVM2_member")),
    )
    steps = plan_clearing(found)
    assert [str(step) for step in steps] == [
        "blank /dev/sda1 (LVM2_member)",
        "wipe /dev/sda1 (LVM2_member)",
        "blank /dev/sda (gpt, PMBR)",
        "wipe /dev/sda (gpt, PMBR)",
        "forget /dev/sda (2 partitions)",
    ]
    assert describe(steps).count("; ") == 4


def test_partitions_the_kernel_still_knows_are_forgotten() -> None:
    (step,) = plan_clearing(Leftovers((DISK, FIRST), (), ()))
    assert step.action == "forget"


@pytest.mark.parametrize(
    ("place", "kinds", "ranges"),
    [
        (DISK, ["gpt"], [(0, MIB), (63 * MIB, MIB)]),
        (FIRST, ["ext4"], [(MIB, MIB), (16 * MIB, MIB)]),
        (SECOND, ["dos"], [(17 * MIB, 1024)]),  # an extended partition of 1 KiB
        (
            Place("/dev/sdb1", MIB, 65 * MIB),
            ["btrfs"],
            [(MIB, MIB), (65 * MIB, MIB), (65 * MIB, 4096)],
        ),
    ],
)
def test_what_is_blanked_stays_inside_its_place(
    place: Place, kinds: list[str], ranges: list[tuple[int, int]]
) -> None:
    assert blanked(place, kinds) == tuple(ranges)
    for start, size in ranges:
        assert place.start_bytes <= start
        assert start + size <= place.start_bytes + place.size_bytes


@dataclass
class Drive:
    """An unlocked drive that is a file; notes the commands about it."""

    path: str
    trees: list[str]
    signatures: list[str]
    commands: list[str] = field(default_factory=list)

    def run(self, command: Sequence[str], **_: object) -> Finished:
        """Stand in for `appliance.run.run`."""
        self.commands.append(" ".join(command).replace(self.path, "DISK"))
        said = ""
        if command[0] == "lsblk":
            said = self.trees.pop(0)
        elif command[:2] == ["wipefs", "--json"]:
            said = self.signatures.pop(0)
        return Finished(tuple(command), 0, said, "")

    def writes(self) -> list[str]:
        """Commands that change the drive."""
        return [each for each in self.commands if not each.startswith(("lsblk", "wipefs --json"))]


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, object]]]:
    said: list[tuple[str, dict[str, object]]] = []
    monkeypatch.setattr(module, "announce", lambda event, **rest: said.append((event, rest)))
    return said


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    path = tmp_path / "sda"
    path.write_bytes(b"x" * 4 * MIB)
    return path


def tree(disk: Path, *, mountpoint: str | None = None, children: object = None) -> str:
    """Lsblk's description of `disk`."""
    node = {
        "path": str(disk), "kname": "sda", "type": "disk", "start": None,
        "size": disk.stat().st_size, "mountpoints": [mountpoint],
    }  # fmt: skip
    return json.dumps({"blockdevices": [node | ({"children": children} if children else {})]})


def found(*kinds: str) -> str:
    """Wipefs' list for the drive itself."""
    rows = [
        {"device": "sda", "offset": "0x0", "type": kind, "uuid": None, "label": None}
        for kind in kinds
    ]
    return json.dumps({"signatures": rows})


def taken_over(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> Drive:
    monkeypatch.setattr(module, "run", drive.run)
    return drive


def test_the_plan_is_shown_before_anything_is_written(
    disk: Path, monkeypatch: pytest.MonkeyPatch, lines: list[tuple[str, dict[str, object]]]
) -> None:
    drive = taken_over(
        Drive(str(disk), [tree(disk), tree(disk)], [found("zfs_member"), found()]), monkeypatch
    )
    shown: list[str] = []

    def show(text: str) -> None:
        assert drive.writes() == []
        assert set(disk.read_bytes()) == {ord("x")}
        shown.append(text)

    steps = clear_holders(drive, show=show)
    assert [step.action for step in steps] == ["blank", "wipe"]
    (line,) = lines
    assert line[0] == "clearing"
    assert line[1]["steps"] == 2
    assert shown == [f"{disk}: blank {disk} (zfs_member); wipe {disk} (zfs_member)"]
    assert drive.writes() == [
        "wipefs --all --quiet --force DISK",
        "blockdev --flushbufs DISK",
    ]
    content = disk.read_bytes()
    assert content == bytes(MIB) + b"x" * 2 * MIB + bytes(MIB)


def test_a_clean_drive_is_not_written_to(
    disk: Path, monkeypatch: pytest.MonkeyPatch, lines: list[object]
) -> None:
    drive = taken_over(Drive(str(disk), [tree(disk)], [found()]), monkeypatch)
    assert clear_holders(drive) == ()
    assert drive.writes() == []
    assert lines == []
    assert set(disk.read_bytes()) == {ord("x")}


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        ({"mountpoint": "/mnt"}, "is mounted at /mnt"),
        ({"mountpoint": "[SWAP]"}, "is swap space in use"),
        (
            {
                "children": [
                    {
                        "path": "/dev/bcache0",
                        "kname": "bcache0",
                        "type": "disk",
                        "start": None,
                        "size": MIB,
                        "mountpoints": [None],
                    }
                ]
            },
            "/dev/bcache0 is built on it",
        ),
    ],
)
def test_what_is_in_use_is_refused(
    disk: Path,
    monkeypatch: pytest.MonkeyPatch,
    lines: list[object],
    use: dict[str, object],
    reason: str,
) -> None:
    text = tree(disk, **use)  # type: ignore[arg-type]
    drive = taken_over(Drive(str(disk), [text], [found("ext4")]), monkeypatch)
    with pytest.raises(RefusedError, match=rf"nothing is cleared: .*{reason}"):
        clear_holders(drive)
    assert drive.writes() == []
    assert lines == []


def test_what_is_still_there_afterwards_is_a_failed_step(
    disk: Path, monkeypatch: pytest.MonkeyPatch, lines: list[object]
) -> None:
    drive = taken_over(
        Drive(str(disk), [tree(disk), tree(disk)], [found("ext4"), found("ext4")]), monkeypatch
    )
    with pytest.raises(StepFailedError, match="was cleared, and still shows ext4 on"):
        clear_holders(drive)


def test_a_description_that_cannot_be_read_is_a_failed_step() -> None:
    with pytest.raises(StepFailedError, match="lsblk gave no usable description"):
        parse_tree('{"blockdevices": []}')
