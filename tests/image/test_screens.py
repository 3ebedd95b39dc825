# SPDX-License-Identifier: Apache-2.0
"""The interface on the real consoles, VGA and serial: pictures of each page."""

from pathlib import Path

import pytest
from PIL import Image

from tests.lab.campaign import IMAGE
from tests.lab.drives import DEFAULT_DRIVES, DriveBay
from tests.lab.machine import PATIENCE_S, Machine, MachineSetup
from tests.lab.monitor import Monitor
from tests.lab.picture import draw_screen
from tests.lab.saved import restored
from tests.lab.screens import load_look
from tests.lab.stick import make_stick, put_file
from tests.lab.terminal import Terminal

_PLAN = """\
version = 1
[campaign]
name = "by hand"
[[drive]]
serial = "LAB-SSD-1"
erase = "LAB-SSD-1"
[boot]
cycles = 2
boot_set = "4M"
charts = "none"
wake_margin = 60
"""
_ALL_LISTED = "The stick has a plan"
"""On the page Drives: until then it says that it is still looking for them."""


def test_pages_on_vga_and_serial_and_a_campaign_started_and_stopped_by_keys(out: Path) -> None:
    setup = MachineSetup(
        stick=make_stick(IMAGE, out / "stick.raw"),
        serial_log=out / "serial.log",
        interface=True,
    )
    put_file(setup.stick, "plan.toml", _PLAN)
    terminal = Terminal()
    with DriveBay(DEFAULT_DRIVES, folder=out / "drives") as bay:
        try:
            with restored(setup, image=IMAGE, drives=bay.attached(power_on=1)) as machine:
                terminal.attach(machine.serial_line)
                machine.wait_event("ready", timeout_s=PATIENCE_S)
                font, _ = load_look()
                monitor = Monitor(machine, font)
                # All drives are listed, and have answered.
                terminal.wait_for(_ALL_LISTED)
                monitor.wait_for(_ALL_LISTED)
                pages = {"1": "Drives", "2": "Plan", "3": "Run", "4": "Results", "5": "Machine"}
                for key, name in pages.items():
                    terminal.send(key)
                    terminal.wait_for(f"[{key} {name}]")
                    (out / f"serial-{name}.txt").write_text(terminal.screen())
                    monitor.press(key)
                    # The kernel's messages may have been written across it.
                    monitor.wait_for(r"\A Kaltstart ")
                    monitor.wait_for(rf"\[{key} {name}\]")
                    monitor.wait_gone("kaltstart: ")
                    _picture(machine, out / f"vga-{name}.png")
                _assert_own_font_and_colours(out / "vga-Drives.png")
                _go_back_by_shift_tab(monitor)
                _start_and_stop(machine, terminal, out)
                monitor.wait_for(r"\A Kaltstart ")
                monitor.wait_gone("kaltstart: ")
        finally:
            terminal.close()
        written = {d.serial for d in bay.drives if sum(s["write_bytes"] for s in bay.stats(d))}
    assert written == {"LAB-SSD-1"}, "only the released drive was written to"


def _assert_own_font_and_colours(path: Path) -> None:
    """The header's first cells are drawn as they should be, and nothing in another colour."""
    font, palette = load_look()
    header = draw_screen("\x1b[30;46m Kaltstart ", font=font, palette=palette, columns=11, rows=1)
    with Image.open(path) as picture:
        shown = picture.convert("RGB")
    assert shown.crop((0, 0, *header.size)).tobytes() == header.tobytes()
    colours = {colour for _, colour in shown.getcolors(maxcolors=1 << 20) or []}
    assert colours <= set(palette)


def _go_back_by_shift_tab(monitor: Monitor) -> None:
    """On the page Machine: with the keyboard the kernel starts with, then with a German one."""
    _move_on_and_back(monitor)
    monitor.press("k")
    monitor.wait_for("Swiss, German")
    monitor.press("down", "down", "ret")
    monitor.wait_for("Keyboard accepted")
    _move_on_and_back(monitor)


def _move_on_and_back(monitor: Monitor) -> None:
    """From a field to Cancel, to Set, and back to Cancel: Tab would go to the field."""
    monitor.press("t")
    monitor.wait_for("Date and time")
    monitor.press("tab")
    monitor.wait_for("> Cancel <")
    monitor.press("tab")
    monitor.wait_for("> Set <")
    monitor.press("shift-tab")
    monitor.wait_for("> Cancel <")
    monitor.press("esc")
    monitor.wait_gone("Date and time")


