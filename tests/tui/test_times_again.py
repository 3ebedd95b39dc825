# SPDX-License-Identifier: Apache-2.0
"""A self-test that runs again after all others takes its time twice."""

import tomllib
from dataclasses import replace
from typing import Any

from appliance.plan.model import DEFAULTS
from appliance.store.read.durations import WorkRow, WorkRows
from appliance.units import parse_size
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD
from tui.model.estimate import DriveLeft
from tui.times.durations import make_durations
from tui.times.step_times import Basis, describe_times, find_step_times

_PLAN = """\
[[drive]]
serial = "A"
[[drive]]
serial = "B"
[[workload]]
kind = "selftest"
test = "long"
again = true
[[workload]]
kind = "selftest"
"""


def _row(drive: str, index: int, state: str, *, step: int, seconds: float = 0.0) -> WorkRow:
    return WorkRow(
        campaign_id=1,
        kind="selftest",
        workload_index=index,
        state=state,
        identity=drive,
        wwn="",
        model="M",
        drive_class="sata disk",
        size_bytes=10**12,
        seconds=seconds,
        step_id=step,
        at="2026-11-26T00:00:00.000Z" if state == "running" else "",
    )


def test_what_the_first_one_took_is_known_of_the_second() -> None:
    steps = (_row("A", 0, "done", step=1, seconds=7200), _row("A", 2, "planned", step=2))
    durations = make_durations(WorkRows(steps, (), {1: _PLAN}, ()))
    whole, drives = durations.find_time_left(1, now="", own_left_s={})
    assert drives == (DriveLeft("A", 7200, 0),)
    assert whole is not None
    assert whole.unknown == 0


def test_those_that_run_again_run_at_the_same_time() -> None:
    steps = tuple(_row(drive, 2, "running", step=step) for step, drive in enumerate("AB", 1))
    durations = make_durations(WorkRows(steps, (), {1: _PLAN}, ()))
    left = {1: 36_000.0, 2: 36_000.0}
    whole, _ = durations.find_time_left(1, now="2026-11-26T00:00:00.000Z", own_left_s=left)
    assert whole is not None
    assert whole.campaign_s == 36_000


def test_a_plan_tells_its_time_twice_before_it_starts() -> None:
    times = find_step_times(tomllib.loads(_PLAN), (), Basis((), DEFAULTS, parse_size))
    assert [each.device for each in times] == ["A", "B"] * 3
    assert {each.kind for each in times} == {"selftest"}


def test_drives_with_the_same_serial_number_are_called_as_in_the_plan(engine: FakeEngine) -> None:
    """By their WWNs; they are tested at the same time."""
    wwns = ("0x5000000000000001", "0x5000000000000002")
    engine.show_drives(*(replace(HDD, wwn=wwn, path=f"/dev/sd{wwn[-1]}") for wwn in wwns))
    plan: dict[str, Any] = {
        "drive": [{"wwn": wwn} for wwn in wwns],
        "workload": [{"kind": "selftest"}],
    }
    times = find_step_times(
        plan, engine.port().read_snapshot().drives, Basis((), DEFAULTS, parse_size)
    )
    assert tuple(each.device for each in times) == wwns
    assert describe_times(times) == "about 2 min"
