# SPDX-License-Identifier: Apache-2.0
"""Whether the initrd has all drivers of a drive, by a /sys that is not the machine's."""

from pathlib import Path

import pytest

from appliance.drives import boot_modules
from appliance.drives.boot_modules import find_missing_modules, find_modules, parse_modules

_LISTING = """\
/usr/lib/modules/6.12.57+deb13-amd64/kernel/drivers/scsi:
megaraid
sd_mod.ko.xz
virtio_scsi.ko.zst

/usr/lib/modules/6.12.57+deb13-amd64/kernel/drivers/usb/host:
xhci-pci.ko
/usr/lib/modules/6.12.57+deb13-amd64/modules.dep
"""


class _Sys:
    """A /sys with devices and their drivers."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def bind(self, device: str, module: str, *, built_in: bool = False) -> None:
        folder = self.root / "devices" / device
        folder.mkdir(parents=True, exist_ok=True)
        driver, its_module = self.root / "drivers" / module, self.root / "module" / module
        its_module.mkdir(parents=True, exist_ok=True)
        driver.mkdir(parents=True, exist_ok=True)
        if not built_in:
            (its_module / "initstate").write_text("live\n")
        (folder / "driver").symlink_to(driver)
        if not (driver / "module").exists():
            (driver / "module").symlink_to(its_module)

    def add_block(self, name: str, device: str) -> None:
        block = self.root / "devices" / device
        block.mkdir(parents=True, exist_ok=True)
        (self.root / "class/block").mkdir(parents=True, exist_ok=True)
        (self.root / "class/block" / name).symlink_to(block)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Sys:
    machine = _Sys(tmp_path / "sys")
    monkeypatch.setattr(boot_modules, "_SYS", machine.root)
    (tmp_path / "listing").write_text(_LISTING)
    monkeypatch.setattr(boot_modules, "_INITRD_MODULES", tmp_path / "listing")
    machine.bind("pci0/1", "pcieport", built_in=True)
    machine.bind("pci0/1/2", "virtio_scsi")
    machine.bind("pci0/1/2/host0/0:0:0:0", "sd_mod")
    machine.add_block("sda", "pci0/1/2/host0/0:0:0:0/block/sda")
    return machine


def test_a_listing_is_read_by_the_kernels_names() -> None:
    assert parse_modules(_LISTING) == {"sd_mod", "virtio_scsi", "xhci_pci"}


def test_all_drivers_up_to_the_processor_count_but_not_those_built_in(machine: _Sys) -> None:
    assert find_modules("sda") == {"sd_mod", "virtio_scsi"}
    assert find_missing_modules("sda") == ()


def test_a_driver_the_initrd_lacks_is_named(machine: _Sys) -> None:
    machine.bind("pci0/1/3", "aic94xx")
    machine.bind("pci0/1/3/host1/1:0:0:0", "sd_mod")
    machine.add_block("sdb", "pci0/1/3/host1/1:0:0:0/block/sdb")
    assert find_missing_modules("sdb") == ("aic94xx",)


def test_nvme_multipath_is_followed_to_its_controllers(machine: _Sys) -> None:
    machine.bind("pci0/vmd", "vmd")
    machine.bind("pci0/vmd/4", "nvme")
    controller = machine.root / "devices/pci0/vmd/4/nvme/nvme0"
    controller.mkdir(parents=True)
    machine.add_block("nvme0n1", "virtual/nvme-subsystem/nvme-subsys0/nvme0n1")
    (machine.root / "devices/virtual/nvme-subsystem/nvme-subsys0/nvme0").symlink_to(controller)
    assert find_modules("nvme0n1") == {"nvme", "vmd"}
    assert find_missing_modules("nvme0n1") == ("nvme", "vmd")


def test_without_a_list_or_a_device_nothing_is_missing(
    machine: _Sys, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert find_missing_modules("sdz") == ()
    machine.bind("pci0/1/3", "aic94xx")
    machine.add_block("sdb", "pci0/1/3/block/sdb")
    monkeypatch.setattr(boot_modules, "_INITRD_MODULES", tmp_path / "none")
    assert find_missing_modules("sdb") == ()
