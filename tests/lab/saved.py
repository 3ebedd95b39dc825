# SPDX-License-Identifier: Apache-2.0
"""A machine that has started, saved once, and given to every test that is not about starting.

The unmodified image boots; a credential holds its engine back, and there the whole machine is
saved as QEMU's migration stream. By then nothing of the stick but its ESP and its root was read,
and nothing was written, so each test goes on with a stick of its own: a fresh copy of the image
with a plan on it. Its drives are plugged into the machine that goes on: the order has the kernel
look for them, udev's guard sees them added, and then the engine starts.

One for each kind of machine and each image, beside the image; made by the first test that needs it.
"""

import base64
import fcntl
import hashlib
import shutil
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tests.lab.credentials import AGENT_PRELUDE, INTERFACE_WANTED
from tests.lab.devices import NVME_SLOTS
from tests.lab.drives import ModelledDrive
from tests.lab.machine import PATIENCE_S, LabTimeoutError, Machine, MachineSetup, qemu_command
from tests.lab.plug import plug
from tests.lab.qmp import QmpError
from tests.lab.stick import make_stick
from tests.lab.wake import set_clock

_FOUND_S = 600
_POLL_S = 0.1
# Of a USB drive the saved controller knows nothing, and QEMU saves no NVMe drives.
_PLUGGED = ("usb", "nvme")
# In the machine that goes on, the kernel knows of no drive yet. SATA ports that were empty are
# asked again; controllers that came with the drives are found on the PCI bus.
_ORDER = """\
date --utc --set=@{now} > /dev/null
n=0
for host in $(ls -d /sys/class/scsi_host/host* | sort --version-sort); do
  [ "$(cat "$host/proc_name")" = ahci ] && [ "$n" -lt {ports} ] || continue
  n=$((n + 1)); echo '- - -' > "$host/scan"
done
echo 1 > /sys/bus/pci/rescan
for _ in $(seq {found_s}); do
  [ "$(ls /sys/block | grep -Ec '^(sd|nvme)')" -lt {disks} ] || break
  sleep 1
done
udevadm settle --timeout=600
mkdir -p /run/kaltstart
{more}
"""


@contextmanager
def restored(
    setup: MachineSetup, *, image: Path, drives: Sequence[tuple[ModelledDrive, Path]] = ()
) -> Iterator[Machine]:
    """The saved machine, going on with this stick and these drives; its engine is about to start.

    When it starts again, it does so as any other machine of `setup`.
    """
    saved = _save_once(setup, image)
    if setup.firmware != "bios":
        shutil.copyfile(saved / "variables", setup.variable_store)
    plugged = [pair for pair in drives if pair[0].bus in _PLUGGED]
    built_in = [pair for pair in drives if pair[0].bus not in _PLUGGED]
    slots = iter(NVME_SLOTS)
    with Machine(setup, drives=built_in, state=saved / "state") as machine:
        _wait_for_status(machine, "completed")
        # It was saved while stopped; if its clock goes by its own time, that was stopped, too.
        set_clock(machine.qmp, time.time())
        machine.qmp.execute("cont")
        for drive, its_socket in plugged:
            slot = next(slots) if drive.bus == "nvme" else ""
            plug(machine, drive, its_socket, slot=slot)
        _give(machine, make_order(setup, [drive for drive, _ in drives], now_s=int(time.time())))
        yield machine


def make_order(setup: MachineSetup, drives: Sequence[ModelledDrive], *, now_s: int) -> str:
    """The script that has the kernel look for the drives and lets the engine start. Pure."""
    more = f"touch {INTERFACE_WANTED}" if setup.interface else "touch /run/kaltstart/tui/ready"
    if setup.agent:
        encoded = base64.b64encode((AGENT_PRELUDE + setup.agent).encode()).decode()
        more += f"\nbase64 -d <<< {encoded} > /run/agent"
    return _ORDER.format(
        now=now_s,
        ports=sum(drive.bus == "sata" for drive in drives),
        found_s=_FOUND_S,
        # The stick is a disk, too.
        disks=1 + sum(drive.namespaces for drive in drives),
        more=more,
    )


def read_start_s(image: Path) -> float | None:
    """Processor seconds of QEMU for the newest start that was saved; None where none was."""
    notes = sorted(
        (image.parent / "saved").glob("*/processor-seconds"), key=lambda note: note.stat().st_mtime
    )
    return float(notes[-1].read_text()) if notes else None


def _save_once(setup: MachineSetup, image: Path) -> Path:
    """The folder with the saved machine of this kind and its firmware's variables."""
    if setup.credentials or setup.second_stick or setup.interactive:
        raise ValueError("a saved machine has one stick, and takes no credentials of its own")
    folder = image.parent / "saved" / _name(setup, image)
    folder.parent.mkdir(exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            for old in folder.parent.glob(f"{setup.firmware}-*/"):
                if old.stat().st_mtime < image.stat().st_mtime:
                    shutil.rmtree(old, ignore_errors=True)  # another test may do so, too
            new = folder.with_suffix(".new")
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir()
            _save(setup, image, new)
            new.rename(folder)
    return folder


def _name(setup: MachineSetup, image: Path) -> str:
    """What tells one saved machine from another: all of its hardware, and the image."""
    plain = MachineSetup(
        stick=Path("stick"),
        serial_log=Path("log"),
        firmware=setup.firmware,
        memory_mib=setup.memory_mib,
        display=setup.display,
        processors=setup.processors,
        icount_shift=setup.icount_shift,
        stick_port=setup.stick_port,
    )
    command = qemu_command(plain, drives=[], sockets=Path("sockets"), hold=True)
    found = image.stat()
    key = f"{command} {found.st_mtime_ns} {found.st_size} {found.st_ino}"
    return f"{setup.firmware}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"


def _save(setup: MachineSetup, image: Path, folder: Path) -> None:
    stick = make_stick(image, folder / "stick.raw")
    plain = replace(
        setup,
        stick=stick,
        serial_log=folder / "serial.log",
        variables=folder / "variables",
        stick_socket=None,
        told=None,
    )
    with Machine(plain, hold=True) as machine:
        machine.wait_for("lab-order: awaited", timeout_s=PATIENCE_S)
        (folder / "processor-seconds").write_text(f"{machine.processor_s():.1f}\n")
        machine.qmp.execute("stop")
        machine.qmp.execute("migrate", uri=f"file:{folder / 'state'}")
        _wait_for_status(machine, "completed")
    stick.unlink()


def _wait_for_status(machine: Machine, wanted: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while (status := machine.qmp.execute("query-migrate").get("status")) != wanted:
        if status == "failed" or time.monotonic() > deadline:
            raise QmpError(f"the machine's state is {status}, not {wanted}")
        time.sleep(_POLL_S)


def _give(machine: Machine, order: str) -> None:
    """Hand in the order, and see that it is taken."""
    line = base64.b64encode(order.encode()) + b"\n"
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(machine.order_socket))
        connection.settimeout(PATIENCE_S)
        try:
            connection.sendall(line)
        except TimeoutError:
            raise LabTimeoutError("the machine does not take its order") from None
        # Until the machine has read it all, the line must not hang up.
        connection.settimeout(None)
        machine.wait_for("lab-order: taken", timeout_s=PATIENCE_S)
