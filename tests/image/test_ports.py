# SPDX-License-Identifier: Apache-2.0
"""It starts wherever the stick is plugged in, and measures drives behind every controller."""

from pathlib import Path

import pytest

from tests.lab.campaign import IMAGE, Trial, run_campaign
from tests.lab.drives import ModelledDrive
from tests.lab.machine import PATIENCE_S, Machine, MachineSetup
from tests.lab.plug import pull_stick
from tests.lab.stick import make_stick
from tests.lab.terminal import Terminal

# The engine reads this list, which the initrd has made, before it allows a boot test.
_AGENT = """\
until dmesg | grep -q 'kaltstart: ready'; do sleep 1; done
say modules "$(grep -c '[.]ko' /run/kaltstart.initrd-modules)"
cd /sys/block
for each in sd*; do say "drivers-$each" "$(
  PYTHONSAFEPATH=1 python3 -c 'import sys
from appliance.drives.boot_modules import find_modules
print(*sorted(find_modules(sys.argv[1])))' "$each" 2>&1 | tail -n 1)"; done
say end
"""
_DRIVERS = {
    "ehci": {"sd_mod", "usb_storage", "ehci_pci"},
    "uhci": {"sd_mod", "usb_storage", "uhci_hcd"},
    "ehci-uas": {"sd_mod", "uas", "ehci_pci"},
}
"""The modules that the stick hangs on."""

_ICOUNT_SHIFT = {"uefi": 1, "bios": None}
"""A busy host is late with what a USB 2 controller has to do, and by a clock that does not wait for
it UEFI firmware gives up. SeaBIOS is the other way round: it waits in a loop, by counted
instructions far longer than the host needs, or for less than a USB 1 controller needs."""
_NOT_FOUND = (
    r"Kaltstart cannot start\. Linux does not find the stick it was started from\.\s+"
    r"Switch the machine off, plug the stick directly into another of its ports "
    r"\(USB 2 if there is one\), switch on\.\s+If that does not help, write the stick again\."
)


@pytest.mark.long
@pytest.mark.parametrize(
    ("firmware", "port"),
    [("uefi", "ehci"), ("bios", "uhci"), ("uefi", "uhci"), ("bios", "ehci-uas")],
)
def test_it_starts_from_every_usb_port(out: Path, firmware: str, port: str) -> None:
    setup = MachineSetup(
        stick=make_stick(IMAGE, out / "stick.raw"),
        serial_log=out / "serial.log",
        firmware=firmware,
        stick_port=port,
        icount_shift=_ICOUNT_SHIFT[firmware],
        agent=_AGENT,
    )
    with Machine(setup) as machine:
        ready = machine.wait_event("ready", timeout_s=PATIENCE_S)
        said = machine.listen(timeout_s=PATIENCE_S)
    assert ready.fields["firmware"] == firmware
    assert _DRIVERS[port] <= set(said["drivers-sda"].split())
    assert int(said["modules"]) > 100


@pytest.mark.long
def test_a_stick_that_linux_does_not_find_is_told_with_what_to_try(out: Path) -> None:
    setup = MachineSetup(stick=make_stick(IMAGE, out / "stick.raw"), serial_log=out / "serial.log")
    with Machine(setup) as machine:
        machine.wait_for("EFI stub: Loaded initrd", timeout_s=PATIENCE_S)
        # As if it hung on a port that the firmware drives and Linux does not.
        pull_stick(machine)
        machine.wait_for(_NOT_FOUND, timeout_s=PATIENCE_S)
        machine.settled_screenshot(out / "vga.png")


@pytest.mark.long
def test_a_person_at_the_second_serial_line_has_the_pages_too(out: Path) -> None:
    setup = MachineSetup(
        stick=make_stick(IMAGE, out / "stick.raw"),
        serial_log=out / "serial.log",
        firmware="bios",
        second_line=out / "second.log",
        interface=True,
    )
    terminal = Terminal()
    try:
        with Machine(setup) as machine:
            terminal.attach(machine.second_line)
            machine.wait_event("ready", timeout_s=PATIENCE_S)
            terminal.wait_for("[1 Drives]")
            terminal.send("5")
            terminal.wait_for("[5 Machine]")
            (out / "second.txt").write_text(terminal.screen())
    finally:
        terminal.close()


@pytest.mark.long
@pytest.mark.parametrize(
    ("firmware", "port", "buses"),
    [
        ("uefi", "ehci", ("sata", "nvme", "scsi", "raid", "sas")),
        ("bios", "uhci", ("ide",)),
    ],
)
def test_drives_behind_every_controller_are_booted_from(
    out: Path, firmware: str, port: str, buses: tuple[str, ...]
) -> None:
    drives = [ModelledDrive(serial=f"LAB-{bus}", bus=bus, size_bytes=2 << 30) for bus in buses]
    plan = (
        'version = 1\n[campaign]\nname = "server"\nautostart = true\non_finish = "poweroff"\n'
        + "".join(
            f'[[drive]]\nserial = "{drive.serial}"\nerase = "{drive.serial}"\n' for drive in drives
        )
        + '[boot]\nboot_set = "4M"\ncycles = 1\npower = "warm"\ncharts = "none"\n'
    )
    result = run_campaign(
        Trial(
            out=out,
            plan=plan,
            drives=drives,
            firmware=firmware,
            stick_port=port,
            icount_shift=_ICOUNT_SHIFT[firmware],
            from_start=True,
        )
    )
    assert result.ok, f"{result.outcome}: {result.reason}"
    booted = {row.drive_serial: row.valid for row in result.boot_times()}
    assert booted == {drive.serial: 1 for drive in drives}
