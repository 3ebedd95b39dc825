# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from appliance.plan.model import DEFAULTS
from tui.model.estimate import (
    Begun,
    Past,
    Span,
    Subject,
    TimeLeft,
    Work,
    add_up,
    describe_time_left,
    find_time_left,
)
from tui.times.durations import find_at_once, name_work

HDD = Subject("WD-1", "WD5000", "sata disk", 500)
SAME_MODEL = Subject("WD-2", "WD5000", "sata disk", 500)
SAME_CLASS = Subject("ST-1", "ST1000", "sata disk", 1000)
SSD = Subject("SAM-1", "PM981", "nvme flash", 250)


def work(kind: str, subject: Subject, settings: str = "x", *, grows: bool = False) -> Work:
    return Work(kind, settings, subject, grows=grows)


def left(
    planned: list[Work], past: list[Past], *, running: Work | None = None, elapsed_s: float = 0.0
) -> TimeLeft:
    begun = [] if running is None else [Begun(running, elapsed_s)]
    return find_time_left(planned, past, running=begun)


def test_the_nearest_drive_counts_and_of_that_the_median() -> None:
    past = [
        Past(work("fio", SSD), 1.0),
        Past(work("fio", SAME_CLASS), 50.0),
        Past(work("fio", SAME_MODEL), 80.0),
        Past(work("fio", HDD, "other settings"), 7.0),
        Past(work("sql", HDD), 8.0),
    ]
    wanted = [work("fio", HDD)]
    assert left(wanted, past[:1]) == TimeLeft(None, 0.0, 1, 0)
    assert left(wanted, past[:2]) == TimeLeft(None, 50.0, 0, 1)
    assert left(wanted, past) == TimeLeft(None, 80.0, 0, 1)
    own = [Past(work("fio", HDD), seconds) for seconds in (90.0, 200.0, 100.0)]
    assert left(wanted, [*past, *own]) == TimeLeft(None, 100.0, 0, 3)


def test_what_reads_the_whole_drive_is_learned_by_the_byte() -> None:
    past = [Past(work("surface", HDD, grows=True), 100.0)]
    wanted = [work("surface", SAME_CLASS, grows=True)]
    assert left(wanted, past).campaign_s == pytest.approx(200.0)
    assert left([work("fio", SAME_CLASS)], [Past(work("fio", HDD), 100.0)]).campaign_s == 100.0


@pytest.mark.parametrize(
    ("kind", "more", "grows"),
    [
        ("surface", {}, True),
        ("surface", {"sample": 0.02}, True),
        ("verify", {}, True),
        ("verify", {"size": "all"}, True),
        ("verify", {"size": "1G"}, False),
        ("selftest", {}, False),
        ("selftest", {"test": "short"}, False),
        ("selftest", {"test": "long"}, True),
        ("lottery", {}, False),
    ],
)
def test_only_what_goes_over_the_whole_drive_grows_with_it(
    kind: str, more: dict[str, object], *, grows: bool
) -> None:
    assert name_work(kind, {"kind": kind, **more}, HDD).grows is grows
    whole = {**DEFAULTS[kind], "kind": kind, **more}
    assert name_work(kind, whole, HDD).grows is grows, "what is left out is what the plan says"


@pytest.mark.parametrize(
    "past",
    [
        [],
        [Past(work("fio", HDD, ""), 5.0)],
        [Past(work("fio", HDD), 0.0)],
        [Past(work("surface", Subject("WD-1", "", "", 0), grows=True), 5.0)],
    ],
)
def test_nothing_is_guessed(past: list[Past]) -> None:
    for kind, settings in (("fio", ""), ("fio", "x"), ("surface", "x")):
        found = left([work(kind, HDD, settings, grows=kind == "surface")], past)
        assert found == TimeLeft(None, 0.0, 1, 0)
        said = describe_time_left(found, has_step=True)
        assert said == "Time left: unknown, this stick has not done such work before"


def test_what_has_passed_of_the_running_step_is_taken_off() -> None:
    past = [Past(work("fio", HDD), 3600.0), Past(work("sql", HDD), 4000.0)]
    found = left(
        [work("sql", HDD), work("lottery", HDD)], past, running=work("fio", HDD), elapsed_s=1200.0
    )
    assert found == TimeLeft(2400.0, 6400.0, 1, 2)
    assert describe_time_left(found, has_step=True) == (
        "Time left (estimate): step 40 min, campaign 1 h 45 min + 1 not estimated"
    )


def test_a_step_that_takes_longer_than_before_takes_nothing_from_the_rest() -> None:
    past = [Past(work("fio", HDD), 60.0), Past(work("sql", HDD), 20.0)]
    found = left([work("sql", HDD)], past, running=work("fio", HDD), elapsed_s=100.0)
    assert found == TimeLeft(-40.0, 20.0, 0, 2)
    assert describe_time_left(found, has_step=True) == (
        "Time left (estimate): step longer than before, campaign less than 1 min"
    )


def test_an_unknown_step_says_so_beside_a_known_rest() -> None:
    past = [Past(work("sql", HDD), 120.0)]
    found = left([work("sql", HDD)], past, running=work("fio", HDD))
    assert describe_time_left(found, has_step=True) == (
        "Time left (estimate): step unknown yet, campaign 2 min + 1 not estimated"
    )
    assert describe_time_left(left([work("sql", HDD)], past), has_step=False) == (
        "Time left (estimate): campaign 2 min"
    )


@pytest.mark.parametrize(
    ("spans", "seconds"),
    [
        ([], 0.0),
        ([Span("a", 1, 5.0), Span("b", 1, 7.0)], 12.0),
        ([Span("a", 9, 5.0), Span("b", 9, 7.0)], 7.0),
        # Two at a time: six hours of work take three.
        ([Span(name, 2, 2.0) for name in "abc"], 3.0),
        # One drive has two steps, one after the other.
        ([Span("a", 9, 5.0), Span("b", 9, 7.0), Span("a", 9, 4.0)], 9.0),
        ([Span("a", 9, 5.0), Span("b", 9, 7.0), Span("a", 1, 4.0)], 11.0),
    ],
)
def test_work_on_several_drives_at_once_takes_as_long_as_the_longest(
    spans: list[Span], seconds: float
) -> None:
    assert add_up(spans) == seconds


def test_what_runs_at_once_is_as_the_plan_has_it() -> None:
    surface, verify = {"kind": "surface"}, {"kind": "verify", "power_cycle": True}
    assert find_at_once({}, surface) > 60
    assert find_at_once({"campaign": {"at_once": 3}}, surface) == 3
    assert find_at_once({}, verify) == find_at_once({}, {"kind": "fio"}) == 1
    assert find_at_once({"campaign": {"at_once": 1}}, {"kind": "selftest"}) > 60


def test_of_several_steps_that_run_the_longest_counts() -> None:
    past = [Past(work("surface", HDD), 100.0), Past(work("surface", SSD), 40.0)]
    one, other = (replace(work("surface", each), at_once=9) for each in (HDD, SSD))
    assert find_time_left([], past, running=[Begun(one, 30.0), Begun(other, 30.0)]) == TimeLeft(
        70.0, 70.0, 0, 2
    )
