# SPDX-License-Identifier: Apache-2.0
"""bcache's control files as a folder: the backing drive sda and its cache sdb run as bcache0."""

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from appliance.arrays import control as kernel
from appliance.arrays.model import Array, CacheFate, label_of
from appliance.arrays.state import format_amount
from appliance.arrays.superblock import Superblock
from appliance.drives.unlock import Unlocked

SET_UUID = "6b616c74-0003-4001-8abc-0123456789ab"
ARRAY = Array(SET_UUID, "bcache0", "sda", "sdb")
BACKING_FILES = {
    "state": "clean",
    "dirty_data": "0.0k",
    "cache_mode": "writethrough [writeback] writearound none",
    "detach": "",
    "writeback_running": "1",
    "writeback_delay": "30",
    "writeback_percent": "10",
}
"""What the kernel shows of a backing drive, beside its label."""


@dataclass
class FakeKernel:
    """What is in the files, and what becomes of it."""

    folder: Path

    @property
    def backing(self) -> Path:
        """The backing drive's control files."""
        return self.folder / "block/sda/bcache"

    @property
    def label(self) -> str:
        """What the backing drive is called."""
        return (self.backing / "label").read_text()

    def say(self, name: str, text: str) -> None:
        """In a file of the backing drive."""
        (self.backing / name).write_text(text)

    def lose_cache(self) -> None:
        """Its drive fails with nothing dirty: the link goes, and no file says anything else."""
        (self.backing / "cache").unlink()

    def vanish(self) -> None:
        """The kernel stops the array."""
        self.backing.rename(self.folder / "away")

    def detach(self) -> None:
        """On purpose."""
        self.say("state", "no cache")
        self.lose_cache()

    def write(self, path: Path, text: str) -> None:
        """As write_text, with what follows from it."""
        match path.name:
            case "cache_mode":
                text = f"[{text}]"
            case "sequential_cutoff":
                text = format_amount(int(text))
        path.write_text(text)
        if path.name == "detach":
            self.detach()


def make_fake_kernel(folder: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKernel:
    """The array runs with its cache, and nothing is dirty."""
    fake = FakeKernel(folder)
    fake.backing.mkdir(parents=True)
    for name, text in {"label": label_of(SET_UUID), **BACKING_FILES}.items():
        fake.say(name, text)
    (fake.backing / "cache").symlink_to(f"../../../fs/bcache/{SET_UUID}")
    monkeypatch.setattr(kernel, "BLOCK", folder / "block")
    monkeypatch.setattr(kernel, "write_text", fake.write)
    monkeypatch.setattr(kernel, "SETS", folder / "fs/bcache")
    return fake


def member(name: str, *, serial_doubt: str = "") -> Unlocked:
    """A drive that is unlocked."""
    drive = SimpleNamespace(name=name, identity=f"LAB-{name}", serial_doubt=serial_doubt)
    return cast("Unlocked", SimpleNamespace(path=f"/dev/{name}", drive=drive))


def backing_superblock(fate: CacheFate, *, set_uuid: str = SET_UUID) -> Superblock:
    """Of sda."""
    return Superblock("backing", True, set_uuid, label_of(SET_UUID, fate), 512, "clean")


CACHE_SUPERBLOCK = Superblock("cache", True, SET_UUID, "", 512)
