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
from tests.lab.psf import ConsoleFont, parse_psf
from tests.lab.qmp import QmpError
from tests.lab.stick import StickError, make_stick, put_file
from tests.lab.terminal import Terminal
from tests.lab.views import ScreenView, TerminalView, View

_READY_S = 600
_FONT = REPO / "build/console/kaltstart-16.psf"
_PALETTE = REPO / "mkosi.extra/usr/share/kaltstart/console/palette"
_LANGUAGES = ("en", "de")
_FOLLOWS_S = 5
"""Until the one interface shows what the other shows already."""
_CHARTS_S = 20
_COUNTED_S = 20

# Something of each kind of result, on the SSD alone, which is quick; the others stand in the list.
_FINISHED = """\
version = 1
[campaign]
name = "Pictures of every page"
autostart = true
on_finish = "poweroff"
[[drive]]
serial = "LAB-SSD-1"
erase = "LAB-SSD-1"
[boot]
cycles = 2
power = "cold"
boot_set = "4M"
charts = "none"
wake_margin = 60
[[workload]]
kind = "fio"
filesystem = "ext4"
size = "8M"
runtime = 2
tests = ["seq-read", "rand-read"]
page_cache = "bypass"
[[workload]]
kind = "lottery"
file_size = "4M"
passes = ["cold", "warm", "direct"]
"""
# Long enough to be looked at while it runs.
_RUNNING = """\
version = 1
[campaign]
name = "In the middle of a step"
[[drive]]
serial = "LAB-SSD-1"
erase = "LAB-SSD-1"
[[drive]]
serial = "LAB-HDD-1"
[[workload]]
kind = "fio"
on = "LAB-SSD-1"
filesystem = "ext4"
size = "8M"
runtime = 600
tests = ["rand-read", "seq-read"]
page_cache = "bypass"
"""


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


@dataclass(frozen=True, slots=True)
class Scene:
    """What is photographed: the keys that lead there, and those that lead back."""

    name: str
    keys: tuple[str, ...]
    back: tuple[str, ...] = ()


SCENES = (
    Scene("drives", ("1",)),
    Scene("drives-details", ("d",), ("Escape",)),
    Scene("plan", ("2",)),
    Scene("plan-compose", ("n",), ("Escape",)),
    Scene("plan-templates", ("t",), ("Escape",)),
    Scene("plan-times", ("F2",), ("Escape",)),
    Scene("run", ("3",)),
    Scene("results", ("4",)),
    Scene("results-raw", ("Enter",), ("Escape",)),
    Scene("results-end", ("Tab", "End"), ("Home", "Tab")),
    Scene("machine", ("5",)),
    Scene("machine-keyboard", ("k",), ("Escape",)),
    Scene("machine-language", ("l",), ("Escape",)),
    Scene("machine-time", ("t",), ("Escape",)),
    Scene("machine-shell", ("x",), ("Escape",)),
    Scene("help", ("F1",)),
    Scene("manual", ("m",)),
    Scene("manual-chapter", ("Enter",), ("Escape", "Escape")),
    Scene("power", ("p",), ("Escape",)),
)


def make_sticks(out: Path) -> Path:
    """A stick that has a finished campaign on it, and the plan of one that can be started."""
    campaign = out / "campaign"
    stick = campaign / "stick.raw"
    if not stick.exists() or not (campaign / "report").exists() or _is_older(stick, IMAGE):
        limits = replace(Limits(), total_s=2400)
        result = run_campaign(Trial(out=campaign, plan=_FINISHED, processors=2, limits=limits))
        if not result.ok:
            raise LabTimeoutError(
                f"the campaign is {result.outcome} {result.reason}; see {campaign}/serial.log"
            )
        put_file(stick, "plan.toml", _RUNNING)
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
    )
    with (
        DriveBay(DEFAULT_DRIVES, folder=folder / "drives") as bay,
        Machine(setup, drives=bay.attached(power_on=1)) as machine,
        _terminal(machine) as terminal,
    ):
        machine.wait_event("ready", timeout_s=_READY_S)
        # Both interfaces start at the same time, and one of them can be read.
        terminal.wait_for("LAB-HDD-1")
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
        terminal.attach(machine.serial_socket)
        yield terminal
    finally:
        terminal.close()


def _photograph_pages(view: View, start: Path) -> None:
    for scene in SCENES:
        view.press(*scene.keys)
        view.photograph(start.with_name(f"{start.name}-{scene.name}.png"))
        if scene.back:
            # Else the next picture could be of what these keys lead back to.
            view.press(*scene.back)
            view.settle()


def _switch_language(view: View, terminal: Terminal) -> None:
    """To the second in the list of the page Machine; it holds for both interfaces."""
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
    if isinstance(view, TerminalView):
        _count_bytes(machine, start.with_name(f"{start.name}-bytes.txt"), "beside a step")
    view.press("s")
    machine.wait_event("campaign-paused", timeout_s=_READY_S)
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
    out, kinds = arguments.out, arguments.kinds or list(CONSOLES)
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