def _start_and_stop(machine: Machine, terminal: Terminal, out: Path) -> None:
    """Start the stick's plan by keys, watch it, and stop it in the countdown."""
    terminal.send("1")
    terminal.wait_for("LAB-SSHD-1")
    assert "LAB-HDD-1" in terminal.screen()
    terminal.send("2")
    terminal.wait_for("[2 Plan]")
    terminal.send("s")
    terminal.wait_for("Start and erase")
    machine.poll()
    terminal.send("Enter")  # the focus is on Cancel
    terminal.wait_gone("Start and erase")
    terminal.send("s")
    terminal.wait_for("Start and erase")
    terminal.send("Tab")
    terminal.send("Enter")
    started = machine.wait_event("campaign-start", timeout_s=PATIENCE_S)
    assert started.fields["name"] == "by hand"
    terminal.wait_for("press any key")
    (out / "serial-countdown.txt").write_text(terminal.screen())
    paused = machine.press_until(lambda: terminal.send("x"), "campaign-paused")
    assert "key" in paused.fields["reason"]
    terminal.wait_for("PAUSED")
    (out / "serial-paused.txt").write_text(terminal.screen())
    _picture(machine, out / "vga-paused.png")


_WORKLOADS = """\
version = 1
[campaign]
name = "workloads by hand"
[[drive]]
serial = "LAB-SSD-1"
erase = "LAB-SSD-1"
[[workload]]
kind = "fio"
filesystem = "ext4"
size = "8M"
tests = ["seq-read", "rand-read"]
page_cache = "bypass"
[[workload]]
kind = "lottery"
file_size = "4M"
passes = ["direct", "warm"]
repeat = 60  # it goes on for minutes, and is abandoned
[[workload]]
kind = "fio"
filesystem = "ext4"
size = "8M"
tests = ["seq-read"]
page_cache = "bypass"
"""


@pytest.mark.long
def test_a_workload_is_watched_stopped_paused_skipped_and_resumed_by_keys(out: Path) -> None:
    setup = MachineSetup(
        stick=make_stick(IMAGE, out / "stick.raw"),
        serial_log=out / "serial.log",
        interface=True,
    )
    put_file(setup.stick, "plan.toml", _WORKLOADS)
    terminal = Terminal()
    drive = next(drive for drive in DEFAULT_DRIVES if drive.model == "ssd")
    try:
        with (
            DriveBay([drive], folder=out / "drives") as bay,
            restored(setup, image=IMAGE, drives=bay.attached(power_on=1)) as machine,
        ):
            terminal.attach(machine.serial_line)
            machine.wait_event("ready", timeout_s=PATIENCE_S)
            terminal.send("2")
            terminal.wait_for("[2 Plan]")
            terminal.send("n")
            terminal.wait_for("New campaign")
            drives = machine.screenshot(out / "vga-Drives.png").read_bytes()
            machine.press("2")
            plan = _picture(machine, out / "vga-Plan.png", unlike=drives)
            machine.press("n")
            _picture(machine, out / "vga-compose.png", unlike=plan)
            terminal.send("Escape")
            terminal.wait_gone("New campaign")
            machine.press("esc", "3")
            terminal.send("s")
            terminal.wait_for("Start and erase")
            terminal.send("Tab", "Enter")
            machine.wait_event("step-done", timeout_s=PATIENCE_S)
            terminal.wait_for("lottery")
            (out / "serial-step.txt").write_text(terminal.screen())
            machine.screenshot(out / "vga-step.png")
            terminal.send("s")
            paused = machine.wait_event("campaign-paused", timeout_s=PATIENCE_S)
            assert "key" in paused.fields["reason"]
            terminal.wait_for("PAUSED")
            _go_on(terminal)
            _pause_and_skip(machine, terminal, out)
            _go_on(terminal)
            done = machine.wait_event("campaign-done", timeout_s=PATIENCE_S)
            assert (done.fields["steps"], done.fields["failed"]) == ("2", "0")
            terminal.send("4")
            terminal.wait_for("[4 Results]")
            terminal.wait_for("bypass")
            (out / "serial-steps.txt").write_text(terminal.screen())
            machine.press("4")
            _picture(machine, out / "vga-steps.png")
    finally:
        terminal.close()


def _pause_and_skip(machine: Machine, terminal: Terminal, out: Path) -> None:
    """Pause behind a part, and give up the step that is next."""
    terminal.wait_for("h pause")
    terminal.send("h")
    paused = machine.wait_event("campaign-paused", timeout_s=PATIENCE_S)
    assert paused.fields["reason"] == "paused by a person"
    terminal.wait_for("k skip step")
    (out / "serial-paused.txt").write_text(terminal.screen())
    terminal.send("k")
    terminal.wait_for("Skip this step")
    (out / "serial-skip.txt").write_text(terminal.screen())
    terminal.send("Tab", "Enter")
    skipped = machine.wait_event("step-skipped", timeout_s=PATIENCE_S)
    assert (skipped.fields["kind"], skipped.fields["reason"]) == ("lottery", "by a person")
    terminal.wait_for("is skipped")


def _go_on(terminal: Terminal) -> None:
    """Let the paused campaign go on, which writes."""
    terminal.send("r")
    terminal.wait_for("Resume and write")
    terminal.send("Tab", "Enter")


def _picture(machine: Machine, path: Path, *, unlike: bytes = b"") -> bytes:
    """A picture of the settled screen, with something on it."""
    content = machine.settled_screenshot(path, unlike=unlike)
    with Image.open(path) as picture:
        colours = picture.convert("RGB").getcolors(maxcolors=1 << 20) or []
    assert len(colours) >= 2, f"{path} is empty"
    return content
