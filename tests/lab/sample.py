# SPDX-License-Identifier: Apache-2.0
"""`ci/screens --docs`: the pictures of the README, and the sample report, from the lab.

The campaign of the sample report is an inspection of three modelled drives, one of which cannot
read some of its sectors. They are as slow as `docs/sample/README.md` says.
"""

import argparse
import shutil
import sys
from pathlib import Path

from tests.lab.browser import Browser, BrowserError
from tests.lab.campaign import REPO, Trial, run_campaign
from tests.lab.drives import parse_drives
from tests.lab.machine import LabTimeoutError, MachineOffError
from tests.lab.qmp import QmpError
from tests.lab.screens import make_sticks, photograph
from tests.lab.stick import StickError

_PLAN = """\
version = 1
[campaign]
name = "Incoming, rack 4"
autostart = true
on_finish = "poweroff"
[[drive]]
serial = "LAB-HDD-1"
label = "bay 1"
[[drive]]
serial = "LAB-HDD-2"
label = "bay 2"
[[drive]]
serial = "LAB-SSD-1"
label = "bay 3"
[[workload]]
kind = "surface"
[[workload]]
kind = "fio"
filesystem = "none"
tests = ["seq-read", "rand-read"]
page_cache = "bypass"
size = "64M"
runtime = 10
"""
# A tenth of what such drives do (screens.py): a disk of 180 to 90 MB/s and 5 to 20 ms, an SSD of
# 500 MB/s and 0.1 ms.
# On SCSI, as errors of reads under a queue are lost on SATA (faults.py).
_DISK = """\
model = "hdd"
bus = "scsi"
size = "256M"
rate_outer = 18000000
rate_inner = 9000000
seek_min_s = 0.05
seek_half_s = 0.12
seek_max_s = 0.2
"""
DRIVES = f"""\
[[drive]]
serial = "LAB-HDD-1"
{_DISK}
[[drive]]
serial = "LAB-HDD-2"
faults = ["read-error@100M+64K"]
{_DISK}
[[drive]]
serial = "LAB-SSD-1"
model = "ssd"
size = "256M"
rate = 50000000
latency_s = 0.001
"""
_PAGES = ("report.html", "verdicts.html")
_CONSOLE = "uefi-1024x768"
_WIDTH = 1000


def make_sample(out: Path, folder: Path) -> None:
    """Run the campaign in `out`, and put its two pages into `folder`. Raises LabTimeoutError."""
    drives = parse_drives(DRIVES)
    # By the machine's own clock: a busy host must not show in the curves.
    result = run_campaign(
        Trial(out=out, plan=_PLAN, drives=drives, from_start=True, icount_shift=1)
    )
    report = out / "report"
    if result.outcome != "done" or not all((report / name).exists() for name in _PAGES):
        raise LabTimeoutError(
            f"the campaign is {result.outcome} {result.reason}; see {out}/serial.log"
        )
    folder.mkdir(exist_ok=True)
    for name in _PAGES:
        shutil.copyfile(report / name, folder / name)


def main() -> int:
    """Make the sample alone, or the pictures too; 0 only if all is there."""
    parser = argparse.ArgumentParser(prog="ci/screens --docs", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sample-only", action="store_true")
    options = parser.parse_args()
    docs = REPO / "docs"
    try:
        make_sample(options.out / "sample", docs / "sample")
        with Browser() as browser:
            browser.open(docs / "sample/report.html", width=_WIDTH)
            browser.take_picture(docs / "report.png")
        if not options.sample_only:
            photograph(_CONSOLE, make_sticks(options.out), options.out)
            shutil.copyfile(options.out / f"{_CONSOLE}-en-run-step.png", docs / "run.png")
    except (
        BrowserError, LabTimeoutError, MachineOffError, OSError, QmpError, StickError,
    ) as error:  # fmt: skip
        print(f"screens: {error}", file=sys.stderr)
        return 1
    print("screens: docs/run.png, docs/report.png and docs/sample are new; look at them")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
