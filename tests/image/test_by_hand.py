"""A campaign composed, released, stopped, resumed and brought to its end by keys alone, on BIOS."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.lab.campaign import IMAGE
from tests.lab.drives import DriveBay, ModelledDrive
from tests.lab.machine import Machine, MachineSetup
from tests.lab.stick import get_database, make_stick
from tests.lab.terminal import Terminal

_READY_S = 300
_BOOT_S = 600


def test_a_campaign_is_composed_released_stopped_and_resumed_by_keys(out: Path) -> None:
    setup = MachineSetup(
        stick=make_stick(IMAGE, out / "stick.raw"),
        serial_log=out / "serial.log",
        firmware="bios",
    )
    terminal = Terminal()
    drive = ModelledDrive(serial="LAB-SSD-1")
    try:
        with (
            DriveBay([drive], folder=out / "drives") as bay,
            Machine(setup, drives=bay.attached(power_on=1)) as machine,
        ):
            terminal.attach(machine.serial_socket)
            machine.wait_event("ready", timeout_s=_READY_S)
            _compose(terminal)
            _release(terminal)
            machine.wait_event("campaign-start", timeout_s=_READY_S)
            terminal.wait_for("press any key")
            terminal.send("x")
            machine.wait_event("campaign-paused", timeout_s=_READY_S)
            terminal.wait_for("PAUSED")
            terminal.send("r")
            machine.wait_event("cycle-done", timeout_s=_BOOT_S)
            done = machine.wait_event("campaign-done", timeout_s=_BOOT_S)
            terminal.send("4")
            terminal.wait_for("[4 Results]")
            terminal.wait_for("LAB-SSD-1")
            (out / "serial-Results.txt").write_text(terminal.screen())
            machine.press("4")
            machine.screenshot(out / "vga-text-Results.png")
    finally:
        terminal.close()

    assert (done.fields["samples"], done.fields["failed"]) == ("1", "0")
    database = get_database(setup.stick, out)
    assert database is not None
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute(
            "SELECT drive_serial, power, cold_proof, valid FROM boot_times WHERE NOT charted"
        ).fetchall()
    assert rows == [("LAB-SSD-1", "warm", "warm", 1)]


def _compose(terminal: Terminal) -> None:
    """One warm boot of the only drive, with a small boot set."""
    terminal.send("2")
    terminal.wait_for("[2 Plan]")
    terminal.send("n")
    terminal.wait_for("New campaign")
    terminal.send("Space")
    terminal.wait_for("[x]")
    # Name, boot timing itself, boots, boot set, power.
    terminal.send("Tab", "Tab", "Tab", "C-u", "1", "Tab", "C-u", "4", "M", "Tab", "Enter")
    terminal.wait_for("warm: restart")
    # Charts, eight other tests, Cancel, Continue.
    terminal.send(*["Tab"] * 11, "Enter")
    terminal.wait_for("Release drive 1 of 1")


def _release(terminal: Terminal) -> None:
    """Type a wrong serial, then the end of the right one."""
    terminal.send("Up", "wrong!", "Enter")
    terminal.wait_for("Not released")
    terminal.send("-SSD-1", "Enter")
