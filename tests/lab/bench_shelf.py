# SPDX-License-Identifier: Apache-2.0
"""`ci/bench shelf`: how much longer twelve drives take than one, and how often the stick is asked.

Every drive delivers as much as the others, and all of them together less than the emulated machine
carries: what is added to one drive's time is the engine's doing.
"""

import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path

from tests.lab.campaign import Trial, run_campaign
from tests.lab.drives import ModelledDrive
from tests.lab.measures import Measure
from tests.lab.timing import Timing

_COUNT = 12
_SIZE_BYTES = 128 << 20
_RATE_BYTES_S = 1 << 20
_SERIALS = tuple(f"LAB-SHELF-{number:02}" for number in range(1, _COUNT + 1))
# What is timed separates the drive that is read alone from those that are read at once.
_PLAN = (
    'version = 1\n[campaign]\nname = "shelf"\nautostart = true\n'
    + "".join(f'[[drive]]\nserial = "{serial}"\n' for serial in _SERIALS)
    + f"""\
[[workload]]
kind = "surface"
on = "{_SERIALS[0]}"
[[workload]]
kind = "fio"
filesystem = "none"
tests = ["seq-read"]
size = "1M"
runtime = 1
on = "{_SERIALS[0]}"
[[workload]]
kind = "surface"
"""
)
_CHANGE_COUNTER = slice(24, 28)
"""In the file's header; each commit adds one (sqlite.org/fileformat2.html, 1.3.7)."""


def measure_shelf(out: Path) -> list[Measure]:
    """One campaign: a surface alone, then twelve at once. Raises RuntimeError where it fails."""
    drives = [
        ModelledDrive(
            serial=serial,
            name=serial,
            bus="scsi",
            size_bytes=_SIZE_BYTES,
            timing=Timing(rate_bytes_s=_RATE_BYTES_S),
        )
        for serial in _SERIALS
    ]
    result = run_campaign(Trial(out=out, plan=_PLAN, drives=drives, processors=2))
    if not result.ok or result.database is None:
        raise RuntimeError(f"the campaign ended as {result.outcome}: {result.reason}")
    with closing(sqlite3.connect(result.database)) as connection:
        steps = connection.execute(
            "SELECT kind, started_at, finished_at FROM step ORDER BY position"
        ).fetchall()
    spans = [
        (datetime.fromisoformat(begun), datetime.fromisoformat(ended))
        for kind, begun, ended in steps
        if kind == "surface"
    ]
    alone_s = (spans[0][1] - spans[0][0]).total_seconds()
    first, last = min(begun for begun, _ in spans), max(ended for _, ended in spans)
    shelf_s = (last - min(begun for begun, _ in spans[1:])).total_seconds()
    commits = int.from_bytes(result.database.read_bytes()[_CHANGE_COUNTER], "big")
    minutes = (last - first).total_seconds() / 60
    ratio = shelf_s / alone_s
    return [
        Measure(
            name=f"surface of {_COUNT} drives over that of one, wall time",
            value=round(ratio, 3),
            unit="ratio of times",
            peer=f"one drive alone: {alone_s:.0f} s",
            goal="at most 1.15",
            holds=ratio <= 1.15,
        ),
        Measure(
            name="commits while surfaces are read",
            value=round(commits / minutes, 1),
            unit="commits per minute",
            peer="one for each slice, as before parts shared them: "
            f"{(_COUNT + 1) * 101 / minutes:.0f}",
            goal="at most 60",
            holds=commits / minutes <= 60,
        ),
    ]
