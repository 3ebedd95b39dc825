# SPDX-License-Identifier: Apache-2.0
"""Where the minutes of a run of `ci/test` went: the table at its end.

Wall-clock minutes depend on the machine, so the budget does: it is stated for a machine on which
one start of the appliance takes `_QUICK_START_S` of processor time, and grows with what that start
took here (`tests.lab.saved` notes it).
"""

import os
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.lab.campaign import IMAGE
from tests.lab.saved import read_start_s

_BUDGET_MIN = {"--fast": 1.5, "": 25.0}
"""By tier; the long one has none."""
_QUICK_START_S = 20.0
_MOST_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Run:
    """What is known of a run at its end."""

    tier: str
    stages_s: Mapping[str, float]
    """Seconds of each stage, the tests being the last one."""
    tests_s: Mapping[str, float]
    """Seconds of the tests in each folder or file of image tests."""
    start_s: float | None
    """Processor seconds of one start of the appliance, where it was measured."""
    beside_s: Mapping[str, float] = field(default_factory=dict)
    """Seconds of each stage that ran beside others."""


def format_minutes(run: Run) -> list[str]:
    """The table's lines, the last one of which says whether the budget was kept."""
    lines = [f"{seconds / 60:7.1f}  {name}" for name, seconds in run.stages_s.items()]
    lines += [f"{seconds / 60:15.1f}  {name}, beside it" for name, seconds in run.beside_s.items()]
    longest = sorted(run.tests_s.items(), key=lambda pair: -pair[1])
    for name, seconds in longest[:_MOST_SHOWN]:
        lines.append(f"{seconds / 60:15.1f}  {name}")
    rest_s = sum(seconds for _, seconds in longest[_MOST_SHOWN:])
    if rest_s:
        lines.append(f"{rest_s / 60:15.1f}  {len(longest) - _MOST_SHOWN} more")
    total_min = sum(run.stages_s.values()) / 60
    verdict = f"{total_min:7.1f}  minutes in all"
    budget_min = _BUDGET_MIN.get(run.tier)
    if budget_min is not None:
        slower = max(1.0, (run.start_s or 0) / _QUICK_START_S)
        allowed_min = budget_min * slower
        verdict += f"; budget {allowed_min:.1f}"
        if run.start_s is not None:
            verdict += (
                f" ({budget_min:g} where a start takes {_QUICK_START_S:.0f} s"
                f" of processor time; here {run.start_s:.0f} s)"
            )
        if total_min > allowed_min:
            verdict += ": OVER BUDGET"
    return [*lines, verdict]


def parse_stages(text: str) -> dict[str, float]:
    """`name=seconds` lines, as ci/test writes them."""
    pairs = (line.rpartition("=") for line in text.splitlines() if line)
    return {name: float(seconds) for name, _, seconds in pairs}


def sum_by_place(reports: Sequence[pytest.TestReport]) -> dict[str, float]:
    """Seconds of all phases: by file for tests of the image, by folder for all others."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for report in reports:
        path = Path(report.nodeid.partition("::")[0])
        place = path if "image" in path.parts else Path(*path.parts[:2])
        seconds[str(place)] += report.duration
    return dict(seconds)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show the table, where ci/test has said what came before the tests."""
    stages_file = os.environ.get("KALTSTART_STAGES")
    if not stages_file:
        return
    reports = [
        report
        for some in terminalreporter.stats.values()
        for report in some
        if isinstance(report, pytest.TestReport)
    ]
    stages_s = parse_stages(Path(stages_file).read_text())
    stages_s["tests"] = time.time() - Path(stages_file).stat().st_mtime
    run = Run(
        tier=os.environ.get("KALTSTART_TIER", ""),
        stages_s=stages_s,
        tests_s=sum_by_place(reports),
        start_s=read_start_s(IMAGE),
        beside_s=parse_stages(Path(os.environ["KALTSTART_BESIDE"]).read_text()),
    )
    terminalreporter.section("minutes")
    for line in format_minutes(run):
        terminalreporter.write_line(line)
