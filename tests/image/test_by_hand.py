# SPDX-License-Identifier: Apache-2.0
"""From a template to the figures, over a power cut: by keys before the monitor alone, on BIOS.

The stick is plugged into a USB 2 port, and loses what was not flushed when the power goes.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tests.lab.campaign import IMAGE, any_loss, describe_stick
from tests.lab.drives import DriveBay, ModelledDrive
from tests.lab.machine import PATIENCE_S, Machine, MachineSetup
from tests.lab.monitor import Monitor
from tests.lab.requestlog import Traffic, parse_traffic
from tests.lab.screens import load_look
from tests.lab.served_stick import ServedStick
from tests.lab.stick import get_database, make_stick
from tests.lab.terminal import Terminal

_KEPT, _RELEASED = "LAB-KEPT-1", "LAB-SSD-1"
_DRIVES = [ModelledDrive(serial=serial, size_bytes=2 << 30) for serial in (_KEPT, _RELEASED)]
_STARTED = "lab: the measured boot has started"
_ENDLESS = {
    "systemd.unit-dropin.kaltstart-measure.service": (
        "[Service]\nTimeoutStartSec=infinity\nExecStartPre=/bin/sh -c"
        f" 'echo \"<2>{_STARTED}\" > /dev/kmsg; exec sleep infinity'\n"
    )
}
"""A boot of the small system stops before it is timed, however late its power is cut."""


@dataclass(frozen=True, slots=True)
class _Desk:
    """One power-on, and the two screens of it."""

    machine: Machine
    monitor: Monitor
    terminal: Terminal
    """At the serial line; only looked at."""


def test_a_boot_comparison_is_released_stopped_and_goes_on_after_a_power_cut(out: Path) -> None:
    setup = MachineSetup(
        stick=make_stick(IMAGE, out / "stick.raw"),
        serial_log=out / "serial.log",
        firmware="bios",
        stick_port="ehci",
        interface=True,
    )
    loss = any_loss()
    print(describe_stick(loss))  # pytest shows it where the test fails
    with (
        DriveBay(_DRIVES, folder=out / "drives") as bay,
        ServedStick(setup.stick, loss) as stick,
    ):
        setup = replace(setup, stick_socket=stick.socket)
        with _power_on(replace(setup, credentials=_ENDLESS), bay, number=1) as desk:
            _compose(desk.monitor)
            _release(desk.monitor)
            desk.machine.wait_event("campaign-start", timeout_s=PATIENCE_S)
            _stop(desk, out / "vga-paused.png")
            _resume(desk)
            desk.machine.wait_for(re.escape(_STARTED), timeout_s=PATIENCE_S)
            desk.machine.kill()
        with _power_on(setup, bay, number=2) as desk:
            _read_what_the_cut_cost(desk, out / "vga-after-cut.png")
            done = desk.machine.wait_event("campaign-done", timeout_s=PATIENCE_S)
            shown = _read_results(desk, out / "vga-Results.png")
        accounts = bay.stats(_KEPT)
    kept, released = (_read_traffic(bay, serial) for serial in (_KEPT, _RELEASED))

    assert (done.fields["samples"], done.fields["failed"]) == ("2", "0")
    assert kept.write_bytes == 0 < released.write_bytes
    assert all((each["writes"], each["trims"]) == (0, 0) for each in accounts)
    database = get_database(setup.stick, out)
    assert database is not None
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute(
            "SELECT drive_serial, cycle, power, cold_proof, valid, boot_s FROM boot_times"
            " ORDER BY cycle"
        ).fetchall()
    # An emulated drive counts no power-ons.
    assert [row[:-1] for row in rows] == [(_RELEASED, n, "warm", "unproven", 1) for n in (1, 2)]
    assert shown == tuple(f"{row[-1]:.2f}" for row in rows)


@contextmanager
def _power_on(setup: MachineSetup, bay: DriveBay, *, number: int) -> Iterator[_Desk]:
    font, _ = load_look()
    terminal = Terminal()
    try:
        with Machine(setup, drives=bay.attached(power_on=number)) as machine:
            terminal.attach(machine.serial_line)
            machine.wait_event("ready", timeout_s=PATIENCE_S)
            yield _Desk(machine, Monitor(machine, font), terminal)
    finally:
        terminal.close()


def _compose(monitor: Monitor) -> None:
    """Two warm boots of one of the two drives, with a small boot set."""
    monitor.wait_for(_RELEASED)
    monitor.wait_gone("Still looking")
    monitor.press("2")
    monitor.wait_for(r"\[2 Plan\]")
    monitor.press("t")
    monitor.wait_for("> Boot comparison <")
    monitor.press("ret")
    for serial in (_KEPT, _RELEASED):
        monitor.wait_for(rf"\[x\] .* {serial} ")
    # The template takes every drive: leave both out, and pick the one. Which comes first is up to
    # the kernel.
    order = sorted((_KEPT, _RELEASED), key=monitor.text().index)
    monitor.press("spc")
    monitor.wait_for(rf"\[ \] .* {order[0]} ")
    monitor.press("down", "spc")
    monitor.wait_for(rf"\[ \] .* {order[1]} ")
    monitor.press(*(["up"] if order[0] == _RELEASED else []), "spc")
    monitor.wait_for(rf"\[x\] .* {_RELEASED} ")
    assert re.search(rf"\[ \] .* {_KEPT} ", monitor.text())
    # Name, boot timing itself, boots, boot set, power, charts; the mode stays.
    monitor.press("tab", "tab", "tab", "ctrl-u", "2", "tab", "ctrl-u")
    monitor.type("4M")
    monitor.press("tab", "ret")
    monitor.wait_for("warm: restart")
    monitor.press("tab", "ret")
    monitor.wait_for("charts: none")
    # The mode, ten other tests, Cancel, Continue.
    monitor.press(*["tab"] * 13)
    monitor.wait_for("> Continue <")
    monitor.press("ret")


def _release(monitor: Monitor) -> None:
    """Type a wrong serial, then the end of the right one."""
    monitor.wait_for("Release drive 1 of 1")
    monitor.wait_for("> Cancel <")
    monitor.press("up")
    monitor.type("KEPT-1\n")
    monitor.wait_for('it does not end in "KEPT-1"')
    monitor.type(_RELEASED[-6:] + "\n")


def _stop(desk: _Desk, picture: Path) -> None:
    """In the countdown that comes before power goes, by any key; `picture` is of the pause.

    It lasts seconds, and reading the picture may take longer: a key is pressed until one meets it.
    """
    desk.machine.press_until(lambda: desk.monitor.press("x"), "campaign-paused")
    for screen in (desk.monitor, desk.terminal):
        screen.wait_for("PAUSED")
    desk.machine.screenshot(picture)


def _resume(desk: _Desk) -> None:
    desk.monitor.press("r")


def _read_what_the_cut_cost(desk: _Desk, picture: Path) -> None:
    """The campaign goes on; stopped in the countdown, the page can be read at leisure."""
    _stop(desk, picture)
    desk.monitor.wait_for(r"\[3 Run\]")
    desk.monitor.wait_for(rf"cycle-armed {_RELEASED} cycle 1, attempt 2")
    failed = rf"! \S+ attempt-failed {_RELEASED} cycle 1, attempt 1 of \d+: .*power cut"
    desk.monitor.wait_for(failed)
    _resume(desk)


def _read_results(desk: _Desk, picture: Path) -> tuple[str, ...]:
    """Seconds of each boot as both screens show them."""
    desk.monitor.wait_for("DONE, 2 of 2 boots")
    desk.monitor.press("4")
    desk.monitor.wait_for(r"\[4 Results\]")
    shown = desk.monitor.wait_for(rf"(?:^| ){_RELEASED} +(\d+\.\d\d) +(\d+\.\d\d)$").groups()
    desk.monitor.press("tab")
    desk.monitor.press("pgdn")
    for cycle, figure in enumerate(shown, 1):
        desk.monitor.wait_for(rf"^ +{cycle}  warm  unproven +{figure}( |$)")
    desk.machine.screenshot(picture)
    desk.terminal.send("4")
    for figure in shown:
        desk.terminal.wait_for(figure)
    return shown


def _read_traffic(bay: DriveBay, serial: str) -> Traffic:
    log = bay.folder / f"{bay.by_serial(serial).name}.log"
    return parse_traffic(log.read_text(errors="replace"))
