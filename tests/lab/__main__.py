# SPDX-License-Identifier: Apache-2.0
"""`ci/lab`: one campaign in the lab, from the command line."""

import argparse
import os
import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType

from appliance.units import printable
from tests.lab.campaign import IMAGE, Limits, Result, Trial, run_campaign
from tests.lab.devices import choose_firmware
from tests.lab.drive_table import DrivesError
from tests.lab.drives import DEFAULT_DRIVES, ModelledDrive, parse_drives, parse_stick
from tests.lab.machine import FIRMWARES
from tests.lab.stick import StickError
from tests.lab.wake import WAKES

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> int:
    """Run the campaign and say how it went: 0 only if it ended without a failed sample."""
    arguments = _arguments()
    for signum in _SIGNALS:
        signal.signal(signum, _stop)
    if arguments.pid_file:
        arguments.pid_file.write_text(f"{os.getpid()}\n")
    drives: tuple[ModelledDrive, ...] = DEFAULT_DRIVES
    port, faults = parse_stick("")
    shown_plan = arguments.shown_plan or arguments.plan
    try:
        with _named(arguments.shown_drives or arguments.drives):
            if arguments.drives:
                described = arguments.drives.read_text()
                drives = parse_drives(described, folder=arguments.drives.parent)
                _check_files(drives)
                port, faults = parse_stick(described)
            firmware = choose_firmware(arguments.firmware, drives=drives, stick_port=port)
        with _named(shown_plan):
            plan = arguments.plan.read_text()
    except _UnusableFileError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2
    trial = Trial(
        processors=2,
        out=arguments.out.absolute(),
        plan=plan,
        image=arguments.image.absolute(),
        drives=drives,
        firmware=firmware,
        stick_port=port,
        stick_faults=faults,
        limits=replace(Limits(), total_s=arguments.timeout * 60),
        interactive=arguments.interactive,
        interface=True,
        from_start=True,
        await_off=True,
        wake=arguments.wake,
        say=_say,
    )
    shown_out = arguments.shown_out or trial.out
    try:
        result = run_campaign(trial)
    except (StickError, OSError) as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"lab: stopped; what was stored by then is in {shown_out}", file=sys.stderr)
        return 130
    _sum_up(result, plan=shown_plan, out=shown_out, again=arguments.again)
    return 0 if result.ok else 1


class _UnusableFileError(Exception):
    """A file that was named; the text begins with its name."""


@contextmanager
def _named(file: Path | None) -> Iterator[None]:
    """Say of which file it is what cannot be read or is wrong in it."""
    try:
        yield
    except OSError as error:
        raise _UnusableFileError(f"{file}: {error.strerror}") from error
    except (UnicodeDecodeError, DrivesError) as error:
        raise _UnusableFileError(f"{file}: {error}") from error


def _check_files(drives: Sequence[ModelledDrive]) -> None:
    for drive in drives:
        if drive.file is not None and not drive.file.is_file():
            raise DrivesError(f"drive {printable(drive.serial)}: there is no file {drive.file}")


def _sum_up(result: Result, *, plan: Path, out: Path, again: str) -> None:
    for row in result.boot_times():
        without = "not timed" if row.trained and row.valid else "failed"
        seconds = without if row.boot_s is None else f"{row.boot_s:.1f} s"
        charted = " charted" if row.charted else ""
        _say(f"  {printable(row.drive_serial)}  cycle {row.cycle}{charted}  {seconds}")
    effort = f"{result.power_ons} power-ons, {result.seconds / 60:.1f} min"
    if result.ok:
        _say(f"lab: done ({effort}); everything lies in {out}")
        return
    reason = f": {result.reason}" if result.reason else ""
    _say(f"lab: FAILED: {result.outcome}{reason} ({effort})")
    if result.outcome == "refused":
        _say(f"lab: plan: {plan}")
    _say(f"lab: serial line: {out}/serial.log")
    if (result.out / "failure.png").exists():
        _say(f"lab: screen: {out}/failure.png")
    _say(f"lab: again: {again or shlex.join(['python3', '-m', 'tests.lab', *sys.argv[1:]])}")


def _arguments() -> argparse.Namespace:
    # Whole words only: ci/lab looks for them, too.
    parser = argparse.ArgumentParser(prog="ci/lab", description=__doc__, allow_abbrev=False)
    parser.add_argument("--plan", type=Path, required=True)
    parser.add_argument("--drives", type=Path)
    parser.add_argument("--firmware", choices=FIRMWARES)
    parser.add_argument("--image", type=Path, default=IMAGE)
    parser.add_argument("--out", type=Path, default=Path("build/lab"))
    parser.add_argument("--timeout", type=float, default=60, metavar="MINUTES")
    parser.add_argument("--wake", choices=WAKES, default="alarm")
    parser.add_argument("--interactive", action="store_true")
    # From ci/lab, which may hand copies in and carry the results out: what the person knows.
    for name in ("--shown-plan", "--shown-drives", "--shown-out"):
        parser.add_argument(name, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--again", default="", help=argparse.SUPPRESS)
    # Where ci/lab looks for the process to which it passes signals on.
    parser.add_argument("--pid-file", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def _say(text: str) -> None:
    print(text, flush=True)


def _stop(signum: int, frame: FrameType | None) -> None:
    # Only once: from now on the machine is stopped and its stick is read.
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
