# SPDX-License-Identifier: Apache-2.0
"""What other computers do to KALTSTART, and what is done about it before it is mounted."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from appliance.errors import StepFailedError
from appliance.run import Finished
from appliance.stick import fat as module
from appliance.stick.fat import has_old_documents, lacks_seed, repair_fat, restore_seed


class Tools:
    """In the place of `run`: `codes` per command's first two words, and what blkid finds."""

    def __init__(self, kind: str, codes: dict[str, int]) -> None:
        self.kind = kind
        self.codes = codes
        self.commands: list[list[str]] = []

    def __call__(self, command: Sequence[str], *, check: bool = True, **_: object) -> Finished:
        """Run nothing."""
        self.commands.append(list(command))
        if command[0] == "blkid":
            code = 0 if self.kind else 2
        else:
            code = self.codes.get(" ".join(command[:2]), 0)
        if code and check:
            raise StepFailedError(f"{command[0]} failed with code {code}")
        return Finished(tuple(command), code, f"{self.kind}\n", "")


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """KALTSTART, all zeros."""
    path = tmp_path / "sdc1"
    path.write_bytes(bytes(8192))
    return path


@pytest.mark.parametrize(
    ("kind", "codes", "asked", "said"),
    [
        ("vfat", {}, ["blkid", "fsck.vfat"], ""),
        ("vfat", {"fsck.vfat -a": 1}, ["blkid", "fsck.vfat", "fsck.vfat"], "was repaired"),
        (
            "vfat",
            {"fsck.vfat -a": 1, "fsck.vfat -n": 1},
            ["blkid", "fsck.vfat", "fsck.vfat"],
            "cannot be repaired",
        ),
        ("exfat", {}, ["blkid"], "file system exfat"),
        ("ntfs", {}, ["blkid"], "file system ntfs"),
        ("", {}, ["blkid", "mkfs.vfat"], "formatted again"),
        ("", {"mkfs.vfat -F": 1}, ["blkid", "mkfs.vfat"], "none can be made"),
    ],
)
def test_it_is_repaired_and_made_again_only_where_there_is_nothing(
    partition: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    kind: str,
    codes: dict[str, int],
    asked: list[str],
    said: str,
) -> None:
    tools = Tools(kind, codes)
    monkeypatch.setattr(module, "run", tools)
    notes = repair_fat(str(partition))
    assert [command[0] for command in tools.commands] == asked
    assert all(command[-1] == str(partition) for command in tools.commands)
    assert len(notes) == bool(said)
    assert said in "".join(notes)


def test_a_lost_boot_sector_comes_back_from_its_copy(
    partition: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sector = bytes(82) + b"FAT32   " + b"x" * 420 + b"\x55\xaa"
    with partition.open("r+b") as file:
        file.seek(6 * 512)
        file.write(sector)
    tools = Tools("", {})
    monkeypatch.setattr(module, "run", tools)
    (note,) = repair_fat(str(partition))
    assert "put back" in note
    assert [command[0] for command in tools.commands] == ["blkid", "fsck.vfat"]
    assert partition.read_bytes()[:512] == sector


def test_what_cannot_be_read_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = Tools("", {})
    monkeypatch.setattr(module, "run", tools)
    (note,) = repair_fat(str(tmp_path / "gone"))
    assert "cannot be read" in note
    assert [command[0] for command in tools.commands] == ["blkid"]


def test_what_blkid_cannot_tell_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: Sequence[str], **_: object) -> Finished:
        assert command[0] == "blkid"
        return Finished(tuple(command), 8, "", "ambivalent result")

    monkeypatch.setattr(module, "run", run)
    assert repair_fat("/dev/sdc1")


def test_what_is_missing_is_put_back_and_nothing_else_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed, place = tmp_path / "seed", tmp_path / "fat"
    (seed / "kaltstart").mkdir(parents=True)
    (seed / "kaltstart/grubenv").write_bytes(b"#" * 1024)
    (seed / "policy.example.toml").write_text("ours")
    place.mkdir()
    (place / "policy.example.toml").write_text("theirs")
    monkeypatch.setattr(module, "SEED", seed)
    assert lacks_seed(place)
    restore_seed(place)
    assert not lacks_seed(place)
    assert (place / "kaltstart/grubenv").read_bytes() == b"#" * 1024
    assert (place / "policy.example.toml").read_text() == "theirs"
    assert not list(place.rglob("*.new"))


def test_documents_of_another_version_are_replaced_and_what_a_person_edits_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed, place = tmp_path / "seed", tmp_path / "fat"
    names = ("manual.html", "plan.schema.json", "plan.example.toml", "kaltstart/grubenv")
    for folder, text in ((seed, "new"), (place, "old")):
        (folder / "kaltstart").mkdir(parents=True)
        for name in names:
            (folder / name).write_text(text)
    monkeypatch.setattr(module, "SEED", seed)
    assert has_old_documents(place)
    restore_seed(place)
    assert not has_old_documents(place)
    assert [(place / name).read_text() for name in names] == ["new", "new", "old", "old"]
