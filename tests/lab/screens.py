# SPDX-License-Identifier: Apache-2.0
"""`ci/screens`: every page as a picture, on VGA and framebuffer consoles and on a serial line."""

import argparse
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from tests.lab.campaign import IMAGE, REPO, Limits, Trial, run_campaign
from tests.lab.drives import DEFAULT_DRIVES, DriveBay
from tests.lab.machine import LabTimeoutError, Machine, MachineOffError, MachineSetup
from tests.lab.picture import Colour, parse_palette
from tests.lab.pictured import FINISHED, RUNNING, SAVED_PLAN, SCENES
from tests.lab.psf import ConsoleFont, parse_psf
from tests.lab.qmp import QmpError
from tests.lab.stick import StickError, make_stick, put_file
from tests.lab.terminal import Terminal
from tests.lab.timing import Zones
from tests.lab.views import ScreenView, TerminalView, View

_READY_S = 600
_FONT = REPO / "build/console/kaltstart-16.psf"
_PALETTE = REPO / "mkosi.extra/usr/share/kaltstart/console/palette"
_LANGUAGES = ("en", "de")
_FOLLOWS_S = 5
"""Until an interface shows what a key led to, or the other one shows already."""
_CHARTS_S, _COUNTED_S = 20, 20


@dataclass(frozen=True, slots=True)
class Console:
    """A screen to be photographed."""

    firmware: str
    display: str
    """QEMU's device; by default its standard one."""
    on_line: bool = False
    """Whether the terminal at the serial line is the one to be photographed."""


CONSOLES = {
    # Its driver is not in the image (KernelModulesExclude in mkosi.conf), so that text mode stays.
    "vga-text": Console("bios", "ati-vga,model=rv100"),
    "uefi-1024x768": Console("uefi", "VGA,xres=1024,yres=768"),
    "uefi-1920x1080": Console("uefi", "VGA,xres=1920,yres=1080"),
    "uefi-3840x2160": Console("uefi", "VGA,xres=3840,yres=2160,vgamem_mb=64"),
    "serial-80x24": Console("uefi", "", on_line=True),
}

_PLATTER = Zones(outer_bytes_s=18_000_000, inner_bytes_s=9_000_000)
_CABLE_BYTES_S = 50_000_000
"""A tenth of what disks and SSDs do: the quickest that an emulated machine sees undisturbed."""
DRIVES = tuple(
    replace(
        drive,
        timing=replace(
            drive.timing,
            rate_bytes_s=_CABLE_BYTES_S,
            zones=None if drive.model == "ssd" else _PLATTER,
        ),
    )
    for drive in DEFAULT_DRIVES
)
"""In the pictures no drive is quicker than drives are."""


def make_sticks(out: Path) -> Path:
    """A stick with a finished campaign, the plan of one that can be started, and a kept plan."""
    campaign = out / "campaign"
    stick = campaign / "stick.raw"
    if not stick.exists() or not (campaign / "report").exists() or _is_older(stick, IMAGE):
        limits = replace(Limits(), total_s=2400)
        result = run_campaign(
            Trial(out=campaign, plan=FINISHED, drives=DRIVES, processors=2, limits=limits)
        )
        if not result.ok:
            raise LabTimeoutError(
                f"the campaign is {result.outcome} {result.reason}; see {campaign}/serial.log"
            )
    put_file(stick, "plan.toml", RUNNING)
    put_file(stick, "plans/pictures.toml", SAVED_PLAN)
    return stick


def _is_older(path: Path, other: Path) -> bool:
    return path.stat().st_mtime < other.stat().st_mtime


def photograph(name: str, finished: Path, out: Path) -> None:
    """Boot a copy of the stick on one console, and take all its pages there, and a step."""
    console = CONSOLES[name]
    folder = out / f"{name}-machine"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    stick = make_stick(finished, folder / "stick.raw", grow_bytes=0)
    setup = MachineSetup(
        stick=stick,
        serial_log=folder / "serial.log",
        firmware=console.firmware,
        display=console.display,
        processors=2,
        interface=True,
    )
    with (
        DriveBay(DRIVES, folder=folder / "drives") as bay,
        Machine(setup, drives=bay.attached(power_on=1)) as machine,
        _terminal(machine) as terminal,
    ):
        machine.wait_event("ready", timeout_s=_READY_S)
        # Both interfaces start at the same time, and one of them can be read.
        for text in ("idle: Ready", "LAB-HDD-1"):
            terminal.wait_for(text)
        view = _open_view(machine, terminal, folder, on_line=console.on_line)
        for language in _LANGUAGES:
            start = out / f"{name}-{language}"
            if language != _LANGUAGES[0]:
                _switch_language(view, terminal)
            _photograph_pages(view, start)
            if console.on_line:
                _count_idle_bytes(view, machine, start.with_name(f"{start.name}-bytes.txt"))
            keys = ("2", "s") if language == _LANGUAGES[0] else ("3", "r")
            _photograph_step(view, start, keys, terminal, machine)
    stick.unlink()


