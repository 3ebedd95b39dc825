# SPDX-License-Identifier: Apache-2.0
"""From power-on to a running inspection of all drives with two keys, and no drive is written to."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.lab.campaign import IMAGE
from tests.lab.drives import DriveBay, ModelledDrive
from tests.lab.machine import PATIENCE_S, MachineSetup
from tests.lab.monitor import Monitor
from tests.lab.saved import restored
from tests.lab.screens import load_look
from tests.lab.stick import get_database, make_stick
from tests.lab.terminal import Terminal

# On SATA: of what QEMU emulates only its ATA drives know a self-test.
_DRIVES = [
    ModelledDrive(serial=f"LAB-NEW-{number}", name=f"new-{number}", size_bytes=256 << 20)
    for number in (1, 2, 3)
]

# From the first key at the monitor on, as if the measurements left it no time: it sees nothing of
# the campaign but its end.
_HOLD_SERIAL_INTERFACE = """\
until [ -e /run/kaltstart/tui/pressed-tty1 ]; do sleep 0.2; done
systemctl kill --signal=STOP kaltstart-tui@ttyS0.service
until dmesg | grep -q 'kaltstart: campaign-done'; do sleep 1; done
systemctl kill --signal=CONT kaltstart-tui@ttyS0.service
"""


def test_two_keys_on_the_screen_inspect_all_drives(out: Path) -> None:
    setup = MachineSetup(
        stick=make_stick(IMAGE, out / "stick.raw"),
        serial_log=out / "serial.log",
        interface=True,
        agent=_HOLD_SERIAL_INTERFACE,
    )
    font, _ = load_look()
    terminal = Terminal()
    try:
        with (
            DriveBay(_DRIVES, folder=out / "drives") as bay,
            restored(setup, image=IMAGE, drives=bay.attached(power_on=1)) as machine,
        ):
            # Only looked at: both consoles show the same, and a dialog is that of one of them.
            terminal.attach(machine.serial_line)
            monitor = Monitor(machine, font)
            machine.wait_event("ready", timeout_s=PATIENCE_S)
            for drive in _DRIVES:
                monitor.wait_for(rf"^ .* {drive.serial} ")
            monitor.wait_for("Enter inspect all")
            monitor.wait_gone("Still looking|asking")
            machine.screenshot(out / "vga-drives.png")
            monitor.press("ret")
            monitor.wait_for("> Start <")
            machine.screenshot(out / "vga-offer.png")
            monitor.press("ret")
            started = machine.wait_event("campaign-start", timeout_s=PATIENCE_S)
            verdicts = {}
            for _ in _DRIVES:
                said = machine.wait_event("verdict", timeout_s=PATIENCE_S).fields
                verdicts[said["drive"]] = said["verdict"]
                assert said["depth"] == "quick look"
                assert 0 < float(said["read_percent"]) < 10
            done = machine.wait_event("campaign-done", timeout_s=PATIENCE_S)
            for screen in (monitor, terminal):
                screen.wait_for("DONE, 6 of 6 steps")
            monitor.press("4")
            for serial, verdict in verdicts.items():
                monitor.wait_for(rf"(?i)^ +. {serial} +{verdict}, quick look, \d+ % read$")
            machine.screenshot(out / "vga-done.png")
            machine.press_power_button()
            machine.wait_off(timeout_s=PATIENCE_S)
        accounts = [account for drive in bay.drives for account in bay.stats(drive)]
    finally:
        terminal.close()

    assert started.fields["name"] == "incoming inspection"
    assert sorted(verdicts) == [drive.serial for drive in _DRIVES]
    assert (done.fields["steps"], done.fields["failed"]) == ("6", "0")
    assert accounts
    for account in accounts:
        assert (account["writes"], account["trims"]) == (0, 0), account
    database = get_database(setup.stick, out)
    assert database is not None
    with closing(sqlite3.connect(database)) as connection:
        steps = connection.execute(
            "SELECT kind, device, state FROM step ORDER BY position"
        ).fetchall()
        # In which order the drives are is up to the kernel.
        assert [kind for kind, _, _ in steps] == ["selftest"] * 3 + ["surface"] * 3
        assert sorted(steps) == [
            (kind, drive.serial, "done") for kind in ("selftest", "surface") for drive in _DRIVES
        ]
        released = connection.execute("SELECT count(*) FROM campaign_drive WHERE released")
        assert released.fetchone() == (0,)
