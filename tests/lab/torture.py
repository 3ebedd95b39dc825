# SPDX-License-Identifier: Apache-2.0
"""`ci/torture`: power cuts at random instants, on a stick that loses what it had not flushed.

Each round is one campaign: boots of a released drive, and steps on the bare drive and on files,
with a drive beside it that is not in the plan. Power is cut a few times, at instants drawn from the
round's seed. What was announced on the console must be in the database afterwards, the campaign
must end without anybody's help, and the other drive must not have been written to.
"""

import argparse
import random
import sqlite3
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.lab.campaign import Cut, Limits, Result, Trial, any_loss, describe_stick, run_campaign
from tests.lab.drives import ModelledDrive
from tests.lab.machine import PATIENCE_S
from tests.lab.stick import StickError
from tests.lab.stick_faults import new_seed

RELEASED, BYSTANDER = "LAB-SSD-1", "LAB-KEPT-1"
_BOOTS, _STEPS = 2, 3
_MOST_CUTS = 4

_PLAN = f"""\
version = 1
[campaign]
name = "torture"
autostart = true
on_finish = "poweroff"
[[drive]]
serial = "{RELEASED}"
erase = "{RELEASED}"
[boot]
cycles = {_BOOTS}
power = "warm"
boot_set = "4M"
charts = "none"
[[workload]]
kind = "fio"
on = "{RELEASED}"
tests = ["rand-write"]
size = "16M"
runtime = 4
[[workload]]
kind = "lottery"
on = "{RELEASED}"
filesystem = "ext4"
file_size = "2M"
tickets = {{ a = 2 }}
passes = ["cold"]
[[workload]]
kind = "surface"
on = "{RELEASED}"
sample = 0.01
"""

_EVENTS = ("campaign-start", "cycle-done", "step-done")


