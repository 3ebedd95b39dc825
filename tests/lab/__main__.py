"""`ci/lab`: one campaign in the lab, from the command line."""

import argparse
import shlex
import signal
import sys
from dataclasses import replace
from pathlib import Path
from types import FrameType

from appliance.units import printable
from tests.lab.campaign import IMAGE, Limits, Result, Trial, run_campaign
from tests.lab.drive_table import DrivesError
from tests.lab.drives import DEFAULT_DRIVES, ModelledDrive, parse_drives, parse_stick
from tests.lab.machine import FIRMWARES
from tests.lab.stick import StickError


def main() -> int:
    """Run the campaign and say how it went: 0 only if it ended without a failed sample."""
    arguments = _arguments()
    signal.signal(signal.SIGTERM, _stop)
    try:
        drives: tuple[ModelledDrive, ...] = DEFAULT_DRIVES
        port, faults = parse_stick("")
        if arguments.drives:
            described = arguments.drives.read_text()
            drives = parse_drives(described, folder=arguments.drives.parent)
            port, faults = parse_stick(described)
        plan = arguments.plan.read_text()
    except (OSError, DrivesError) as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2
    trial = Trial(
        processors=2,
        out=arguments.out.absolute(),
        plan=plan,
        image=arguments.image.absolute(),
        drives=drives,
        firmware=arguments.firmware,
        stick_port=port,
        stick_faults=faults,
        limits=replace(Limits(), total_s=arguments.timeout * 60),
        interactive=arguments.interactive,
        interface=True,
        from_start=True,
        await_off=True,
        say=_say,
    )
    try:
        result = run_campaign(trial)
    except (StickError, OSError) as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("lab: stopped", file=sys.stderr)
        return 130
    _sum_up(result, out=arguments.shown_out or trial.out, again=arguments.again)
    return 0 if result.ok else 1


def _sum_up(result: Result, *, out: Path, again: str) -> None:
    for row in result.boot_times():
        seconds = "failed" if row.boot_s is None else f"{row.boot_s:.1f} s"
        charted = " charted" if row.charted else ""
        _say(f"  {printable(row.drive_serial)}  cycle {row.cycle}{charted}  {seconds}")
    effort = f"{result.power_ons} power-ons, {result.seconds / 60:.1f} min"
    if result.ok:
        _say(f"lab: done ({effort}); everything lies in {out}")
        return
    reason = f": {result.reason}" if result.reason else ""
    _say(f"lab: FAILED: {result.outcome}{reason} ({effort})")
    _say(f"lab: serial line: {out}/serial.log")
    if (result.out / "failure.png").exists():
        _say(f"lab: screen: {out}/failure.png")
    _say(f"lab: again: {again or shlex.join(['python3', '-m', 'tests.lab', *sys.argv[1:]])}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="ci/lab", description=__doc__)
    parser.add_argument("--plan", type=Path, required=True)
    parser.add_argument("--drives", type=Path)
    parser.add_argument("--firmware", choices=FIRMWARES, default="uefi")
    parser.add_argument("--image", type=Path, default=IMAGE)
    parser.add_argument("--out", type=Path, default=Path("build/lab"))
    parser.add_argument("--timeout", type=float, default=60, metavar="MINUTES")
    parser.add_argument("--interactive", action="store_true")
    # From ci/lab, which may hand copies in and carry the results out: what the person knows.
    parser.add_argument("--shown-out", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--again", default="", help=argparse.SUPPRESS)
    return parser.parse_args()


def _say(text: str) -> None:
    print(text, flush=True)


def _stop(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
