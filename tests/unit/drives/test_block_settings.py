# SPDX-License-Identifier: Apache-2.0
"""What the kernel is set to for a drive, from trees laid out as in /sys."""

from pathlib import Path

import pytest

from appliance.drives.block_settings import (
    BlockSettings,
    parse_choice,
    pick_drivers,
    read_block_settings,
)


def lay_out_disk(
    sys: Path,
    name: str,
    place: str,
    *,
    files: dict[str, str],
    drivers: dict[str, str],
    disk: str = "",
) -> None:
    """A disk whose device is at `place`; `drivers` by the folder that has the link."""
    device = sys / "devices" / place
    block = device / (disk or f"block/{name}")
    for file, text in files.items():
        path = block / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (sys / "block").mkdir(parents=True, exist_ok=True)
    (sys / "block" / name).symlink_to(block)
    (block / "device").symlink_to(device)
    for folder, driver in drivers.items():
        target = sys / "bus/drivers" / driver
        target.mkdir(parents=True, exist_ok=True)
        (sys / "devices" / folder / "driver").symlink_to(target)


# As a virtio disk of Linux 6.18 has them.
VIRTIO = {
    "queue/scheduler": "none [mq-deadline] kyber bfq \n",
    "queue/read_ahead_kb": "8192\n",
    "queue/nr_requests": "256\n",
    "queue/write_cache": "write back\n",
}


def test_a_virtio_disk_has_no_queue_depth(tmp_path: Path) -> None:
    pci = "pci0000:00/0000:00:02.0"
    drivers = {f"{pci}/virtio1": "virtio_blk", pci: "virtio-pci"}
    lay_out_disk(tmp_path, "vda", f"{pci}/virtio1", files=VIRTIO, drivers=drivers)
    assert read_block_settings("vda", sys=tmp_path) == BlockSettings(
        drivers=("virtio_blk", "virtio-pci"),
        scheduler="mq-deadline",
        read_ahead_bytes=8 << 20,
        nr_requests=256,
        queue_depth=None,
        write_cache="write back",
    )


def test_a_disk_behind_usb_names_bridge_and_controller(tmp_path: Path) -> None:
    pci = "pci0000:00/0000:00:14.0"
    lun = f"{pci}/usb2/2-1/2-1:1.0/host7/target7:0:0/7:0:0:0"
    drivers = {
        lun: "sd",
        f"{pci}/usb2/2-1/2-1:1.0": "uas",
        f"{pci}/usb2/2-1": "usb",
        f"{pci}/usb2": "usb",
        pci: "xhci_hcd",
    }
    lay_out_disk(tmp_path, "sdb", lun, files=VIRTIO, drivers=drivers)
    (tmp_path / "devices" / lun / "queue_depth").write_text("30\n")
    found = read_block_settings("sdb", sys=tmp_path)
    assert (found.drivers, found.queue_depth) == (("uas", "xhci_hcd"), 30)


@pytest.mark.parametrize("multipath", [False, True])
def test_an_nvme_disk_has_the_driver_of_its_controller(tmp_path: Path, multipath: bool) -> None:  # noqa: FBT001 - a parameter
    pci = "pci0000:00/0000:00:03.0"
    controller = tmp_path / "devices" / pci / "nvme/nvme0"
    controller.mkdir(parents=True)
    place = "virtual/nvme-subsystem/nvme-subsys0" if multipath else f"{pci}/nvme/nvme0"
    files = {"queue/scheduler": "[none] mq-deadline \n"}
    lay_out_disk(tmp_path, "nvme0n1", place, files=files, drivers={pci: "nvme"}, disk="nvme0n1")
    if multipath:
        (tmp_path / "devices" / place / "nvme0").symlink_to(controller)
    found = read_block_settings("nvme0n1", sys=tmp_path)
    assert (found.drivers, found.scheduler) == (("nvme",), "none")


def test_a_sata_port_says_what_its_link_saves(tmp_path: Path) -> None:
    host = "pci0000:00/0000:00:17.0/ata3/host2"
    place = f"{host}/target2:0:0/2:0:0:0"
    lay_out_disk(tmp_path, "sda", place, files=VIRTIO, drivers={place: "sd"})
    assert read_block_settings("sda", sys=tmp_path).link_power_policy == ""
    policy = tmp_path / "devices" / host / "scsi_host/host2/link_power_management_policy"
    policy.parent.mkdir(parents=True)
    policy.write_text("med_power_with_dipm\n")
    found = read_block_settings("sda", sys=tmp_path)
    assert (found.link_power_policy, found.link_aspm) == ("med_power_with_dipm", None)


@pytest.mark.parametrize(("is_on", "found"), [("1", "L1 L1.2"), ("0", "")])
def test_an_nvme_disk_has_the_power_saving_of_its_link(
    tmp_path: Path, is_on: str, found: str
) -> None:
    pci = "pci0000:00/0000:00:1d.0/0000:03:00.0"
    place = f"{pci}/nvme/nvme0"
    lay_out_disk(tmp_path, "nvme0n1", place, files=VIRTIO, drivers={}, disk="nvme0n1")
    (tmp_path / "devices" / place / "device").symlink_to(tmp_path / "devices" / pci)
    link = tmp_path / "devices" / pci / "link"
    link.mkdir()
    for name, text in {"l0s": "0", "l1": is_on, "l1_2": is_on}.items():
        (link / f"{name}_aspm").write_text(f"{text}\n")
    (link / "l1_2_pcipm").write_text("1\n")
    assert read_block_settings("nvme0n1", sys=tmp_path).link_aspm == found


def test_a_disk_that_is_gone_has_nothing(tmp_path: Path) -> None:
    assert read_block_settings("sdz", sys=tmp_path) == BlockSettings((), "", None, None, None, "")


@pytest.mark.parametrize(
    ("text", "found"),
    [("none [mq-deadline] bfq", "mq-deadline"), ("[none] kyber", "none"), ("none", "none")],
)
def test_the_scheduler_in_force_is_in_brackets(text: str, found: str) -> None:
    assert parse_choice(text) == found


@pytest.mark.parametrize("text", ["", "none bfq"])
def test_no_scheduler_is_guessed(text: str) -> None:
    assert not parse_choice(text)


def test_a_driver_is_named_once() -> None:
    assert pick_drivers(["sd", "ahci", "ahci", "pcieport"]) == ("ahci",)