@dataclass(frozen=True, slots=True)
class Round:
    """One campaign, and when its power is cut."""

    seed: int
    cuts: tuple[Cut, ...]

    def describe(self) -> str:
        """Its instants, in the order in which they were drawn."""
        return "; ".join(_describe(cut) for cut in self.cuts)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a round led to."""

    instants: int
    """Power cuts that were made."""
    losses: tuple[str, ...]
    """What was announced and is not stored, or should not have happened."""


def draw_round(seed: int) -> Round:
    """The same instants for the same seed.

    An instant is a moment after a line on the console, or after a power-on: what is announced next
    is on its way at the one, the system itself at the other.
    """
    chance = random.Random(seed)
    cuts = []
    for _ in range(chance.randint(2, _MOST_CUTS)):
        after_s = round(chance.uniform(0.5, 30.0), 1)
        if chance.random() < 0.7:
            event = chance.choice(_EVENTS)
            nth = 1 if event == "campaign-start" else chance.randint(1, 2)
            cuts.append(Cut(event=event, nth=nth, after_s=after_s))
        else:
            cuts.append(Cut(power_on=chance.randint(1, 3), after_s=after_s))
    return Round(seed, tuple(dict.fromkeys(cuts)))


def find_losses(result: Result) -> tuple[str, ...]:
    """What a round has cost; empty where it cost nothing."""
    return tuple(_find_losses(result))


def _find_losses(result: Result) -> Iterator[str]:
    if result.outcome != "done":
        yield f"the campaign did not end on its own: {result.outcome} {result.reason}".rstrip()
    written = result.written_bytes(BYSTANDER)
    if written:
        yield f"{written:.0f} bytes were written to {BYSTANDER}, which is not in the plan"
    if result.database is None:
        yield "there is no database on the stick"
        return
    stored = _read_stored(result.database)
    if stored.damage:
        yield f"the database is damaged: {stored.damage}"
    yield from _find_unstored(result, stored)
    if result.outcome == "done":
        yield from _find_missing(result, stored)


@dataclass(frozen=True, slots=True)
class _Stored:
    """What the database has."""

    boots: Mapping[tuple[str, str], float]
    """Seconds of each valid boot, by drive and cycle."""
    steps: frozenset[str]
    """Steps with a result."""
    damage: str


def _read_stored(database: Path) -> _Stored:
    with closing(sqlite3.connect(database)) as connection:
        (check,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        boots = connection.execute(
            "SELECT drive_serial, cycle, boot_s FROM boot_times WHERE valid"
        ).fetchall()
        steps = connection.execute("SELECT DISTINCT step_id FROM results").fetchall()
    return _Stored(
        {(serial, str(cycle)): boot_s for serial, cycle, boot_s in boots},
        frozenset(str(step) for (step,) in steps),
        "" if check == "ok" else check,
    )


def _find_unstored(result: Result, stored: _Stored) -> Iterator[str]:
    """What was announced on the console, and is not in the database as it was announced."""
    for line in result.lines_of("cycle-done"):
        drive, cycle = line.fields["drive"], line.fields["cycle"].split("/")[0]
        boot_s = stored.boots.get((drive, cycle))
        if boot_s is None:
            yield f"boot {cycle} of {drive} was announced and is not stored"
        elif f"{boot_s:.3f}" != line.fields["boot_s"]:
            yield f"boot {cycle} of {drive} took {line.fields['boot_s']} s; {boot_s} is stored"
    for line in result.lines_of("step-done"):
        if line.fields["step"] not in stored.steps:
            yield f"step {line.fields['step']} was announced and has no result"


def _find_missing(result: Result, stored: _Stored) -> Iterator[str]:
    """What a campaign that has ended must have."""
    if (found := (len(stored.boots), len(stored.steps))) != (_BOOTS, _STEPS):
        yield f"{found[0]} boots and {found[1]} steps are stored, not {_BOOTS} and {_STEPS}"
    if result.report is None or not (result.report / "report.html").exists():
        yield "there is no report"


def run_round(one: Round, out: Path) -> Outcome:
    """Run it on the built image. Raises StickError and OSError where the lab itself fails."""
    faults = any_loss(one.seed)
    print(f"torture: seed {one.seed}: {one.describe()}; {describe_stick(faults)}", flush=True)
    result = run_campaign(
        Trial(
            out=out,
            plan=_PLAN,
            drives=[ModelledDrive(serial=RELEASED), ModelledDrive(serial=BYSTANDER)],
            cuts=one.cuts,
            stick_faults=faults,
            limits=Limits(total_s=6 * PATIENCE_S),
            say=lambda text: print(f"  {text}", flush=True),
        )
    )
    return Outcome(result.cuts_made, find_losses(result))


def _describe(cut: Cut) -> str:
    if cut.event:
        return f"{cut.after_s:g} s after {cut.event} {cut.nth}"
    return f"{cut.after_s:g} s after power-on {cut.power_on}"


def main(words: Sequence[str]) -> int:
    """0 only if nothing was lost; 1 with the seeds of the rounds that lost something."""
    parser = argparse.ArgumentParser(prog="ci/torture", description=__doc__)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--out", type=Path, default=Path("build/torture"))
    asked = parser.parse_args(words)
    if asked.minutes <= 0:
        parser.error("--minutes must be more than 0")
    first = new_seed() if asked.seed is None else asked.seed
    ends = time.monotonic() + 60 * asked.minutes
    rounds: list[tuple[int, Outcome]] = []
    while not rounds or time.monotonic() < ends:
        one = draw_round(first + len(rounds))
        try:
            outcome = run_round(one, asked.out.absolute() / str(one.seed))
        except (StickError, OSError) as error:
            print(f"torture: {error}", file=sys.stderr)
            return 2
        rounds.append((one.seed, outcome))
        for loss in outcome.losses:
            print(f"torture: seed {one.seed}: LOST: {loss}", flush=True)
    instants = sum(outcome.instants for _, outcome in rounds)
    losses = sum(len(outcome.losses) for _, outcome in rounds)
    print(f"\ntorture: {len(rounds)} campaigns, {instants} instants tried, {losses} losses")
    for seed, outcome in rounds:
        if outcome.losses:
            print(f"torture: to repeat it: ci/torture --seed {seed} --minutes 1")
    return 1 if losses else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