def _open_view(machine: Machine, terminal: Terminal, folder: Path, *, on_line: bool) -> View:
    if on_line:
        font, palette = load_look()
        return TerminalView(terminal, font=font, palette=palette)
    view = ScreenView(machine, folder / "now.png")
    view.wait_until_up()
    return view


def load_look() -> tuple[ConsoleFont, tuple[Colour, ...]]:
    """The font of the built image for small screens, and its colours."""
    return parse_psf(_FONT.read_bytes()), parse_palette(_PALETTE.read_text())


@contextmanager
def _terminal(machine: Machine) -> Iterator[Terminal]:
    terminal = Terminal()
    try:
        terminal.attach(machine.serial_line)
        yield terminal
    finally:
        terminal.close()


def _photograph_pages(view: View, start: Path) -> None:
    for scene in SCENES:
        for key in scene.keys:
            view.press(key)
            time.sleep(scene.rest_s)
        view.photograph(start.with_name(f"{start.name}-{scene.name}.png"))
        for key in scene.back:
            # Else the next key could come too early, or the next picture be of what this one leads
            # back to.
            view.press(key)
            view.settle()


def _switch_language(view: View, terminal: Terminal) -> None:
    """To the second in the list of the page Machine; it holds for both interfaces."""
    # The terminal shows that the campaign is stopped; the other may not know it yet.
    time.sleep(_FOLLOWS_S)
    for key in ("5", "l", "Down"):
        view.press(key)
        view.settle()
    view.press("Enter")
    terminal.wait_for("F1 Hilfe")
    time.sleep(_FOLLOWS_S)


def _photograph_step(
    view: View, start: Path, keys: tuple[str, str], terminal: Terminal, machine: Machine
) -> None:
    """Start the stick's plan by `keys`, or go on with it; look at its step, stop it, and look."""
    page, question = keys
    view.press(page)
    view.settle()
    view.press(question)
    view.photograph(start.with_name(f"{start.name}-question.png"))
    view.press("Tab", "Enter")
    terminal.wait_for("IOPS")
    time.sleep(_CHARTS_S)
    view.photograph(start.with_name(f"{start.name}-run-step.png"), moving=True)
    view.press("k")
    time.sleep(_FOLLOWS_S)
    view.photograph(start.with_name(f"{start.name}-run-skip.png"), moving=True)
    view.press("Escape")
    if isinstance(view, TerminalView):
        _count_bytes(machine, start.with_name(f"{start.name}-bytes.txt"), "beside a step")
    view.press("s")
    machine.wait_event("campaign-paused", timeout_s=_READY_S)
    terminal.wait_gone("IOPS")
    view.photograph(start.with_name(f"{start.name}-run-paused.png"))


def _count_idle_bytes(view: View, machine: Machine, path: Path) -> None:
    view.press("3")
    view.settle()
    _count_bytes(machine, path, "idle")
    view.press("1")
    view.settle()


def _count_bytes(machine: Machine, path: Path, when: str) -> None:
    """Add a line: what the interface sends through the line in a second, on average and at most."""
    log = machine.setup.serial_log
    sizes = [log.stat().st_size]
    for _ in range(_COUNTED_S):
        time.sleep(1)
        sizes.append(log.stat().st_size)
    each = [after - before for before, after in pairwise(sizes)]
    line = f"page Run, {when}: {sum(each) / len(each):.0f} bytes/s, at most {max(each)} bytes/s\n"
    with path.open("a") as file:
        file.write(line)
    print(f"screens: {line}", end="", flush=True)


def main() -> int:
    """Take them; 0 only if all were taken."""
    parser = argparse.ArgumentParser(prog="ci/screens", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("kinds", nargs="*", metavar="KIND", choices=CONSOLES)
    arguments = parser.parse_args()
    out, kinds = arguments.out, arguments.kinds or CONSOLES
    out.mkdir(parents=True, exist_ok=True)
    for old in (each for kind in kinds for each in out.glob(f"{kind}-*")):
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    try:
        stick = make_sticks(out)
        for kind in kinds:
            print(f"screens: {kind}", flush=True)
            photograph(kind, stick, out)
    except (LabTimeoutError, MachineOffError, QmpError, StickError, OSError) as error:
        print(f"screens: {error}", file=sys.stderr)
        return 1
    print(f"screens: {len(list(out.glob('*.png')))} pictures are in {out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
