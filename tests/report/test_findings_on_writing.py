# SPDX-License-Identifier: Apache-2.0
"""What is reported of drives that are written from end to end, without a machine."""

import random
from collections.abc import Iterator
from math import exp

import pytest

from appliance.report.figures import Cache, Figure, StepFigures, Workload
from appliance.report.workload_findings import find_workload_findings
from appliance.store.read.workloads import ActivityRow, ReportedStep
from appliance.workloads.verify.keys import WRITE, VerifyVariant
from tests.lab.claims import NOTHING, Truth, judge
from tests.lab.drives import ModelledDrive, parse_drives
from tests.lab.report_page import Finding, Page
from tests.lab.simulated_boots import make_clockwork

_MIB = 1 << 20
_SEEDS = 50
_NOISE = 0.1
"""Standard deviation of the logarithms of a request's time."""
_WORK_S = 0.002
_ZONES = 'model = "hdd"\nrate_outer = "180M"\nrate_inner = "80M"'
_EVEN = 'model = "ssd"\nrate = "100M"'
_CLIFF = 'model = "ssd"\nslc = "1G"\nslc_rate = "150M"\ntlc_rate = "40M"'
_LOW_CLIFF = 'model = "ssd"\nslc = "1G"\nslc_rate = "100M"\ntlc_rate = "50M"'
_HOT = 'model = "ssd"\nrate = "150M"\nthrottle_after = "2G"\nthrottle_rate = "30M"'


@pytest.mark.parametrize(
    ("keys", "truth"),
    [
        (_EVEN, Truth("A", NOTHING, "writing")),
        (_ZONES, Truth("A", NOTHING, "writing")),
        (_CLIFF, Truth("A", "falls", "writing", ((150, 165), (40, 44), (950, 1050)))),
        (_LOW_CLIFF, Truth("A", "falls", "writing", ((98, 110), (50, 55), (950, 1050)))),
        (_HOT, Truth("A", "falls", "writing", ((150, 165), (30, 33), (1950, 2100)))),
    ],
)
def test_a_fall_is_told_where_it_is_and_nowhere_else(keys: str, truth: Truth) -> None:
    (drive,) = parse_drives(f'[[drive]]\nserial = "A"\nsize = "4G"\n{keys}')
    wrong = [
        why for seed in range(_SEEDS) if (why := judge(make_writing_page(drive, seed), truth)[1])
    ]
    assert len(wrong) <= 0.01 * _SEEDS, wrong[:3]


def test_of_a_drive_beside_others_no_fall_is_told() -> None:
    """What they share may have become less."""
    (drive,) = parse_drives(f'[[drive]]\nserial = "A"\nsize = "4G"\n{_CLIFF}')
    assert any("writing fell" in each.text for each in make_writing_page(drive, 1).findings)
    told = make_writing_page(drive, 1, beside=2).findings
    assert not any("writing fell" in each.text for each in told)


def make_writing_page(drive: ModelledDrive, seed: int, *, beside: int = 0) -> Page:
    step = StepFigures(
        step=ReportedStep(1, 1, 0, "verify", 1, drive.serial, "done", "", 1, 0, parts=("write",)),
        label=drive.serial,
        color=0,
        reference=True,
        place="drive",
        figures=(_make_written(beside),),
        cache_figures=(),
        tickets=(),
        activity=tuple(_write(drive, seed)),
        dirty=(),
        slices=(),
        ranges=(),
        devices={},
    )
    findings = find_workload_findings((Workload("verify", (0,), "", (step,)),))
    return Page("", tuple(Finding(each.kind, each.subject, each.text) for each in findings))


def _make_written(beside: int) -> Figure:
    met = Cache("bypass", "proven", "", 0, "", "", None, "", beside=beside)
    return Figure(VerifyVariant(WRITE), {}, (met,), valid=True)


def _write(drive: ModelledDrive, seed: int) -> Iterator[ActivityRow]:
    """From the first byte to the last; in each second what was finished in it, none in some."""
    chance, clockwork, now_s = random.Random(seed), make_clockwork(drive), 0.0
    end_s, moved, worked_s = 1.0, 0, 0.0
    for offset in range(0, drive.size_bytes, _MIB):
        access = clockwork.write(offset, _MIB, now_s=now_s)
        busy_s = access.seconds * exp(chance.gauss(0, _NOISE))
        now_s += busy_s + _WORK_S
        if chance.random() < 0.002:
            now_s += chance.uniform(0.2, 2.0)  # a part was stored
        while now_s > end_s:
            yield _make_row(drive, end_s, moved, worked_s)
            end_s, moved, worked_s = end_s + 1.0, 0, 0.0
        moved, worked_s = moved + _MIB, worked_s + busy_s
    yield _make_row(drive, end_s, moved, worked_s)


def _make_row(drive: ModelledDrive, end_s: float, moved: int, worked_s: float) -> ActivityRow:
    return ActivityRow(drive.serial, end_s, 0, moved, 0, 0, worked_s, step_id=1)
