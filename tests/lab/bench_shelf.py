# SPDX-License-Identifier: Apache-2.0
"""`ci/bench shelf`: how much longer twelve drives take than one, and what that costs.

Every drive delivers as much as the others, and all of them together less than the emulated machine
carries: what is added to one drive's time is the engine's doing. The engine's processor time is
that of its own control group, read inside as each step ends.
"""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
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
# What is timed separates the drive that is read alone, those that are read at once, and those that
# are written.
_TIMED = f"""\
[[workload]]
kind = "fio"
filesystem = "none"
tests = ["seq-read"]
size = "1M"
runtime = 1
on = "{_SERIALS[0]}"
"""
_PLAN = (
    'version = 1\n[campaign]\nname = "shelf"\nautostart = true\n'
    + "".join(f'[[drive]]\nserial = "{serial}"\nerase = "{serial}"\n' for serial in _SERIALS)
    + f'[[workload]]\nkind = "surface"\non = "{_SERIALS[0]}"\n{_TIMED}'
    + f'[[workload]]\nkind = "surface"\n{_TIMED}[[workload]]\nkind = "verify"\n'
)
_CHANGE_COUNTER = slice(24, 28)
"""In the file's header; each commit adds one (sqlite.org/fileformat2.html, 1.3.7)."""
_PEER_BYTES = 16 << 20
_AGENT = f"""\
drive=$(lsblk -dno PATH,SERIAL | awk '$2 == "{_SERIALS[-1]}" {{ print $1 }}')
TIMEFORMAT='%U %S'
( {{ time dd "if=$drive" of=/dev/null bs=1M count={_PEER_BYTES >> 20} iflag=direct; }} \
2> /run/dd.time; say "dd $(tail -n 1 /run/dd.time)" ) &
stat=/sys/fs/cgroup$(systemctl show -P ControlGroup kaltstart-engine.service)/cpu.stat
cat /dev/kmsg | while IFS= read -r line; do
  case $line in
    *"kaltstart: step-done "*)
      step=${{line#* step=}}
      say "processor ${{step%% *}} $(sed -n 's/^usage_usec //p' "$stat")" ;;
  esac
done
"""
_MARK = re.compile(r"lab-agent: processor (\d+) (\d+)\b")
_PEER = re.compile(r"lab-agent: dd ([\d.]+) ([\d.]+)\b")
_STEPS = "SELECT id, kind, started_at, finished_at FROM step ORDER BY position"


@dataclass(frozen=True, slots=True)
class Step:
    """One step that was done."""

    id: int
    kind: str
    begun_s: float
    ended_s: float


def read_marks(log: str) -> dict[int, float]:
    """The engine's processor time when each step had ended, in seconds by the step. Pure."""
    return {int(step): int(usage) / 1e6 for step, usage in _MARK.findall(log)}


def find_peer(log: str) -> float | None:
    """Processor seconds per GB of dd by hand; None where it said nothing. Pure."""
    found = _PEER.search(log)
    return sum(map(float, found.groups())) / (_PEER_BYTES / 1e9) if found else None


def split_groups(steps: Sequence[Step]) -> list[list[Step]]:
    """The steps of one kind that follow each other, what is timed left out. Pure."""
    groups: list[list[Step]] = [[]]
    for step in steps:
        if step.kind == "fio":
            groups.append([])
        else:
            groups[-1].append(step)
    return groups


def find_cost(group: Sequence[Step], before: Step, marks: Mapping[int, float], gb: float) -> float:
    """Processor seconds per GB from the end of `before` to that of the whole group. Pure.

    Raises RuntimeError where it was not seen.
    """
    try:
        return (max(marks[step.id] for step in group) - marks[before.id]) / gb
    except KeyError as error:
        raise RuntimeError(f"the processor time of step {error} was not seen") from None


def measure_shelf(out: Path) -> list[Measure]:
    """One campaign: a surface alone, then twelve, then twelve verifies. Raises RuntimeError."""
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
    result = run_campaign(Trial(out=out, plan=_PLAN, drives=drives, processors=2, agent=_AGENT))
    if not result.ok or result.database is None:
        raise RuntimeError(f"the campaign ended as {result.outcome}: {result.reason}")
    with closing(sqlite3.connect(result.database)) as connection:
        steps = [
            Step(step_id, kind, *(datetime.fromisoformat(at).timestamp() for at in times))
            for step_id, kind, *times in connection.execute(_STEPS)
        ]
    commits = int.from_bytes(result.database.read_bytes()[_CHANGE_COUNTER], "big")
    log = (out / "serial.log").read_text(errors="replace")
    return compare_shelf(steps, read_marks(log), commits=commits, peer_s_per_gb=find_peer(log))


def compare_shelf(
    steps: Sequence[Step],
    marks: Mapping[int, float],
    *,
    commits: int,
    peer_s_per_gb: float | None,
) -> list[Measure]:
    """The figures of one campaign. Pure; raises RuntimeError where something was not seen."""
    alone, surfaces, verifies = split_groups(steps)
    timed = [step for step in steps if step.kind == "fio"]
    alone_s = alone[0].ended_s - alone[0].begun_s
    shelf_s = max(step.ended_s for step in surfaces) - min(step.begun_s for step in surfaces)
    minutes = (steps[-1].ended_s - steps[0].begun_s) / 60
    ratio, gb = shelf_s / alone_s, _COUNT * _SIZE_BYTES / 1e9
    peer = "not measured" if peer_s_per_gb is None else f"{peer_s_per_gb:.2f} s per GB"
    measures = [
        Measure(
            name=f"surface of {_COUNT} drives over that of one, wall time",
            value=round(ratio, 3),
            unit="ratio of times",
            peer=f"one drive alone: {alone_s:.0f} s",
            goal="at most 1.15",
            holds=ratio <= 1.15,
        ),
        Measure(
            name=f"commits while {_COUNT} drives are tested",
            value=round(commits / minutes, 1),
            unit="commits per minute",
            peer="one for each slice, as before parts shared them: "
            f"{(_COUNT + 1) * 101 / minutes:.0f}",
            goal="at most 60",
            holds=commits / minutes <= 60,
        ),
    ]
    for kind, group, before, moved_gb, goal in (
        ("surface", surfaces, timed[0], gb, 0.25),
        ("verify", verifies, timed[1], 2 * gb, 0.25),
    ):
        cost = find_cost(group, before, marks, moved_gb)
        # What is emulated is slow: per wall time, it says how much of a processor a shelf takes.
        wall_s = max(step.ended_s for step in group) - min(step.begun_s for step in group)
        share = cost * moved_gb / wall_s
        measures.append(
            Measure(
                name=f"processor time of the engine per GB, {kind} of {_COUNT} drives",
                value=round(cost, 2),
                unit=f"s per GB ({share * 100:.0f} % of one processor)",
                peer=f"dd iflag=direct of one drive: {peer}",
                goal=f"at most {goal * 100:.0f} % of one processor",
                holds=share <= goal,
            )
        )
    return measures
