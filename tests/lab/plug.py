# SPDX-License-Identifier: Apache-2.0
"""Drives that come and go while the machine runs, by QEMU's control connection.

A drive that is plugged out loses its power: its process at the other end of the socket sees the
connection close.
"""

from contextlib import suppress
from pathlib import Path

from tests.lab.devices import block_nodes, hot_devices, name_of, stick_devices, usb_name
from tests.lab.drives import ModelledDrive
from tests.lab.machine import Machine
from tests.lab.qmp import QmpError

_GONE_S = 600


def plug(machine: Machine, drive: ModelledDrive, socket: Path, *, slot: str = "") -> None:
    """Plug a served drive (`DriveBay.socket`) in; the machine notices it on its own.

    A scsi drive needs a machine that was powered on with another one: the controller is theirs. An
    nvme drive needs a free `slot`, one of NVME_SLOTS, which only saved machines have. Raises
    QmpError.
    """
    if not (drive.bus == "nvme" and drive.namespaces == 1 and slot):
        _check(drive)
    for block in block_nodes(drive, socket):
        machine.qmp.execute("blockdev-add", **block)
    bridge, *behind = hot_devices(drive, socket, slot=slot)
    if behind:
        # Linux asks a bridge only once what is behind it.
        bridge |= {"attached": False}
    try:
        for device in (bridge, *behind):
            machine.qmp.execute("device_add", **device)
        if behind:
            where = f"/machine/peripheral/{name_of(socket)}"
            machine.qmp.execute("qom-set", path=where, property="attached", value=True)
    except QmpError:
        if behind:
            with suppress(QmpError):  # it may not even be there
                _pull(machine, name_of(socket))
        _remove_nodes(machine, drive, socket)
        raise


def unplug(machine: Machine, drive: ModelledDrive, socket: Path) -> None:
    """Pull a drive out, plugged in before or at power-on, and wait until QEMU has released it.

    Not for one that has stalled: QEMU waits for its requests. Raises QmpError.
    """
    _check(drive)
    _pull(machine, name_of(socket))
    _remove_nodes(machine, drive, socket)


def pull_stick(machine: Machine) -> None:
    """Pull out the stick it was started from. Raises QmpError."""
    _pull(machine, usb_name("stick1"))


def put_stick_back(machine: Machine) -> None:
    """Plug it in again, as it is now. Raises QmpError."""
    for device in stick_devices(machine.setup.stick_port, node="stick1", number=1):
        machine.qmp.execute("device_add", **device)


def _pull(machine: Machine, name: str) -> None:
    machine.qmp.execute("device_del", id=name)
    machine.qmp.wait_event("DEVICE_DELETED", timeout_s=_GONE_S, device=name)


def _check(drive: ModelledDrive) -> None:
    if drive.bus not in {"scsi", "usb"}:
        raise QmpError(f"a drive on {drive.bus} stays where it is; scsi and usb can be plugged")


def _remove_nodes(machine: Machine, drive: ModelledDrive, socket: Path) -> None:
    for block in reversed(block_nodes(drive, socket)):
        machine.qmp.execute("blockdev-del", **{"node-name": block["node-name"]})
