# SPDX-License-Identifier: Apache-2.0
"""What a campaign adds to each boot: its time beside firmware, timed boot and wake margin.

From the timed boot's end until the alarm for the next one is set: the sample, its proof, the
countdown that a key stops. Everything comes from the stored rows, so it can be asked of a campaign
on real hardware as well.
"""

import sqlite3
import statistics
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from tests.lab.campaign import Trial, run_campaign
from tests.lab.drives import ModelledDrive
from tests.lab.measures import Measure

GOAL_S = 15
_MARGIN_S = 60
_PLAN = f"""\
version = 1
[campaign]
name = "around the boots"
autostart = true
[[drive]]
serial = "LAB-SSD-1"
erase = "LAB-SSD-1"
[[drive]]
serial = "LAB-SSD-2"
erase = "LAB-SSD-2"
[boot]
cycles = 2
boot_set = "4M"
charts = "none"
wake_margin = {_MARGIN_S}
"""
_BOOTS = """
    SELECT c.alarm_at, p.wake_margin_s, s.boot_s, s.wake_skew_s
    FROM cycle c JOIN campaign p ON p.id = c.campaign_id JOIN boot_sample s ON s.cycle_id = c.id
    WHERE c.state = 'done' AND c.attempts = 1 AND c.power = 'cold' AND p.settle_s = 0
    ORDER BY c.campaign_id, c.position
"""


@dataclass(frozen=True, slots=True)
class Boot:
    """A cold boot that came at the first attempt; times of day by the hardware clock."""

    alarm_at_s: float
    margin_s: float
    """From setting the alarm to the alarm."""
    boot_s: float
    wake_skew_s: float


def find_around(boots: Sequence[Boot]) -> list[float]:
    """Seconds between the end of each timed boot and the alarm set for the next one. Pure.

    The hardware clock tells full seconds, and so do these, more or less.
    """
    return [
        (after.alarm_at_s - after.margin_s)
        - (before.alarm_at_s + before.wake_skew_s + before.boot_s)
        for before, after in pairwise(boots)
    ]


def read_boots(database: Path) -> list[Boot]:
    """The cold boots of the only campaign in it, in their order."""
    with closing(sqlite3.connect(database)) as connection:
        return [
            Boot(datetime.fromisoformat(alarm_at).timestamp(), margin_s, boot_s, skew_s)
            for alarm_at, margin_s, boot_s, skew_s in connection.execute(_BOOTS)
            if None not in (alarm_at, margin_s, boot_s, skew_s)
        ]


def compare_around(around_s: Sequence[float]) -> Measure:
    """The median against the goal."""
    value = statistics.median(around_s)
    return Measure(
        name="time around a boot: beside firmware, timed boot and wake margin",
        value=round(value, 1),
        unit="s",
        peer="Checkbox's power cycles wait 240 s",
        goal=f"at most {GOAL_S} s",
        holds=value <= GOAL_S,
    )


def measure_boots(out: Path) -> list[Measure]:
    """Cold boots of two drives in turn, in the time of the emulated processor, not the host's."""
    drives = [ModelledDrive(serial=f"LAB-SSD-{number}", model="ssd") for number in (1, 2)]
    result = run_campaign(Trial(out=out, plan=_PLAN, drives=drives, icount_shift=0))
    if not result.ok or result.database is None:
        raise RuntimeError(f"the campaign ended as {result.outcome}: {result.reason}")
    around_s = find_around(read_boots(result.database))
    if len(around_s) != 3:
        raise RuntimeError(f"boots are missing: {around_s}")
    print(f"bench: around each boot {', '.join(f'{each:.1f}' for each in around_s)} s")
    return [compare_around(around_s)]
