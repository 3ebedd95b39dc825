# SPDX-License-Identifier: Apache-2.0
"""What a verdict says of hours that only FARM knows, and of NVMe's warnings."""

from dataclasses import replace

import pytest

from appliance.samples.health import Counter
from appliance.store.tables.health import HealthRow, Moment
from appliance.verdict.evidence import Figure
from appliance.verdict.gather_health import read_health
from appliance.verdict.judge import Judged, judge
from appliance.verdict.policy_file import parse_policy
from tests.unit.verdict.test_judged_drives import make_drive, row_of


def _row(moment: Moment, counters: dict[str, Counter]) -> HealthRow:
    return HealthRow(
        drive_id=1,
        drive_serial="S1",
        moment=moment,
        passed=True,
        reason="",
        counters=counters,
        at="",
    )


def _judge(*counters: Counter) -> Judged:
    """By the built-in policy, with the whole surface read without a fault."""
    figures, doubts = read_health([_row("after", {each.name: each for each in counters})])
    found = {**figures, "surface_unreadable_bytes": Figure(0.0)}
    (judged,) = judge(parse_policy(""), [replace(make_drive(), figures=found, doubts=doubts)])
    return judged


def _hours(farm: float, smart: float, *, doubt: str = "") -> Judged:
    return _judge(
        Counter("power_on_hours", smart, "h", doubt), Counter("farm_power_on_hours", farm, "h")
    )


@pytest.mark.parametrize(
    ("farm", "smart", "outcome", "verdict"),
    [
        (9439, 9438, "kept", "accept"),
        (9438, 9438, "kept", "accept"),
        (144, 120, "kept", "accept"),
        (145, 120, "reject", "reject"),
        (21_400, 120, "reject", "reject"),
    ],
)
def test_hours_that_smart_has_lost(farm: float, smart: float, outcome: str, verdict: str) -> None:
    judged = _hours(farm, smart)
    assert (row_of(judged, "hours_set_back").outcome, judged.verdict) == (outcome, verdict)


def test_the_reason_names_both_counts() -> None:
    judged = _hours(21_400, 120)
    said = "FARM counts 21400 h, SMART 120 h: the counters were reset"
    assert judged.reasons == f"power-on hours missing from SMART: 21280 h ({said})"
    assert row_of(_hours(9439, 9438), "hours_set_back").detail == "FARM counts 9439 h, SMART 9438 h"


def test_a_doubt_on_smarts_count_takes_nothing_back() -> None:
    """An older self-test is such a doubt, and says the same as FARM."""
    assert _hours(21_400, 120, doubt="the count was set back").verdict == "reject"


def test_another_makers_drive_is_not_measured() -> None:
    judged = _judge(Counter("power_on_hours", 120, "h"))
    assert row_of(judged, "hours_set_back").outcome == "not measured"
    assert judged.verdict == "accept"


def test_a_critical_warning_is_said_in_words() -> None:
    judged = _judge(Counter("critical_warning", 9, "1"))
    assert judged.verdict == "reject"
    assert row_of(judged, "critical_warning").detail == (
        "its spare is below its threshold, its media are read-only"
    )
    assert row_of(_judge(Counter("critical_warning", 0, "1")), "critical_warning").detail == ""


def test_a_reset_seen_before_stands_where_farm_is_silent_afterwards() -> None:
    smart = Counter("power_on_hours", 120, "h")
    before = {"power_on_hours": smart, "farm_power_on_hours": Counter("x", 21_400, "h")}
    figures, _ = read_health([_row("before", before), _row("after", {"power_on_hours": smart})])
    assert figures["hours_set_back"].value == 21_280
