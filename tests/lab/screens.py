"""`ci/screens`: every page as a picture, on VGA and framebuffer consoles and on a serial line."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tests.lab.campaign import REPO, Limits, Result, Trial, run_campaign
from tests.lab.drives import DEFAULT_DRIVES, DriveBay
from tests.lab.machine import LabTimeoutError, Machine, MachineOffError, MachineSetup
from tests.lab.picture import Colour, draw_screen, parse_palette
from tests.lab.psf import ConsoleFont, parse_psf
from tests.lab.qmp import QmpError
from tests.lab.stick import StickError
from tests.lab.terminal import Terminal
from tui.screens.page import PAGES

_READY_S = 300
_FONT = REPO / "build/console/kaltstart-16.psf"
_PALETTE = REPO / "mkosi.extra/usr/share/kaltstart/console/palette"
_COLUMNS, _ROWS = 80, 24

# Something of each kind of result, on the SSD alone, which is quick; the others stand in the list.
_PLAN = """\
version = 1
[campaign]
name = "Pictures of every page"
autostart = true
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


@dataclass(frozen=True, slots=True)
class Console:
    """A screen to be photographed."""

    name: str
    firmware: str
    display: str
    """QEMU's device."""


CONSOLES = (
    # Its driver is not in the image (KernelModulesExclude in mkosi.conf), so that text mode stays.
    Console("vga-text", "bios", "ati-vga,model=rv100"),
    Console("uefi-1024x768", "uefi", "VGA,xres=1024,yres=768"),
    Console("uefi-1920x1080", "uefi", "VGA,xres=1920,yres=1080"),
    Console("uefi-3840x2160", "uefi", "VGA,xres=3840,yres=2160,vgamem_mb=64"),
)


def take_pictures(out: Path) -> None:
    """All of them; one PNG for each page and console, `serial-80x24-…` with its text beside it."""
    campaign = out / "campaign"
    result = _run_short_campaign(campaign)
    if not result.ok:
        raise LabTimeoutError(
            f"the campaign is {result.outcome} {result.reason}; see {campaign}/serial.log"
        )
    for console in CONSOLES:
        print(f"screens: {console.name}", flush=True)
        photograph(console, campaign / "stick.raw", out, serial=console is CONSOLES[0])


def photograph(console: Console, stick: Path, out: Path, *, serial: bool) -> None:
    """Boot the stick on one console, and take all pages there; with `serial` there as well."""
    setup = MachineSetup(
        stick=stick,
        serial_log=out / f"{console.name}.log",
        firmware=console.firmware,
        display=console.display,
        processors=2,
    )
    with (
        DriveBay(DEFAULT_DRIVES, folder=out / "drives") as bay,
        Machine(setup, drives=bay.attached(power_on=1)) as machine,
        _terminal(machine) as terminal,
    ):
        machine.wait_event("ready", timeout_s=_READY_S)
        # Both interfaces start at the same time, and one of them can be read.
        terminal.wait_for(f"[{PAGES[0][0]} {PAGES[0][2]}]")
        if serial:
            _photograph_terminal(terminal, out)
        _photograph_screen(machine, out, console.name)


def load_look() -> tuple[ConsoleFont, tuple[Colour, ...]]:
    """The font of the built image for small screens, and its colours."""
    return parse_psf(_FONT.read_bytes()), parse_palette(_PALETTE.read_text())


def _run_short_campaign(out: Path) -> Result:
    limits = replace(Limits(), total_s=2400)
    return run_campaign(Trial(out=out, plan=_PLAN, processors=2, limits=limits))


@contextmanager
def _terminal(machine: Machine) -> Iterator[Terminal]:
    terminal = Terminal()
    try:
        terminal.attach(machine.serial_socket)
        yield terminal
    finally:
        terminal.close()


def _photograph_terminal(terminal: Terminal, out: Path) -> None:
    font, palette = load_look()

    def photograph(name: str) -> None:
        path = out / f"serial-{_COLUMNS}x{_ROWS}-{name}"
        path.with_suffix(".txt").write_text(terminal.screen())
        text = terminal.screen(styled=True)
        picture = draw_screen(text, font=font, palette=palette, columns=_COLUMNS, rows=_ROWS)
        picture.save(path.with_suffix(".png"))

    for key, _, title in PAGES:
        terminal.send(key)
        terminal.wait_for(f"[{key} {title}]")
        photograph(f"{key}-{title}")
    terminal.send("F1")
    terminal.wait_gone(f"[{key} {title}]")
    photograph("help")
    terminal.send("Escape")


def _photograph_screen(machine: Machine, out: Path, console: str) -> None:
    content = b""
    for key, _, title in PAGES:
        machine.press(key)
        content = machine.settled_screenshot(out / f"{console}-{key}-{title}.png", unlike=content)
    machine.press("f1")
    machine.settled_screenshot(out / f"{console}-help.png", unlike=content)


def main() -> int:
    """Take them; 0 only if all were taken."""
    out = Path(sys.argv[1])
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    try:
        take_pictures(out)
    except (LabTimeoutError, MachineOffError, QmpError, StickError, OSError) as error:
        print(f"screens: {error}", file=sys.stderr)
        return 1
    print(f"screens: {len(list(out.glob('*.png')))} pictures are in {out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
