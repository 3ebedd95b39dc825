# SPDX-License-Identifier: Apache-2.0
"""Plugging modelled drives in a machine without an operating system: QEMU and nbdkit, no image."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.devices import name_of
from tests.lab.drives import DriveBay, ModelledDrive
from tests.lab.machine import Machine, MachineSetup
from tests.lab.plug import plug, unplug
from tests.lab.qmp import QmpError

_SIZE = 1 << 20


@pytest.fixture
def setup(tmp_path: Path) -> MachineSetup:
    stick = tmp_path / "stick.raw"
    stick.write_bytes(bytes(_SIZE))
    return MachineSetup(
        stick=stick, serial_log=tmp_path / "serial.log", firmware="bios", memory_mib=64
    )


@pytest.fixture
def bay(tmp_path: Path) -> Iterator[DriveBay]:
    drives = [
        ModelledDrive(serial="FIRST", bus="scsi", size_bytes=_SIZE),
        ModelledDrive(serial="SECOND", bus="scsi", size_bytes=_SIZE),
        ModelledDrive(serial="THIRD", bus="usb", size_bytes=_SIZE),
        ModelledDrive(serial="FOURTH", bus="nvme", size_bytes=_SIZE),
    ]
    with DriveBay(drives, folder=tmp_path / "drives") as bay:
        yield bay


def _in_use(machine: Machine) -> set[str]:
    return {
        block["inserted"]["image"]["filename"].rpartition("/")[2]
        for block in machine.qmp.execute("query-block")
        if block["qdev"] and "inserted" in block and block["inserted"]["drv"] == "raw"
        if "nbd" in block["inserted"]["image"]["filename"]
    }


def _is_attached(machine: Machine, socket: Path) -> bool:
    path = f"/machine/peripheral/{name_of(socket)}"
    return bool(machine.qmp.execute("qom-get", path=path, property="attached"))


def test_drives_come_and_go_and_another_one_takes_the_place(
    setup: MachineSetup, bay: DriveBay
) -> None:
    first, second, third, _ = bay.drives
    with Machine(setup, drives=bay.attached(power_on=1)[:1]) as machine:
        assert len(_in_use(machine)) == 1
        plug(machine, second, bay.socket(second))
        plug(machine, third, bay.socket(third))
        assert len(_in_use(machine)) == 3
        assert _is_attached(machine, bay.socket(third))
        unplug(machine, first, bay.socket(first))
        unplug(machine, third, bay.socket(third))
        assert len(_in_use(machine)) == 1
        plug(machine, third, bay.socket(third))
        assert len(_in_use(machine)) == 2
    assert [len(bay.stats(drive)) for drive in (first, second, third)] == [1, 1, 2]


def test_what_cannot_be_plugged_is_said_and_leaves_nothing_behind(
    setup: MachineSetup, bay: DriveBay
) -> None:
    _, second, third, fourth = bay.drives
    with Machine(setup, drives=[]) as machine:
        with pytest.raises(QmpError, match="nvme"):
            plug(machine, fourth, bay.socket(fourth))
        with pytest.raises(QmpError, match="device_add"):
            plug(machine, second, bay.socket(second))  # there is no scsi controller
        with pytest.raises(QmpError, match="device_del"):
            unplug(machine, third, bay.socket(third))
        assert not machine.qmp.execute("query-named-block-nodes", flat=True)[2:]
