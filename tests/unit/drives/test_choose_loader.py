# SPDX-License-Identifier: Apache-2.0
"""Which file of an EFI system partition starts the system on its drive."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from appliance.drives import own_loader
from appliance.drives.model import Drive
from appliance.drives.own_loader import choose_loader, find_own_loader
from appliance.errors import RefusedError
from appliance.run import Finished

DEBIAN = ["EFI/debian/shimx64.efi", "EFI/debian/grubx64.efi", "EFI/debian/fbx64.efi"]
WINDOWS = ["EFI/Microsoft/Boot/bootmgfw.efi", "EFI/Microsoft/Boot/memtest.efi"]
FALLBACK = ["EFI/BOOT/BOOTX64.EFI"]


@pytest.mark.parametrize(
    ("files", "loader"),
    [
        (DEBIAN, "EFI/debian/shimx64.efi"),
        ([*DEBIAN, *FALLBACK, "EFI/BOOT/fbx64.efi"], "EFI/debian/shimx64.efi"),
        (["EFI/debian/grubx64.efi"], "EFI/debian/grubx64.efi"),
        ([*WINDOWS, *FALLBACK], "EFI/Microsoft/Boot/bootmgfw.efi"),
        ([*WINDOWS, *DEBIAN], "EFI/debian/shimx64.efi"),
        (["EFI/systemd/systemd-bootx64.efi", *FALLBACK], "EFI/systemd/systemd-bootx64.efi"),
        (["EFI/Linux/arch.efi", *FALLBACK], "EFI/BOOT/BOOTX64.EFI"),
        (["efi/boot/bootx64.efi"], "efi/boot/bootx64.efi"),
        (["EFI/ubuntu/shimx64.efi", "EFI/fedora/shimx64.efi"], "EFI/fedora/shimx64.efi"),
    ],
)
def test_a_systems_own_loader_comes_first(files: list[str], loader: str) -> None:
    assert choose_loader(files) == loader
    assert choose_loader(reversed(files)) == loader


@pytest.mark.parametrize(
    "files",
    [
        [],
        ["EFI/Linux/arch.efi"],
        # Shim's fallback writes boot entries and BootOrder.
        ["EFI/BOOT/BOOTX64.EFI", "EFI/BOOT/fbx64.efi"],
        ["EFI/kaltstart/shimx64.efi", "EFI/kaltstart/grubx64.efi"],
        # No boot entry can name it.
        ["EFI/\udcff/grubx64.efi"],
    ],
)
def test_what_starts_no_system_of_the_drives_is_not_taken(files: list[str]) -> None:
    assert choose_loader(files) == ""


def test_a_partition_that_udev_does_not_know_yet_is_refused(
    zoo: dict[str, Drive], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its UUID there is nothing that the firmware could be told."""
    (tmp_path / "EFI/debian").mkdir(parents=True)
    (tmp_path / "EFI/debian/grubx64.efi").touch()
    drive = next(iter(zoo.values()))
    esp = {"path": "/dev/sda1", "parttype": own_loader._ESP, "partuuid": None}
    listed = {"path": "/dev/sda", "parttype": None, "partuuid": None, "children": [esp]}
    told = json.dumps({"blockdevices": [listed]})

    @contextmanager
    def mounted(*_: object, **__: object) -> Iterator[Path]:
        yield tmp_path

    monkeypatch.setattr(own_loader, "run", lambda *_: Finished((), 0, told, ""))
    monkeypatch.setattr(own_loader, "mounted", mounted)
    with pytest.raises(RefusedError, match="cannot be read"):
        find_own_loader(drive)
