# SPDX-License-Identifier: Apache-2.0
"""`ci/demo`: the product's central figure, on three modelled drives, and the table of it."""

import sys
from dataclasses import replace
from pathlib import Path

from tests.lab.campaign import BootTime, Result, Trial, run_campaign
from tests.lab.drives import DEFAULT_DRIVES
from tests.lab.stick import StickError

CYCLES = 3
# By its own clock the emulated processor does a thousand million instructions a second on every
# host, a fifth of what a real one does: a disk's head takes five times as long as a real one's.
_ICOUNT_SHIFT = 0
_DRIVES = tuple(replace(drive, curve=drive.curve.quicker(2)) for drive in DEFAULT_DRIVES)

# Charts and the rehearsal are left out: they add boots, and the figure needs none of them.
_PLAN = """\
version = 1

[campaign]
name = "Disk, hybrid and SSD"
autostart = true
on_finish = "poweroff"

[[drive]]
serial = "LAB-HDD-1"
role = "control"
erase = "LAB-HDD-1"

[[drive]]
serial = "LAB-SSHD-1"
role = "target"
erase = "LAB-SSHD-1"

[[drive]]
serial = "LAB-SSD-1"
role = "control"
erase = "LAB-SSD-1"

[boot]
cycles = @CYCLES@
power = "cold"
boot_set = "8M"
charts = "none"
wake_margin = 60
"""

_MODELS = {"LAB-HDD-1": "disk", "LAB-SSHD-1": "hybrid", "LAB-SSD-1": "SSD"}


def run_demo(out: Path, *, cycles: int = CYCLES, await_off: bool = True) -> Result:
    """The whole campaign, hands-off, with so many boots of each drive."""
    return run_campaign(
        Trial(
            out=out,
            plan=_PLAN.replace("@CYCLES@", str(cycles)),
            drives=_DRIVES,
            icount_shift=_ICOUNT_SHIFT,
            from_start=True,
            await_off=await_off,
        )
    )


def boots_by_drive(rows: list[BootTime]) -> dict[str, list[float]]:
    """Seconds of the valid, timed boots of each drive, in the order of their cycles."""
    boots: dict[str, list[float]] = {serial: [] for serial in _MODELS}
    for row in rows:
        if row.valid and not row.charted and row.boot_s is not None:
            boots[row.drive_serial].append(row.boot_s)
    return boots


def format_table(boots: dict[str, list[float]]) -> str:
    """Boots per drive in seconds, and how much faster the best later boot is than the first."""
    most = max(map(len, boots.values()))
    head = "".join(f"{f'boot {n + 1}':>10}" for n in range(most))
    lines = [f"{'drive':<12}{'model':<8}{head}   first ÷ best later"]
    for serial, seconds in boots.items():
        cells = "".join(f"{value:>10.1f}" for value in seconds)
        gain = f"{seconds[0] / min(seconds[1:]):>8.2f}" if len(seconds) > 1 else ""
        lines.append(f"{serial:<12}{_MODELS[serial]:<8}{cells:<{10 * most}}   {gain}")
    return "\n".join(lines)


def main() -> int:
    """Run the demo; 0 only if every planned sample is in the database."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "build/demo").absolute()
    try:
        result = run_demo(out)
    except (StickError, OSError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    boots = boots_by_drive(result.boot_times())
    print(
        f"\nSeconds from the kernel's start to the end of the session, {CYCLES} cold boots each:\n"
    )
    print(format_table(boots))
    complete = all(len(seconds) == CYCLES for seconds in boots.values())
    print(
        f"\nreport:   {out}/report/report.html\ndatabase: {out}/kaltstart.sqlite (view boot_times)"
    )
    print(
        f"demo: {'done' if result.ok and complete else 'FAILED: samples are missing'}"
        f" after {result.seconds / 60:.1f} min; serial log: {out}/serial.log"
    )
    return 0 if result.ok and complete else 1


if __name__ == "__main__":
    raise SystemExit(main())
