# SPDX-License-Identifier: Apache-2.0
"""Drives of one model compared with each other: outliers, and how seldom a good one is one."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import exp
from random import Random

import pytest

from appliance.store.tables.verdicts import LimitRow
from appliance.verdict.evidence import Evidence, Figure
from appliance.verdict.judge import judge
from appliance.verdict.limits import LIMITS
from appliance.verdict.model_comparison import FALSE_SHARE, compare_models
from tests.unit.verdict.test_judged_drives import make_drive, make_policy, row_of

COMPARED = [kind for kind in LIMITS.values() if kind.is_compared]
POLICY = make_policy("worse_than_model_percent = { remark = 15 }\n")
CAMPAIGNS = 400


def compare(*drives: Evidence) -> list[LimitRow]:
    return [row_of(each, "worse_than_model_percent") for each in judge(POLICY, drives)]


def compare_speeds(*values: float) -> list[LimitRow]:
    return compare(*(make_drive(n, surface_mean_mb_s=v) for n, v in enumerate(values, 1)))


def make_delivery(
    random: Random, count: int, *, spreads: Iterable[float], slow_by: float = 0.0
) -> list[Evidence]:
    """Drives of one model whose figures vary by `spreads`; the first one is slower in all."""
    drives: list[dict[str, float]] = [{} for _ in range(count)]
    for kind, spread in zip(COMPARED, spreads, strict=True):
        for number, drive in enumerate(drives):
            slower = 1.0 - slow_by if number == 0 else 1.0
            pace = exp(random.gauss(0, spread)) * slower
            drive[kind.name] = 100.0 * pace if kind.direction == "least" else 100.0 / pace
    return [make_twin(number, values) for number, values in enumerate(drives, 1)]


def make_twin(number: int, values: Mapping[str, float]) -> Evidence:
    """A drive of the model, with these figures."""
    return make_drive(number, model="Lab disk", **values)


def find_remarked(drives: list[Evidence]) -> set[int]:
    """The drives that get a remark at 15 %, from the comparison alone."""
    return {
        drive_id
        for drive_id, figures in compare_models(drives).items()
        if any(
            figure.bound is not None and (figure.value or 0.0) > max(15.0, figure.bound.remark)
            for figure in figures
        )
    }


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8, 12, 24])
def test_in_a_delivery_without_a_bad_drive_hardly_one_gets_a_remark(count: int) -> None:
    """Nine figures of each drive, which vary by 5 to 10 %."""
    assert len(COMPARED) == 9
    random = Random(count)
    campaigns = max(40, CAMPAIGNS // count)
    spreads = [0.05 + 0.05 * number / 8 for number in range(9)]
    remarked = sum(
        bool(find_remarked(make_delivery(random, count, spreads=spreads))) for _ in range(campaigns)
    )
    assert remarked / campaigns <= FALSE_SHARE


@pytest.mark.parametrize("count", [4, 6, 12, 24])
@pytest.mark.parametrize("spread", [0.05, 0.10])
def test_a_drive_that_is_thirty_percent_slower_is_found_among_four_and_more(
    count: int, spread: float
) -> None:
    random = Random(count)
    found = [
        find_remarked(make_delivery(random, count, spreads=[spread] * 9, slow_by=0.30))
        for _ in range(50)
    ]
    assert sum(1 in remarked for remarked in found) >= 40
    others = sum(len(remarked - {1}) for remarked in found)
    assert others <= 0.1 * len(found), "the slow one makes no other look slow"


def test_of_many_that_vary_much_their_own_spread_is_the_measure() -> None:
    random = Random(1)
    remarked = sum(
        bool(find_remarked(make_delivery(random, 24, spreads=[0.25] * 9))) for _ in range(40)
    )
    assert remarked <= 3


def test_the_limit_grows_with_what_is_compared() -> None:
    names = [kind.name for kind in COMPARED]
    random = Random(3)

    def find_bound(count: int, figures: int) -> float:
        drives = make_delivery(random, count, spreads=[0.02] * 9)
        drives = [
            replace(drive, figures={name: drive.figures[name] for name in names[:figures]})
            for drive in drives
        ]
        (first, *_) = compare_models(drives)[1]
        assert first.bound is not None
        return first.bound.remark

    assert find_bound(3, 1) < find_bound(3, 4) < find_bound(3, 9)


def test_the_worst_of_its_figures_is_named_and_the_others_with_it() -> None:
    values: list[Mapping[str, float]] = [
        {"surface_mean_mb_s": 200, "fio_rand_read_iops": 90, "boot_median_s": 20},
        {"surface_mean_mb_s": 202, "fio_rand_read_iops": 91, "boot_median_s": 21},
        {"surface_mean_mb_s": 198, "fio_rand_read_iops": 30, "boot_median_s": 30},
        {"surface_mean_mb_s": 201, "fio_rand_read_iops": 92, "boot_median_s": 20},
    ]
    *_, slow, _ = compare(*(make_twin(n, each) for n, each in enumerate(values, 1)))
    assert (slow.outcome, slow.measured) == ("remark", "66.9 %")
    worst, other = slow.detail.split("; boot: median: 30 s, ")
    assert worst.startswith("fio: random read: 30 1/s, the median of 4 of its model is 90.5 1/s; ")
    assert other.startswith("the median of 4 of its model is 20.5 s; held against ")
    assert "surface" not in slow.detail
    assert worst.endswith(
        " instead of 15 %: chance alone reaches this in one of 20 campaigns that compare 12 such "
        "figures"
    )


def test_where_all_are_alike_the_policys_own_percent_holds() -> None:
    rows = compare_speeds(*[200.0] * 23, 172.0)
    assert {row.outcome for row in rows} == {"kept"}
    assert rows[-1].allowed == "remark above 15 %"
    rows = compare_speeds(*[200.0] * 23, 168.0)
    assert [row.outcome for row in rows] == ["kept"] * 23 + ["remark"]
    assert rows[-1].measured == "16 %"
    # All the same: none is behind.
    assert {row.measured for row in compare_speeds(*[200.0] * 5)} == {"0 %"}


def test_of_two_drives_the_slower_one_is_named_and_none_called_the_bad_one() -> None:
    fast, slow = compare_speeds(200.0, 150.0)
    assert (fast.outcome, fast.measured) == ("kept", "0 %")
    assert "no slower than S2" in fast.detail
    assert (slow.outcome, slow.measured) == ("remark", "25 %")
    assert slow.detail == (
        "surface: mean speed: 150 MB/s, slower than S1 of its model with 200 MB/s; of two, either "
        "may be the unusual one; held against 24.2 % instead of 15 %: chance alone reaches this "
        "in one of 20 campaigns that compare 2 such figures"
    )
    assert [row.outcome for row in compare_speeds(200.0, 160.0)] == ["kept", "kept"]


def test_of_three_the_median_is_the_measure() -> None:
    rows = compare_speeds(200.0, 190.0, 90.0)
    assert [row.outcome for row in rows] == ["kept", "kept", "remark"]
    assert "the median of 3 of its model is 190 MB/s" in rows[2].detail
    assert rows[2].measured == "52.6 %"


def test_three_that_are_all_different_do_not_tell_which_one_is_unusual() -> None:
    rows = compare_speeds(200.0, 140.0, 90.0)
    assert [row.outcome for row in rows] == ["not measured"] * 3
    assert rows[2].detail.endswith("3 that differ so much do not tell which is unusual")


def test_a_boot_is_worse_where_it_takes_longer() -> None:
    _, slow = compare(make_drive(1, boot_median_s=20.0), make_drive(2, boot_median_s=30.0))
    assert (slow.outcome, slow.measured) == ("remark", "50 %")


def test_a_drive_that_gives_nothing_at_all_is_behind_by_all() -> None:
    rows = compare(*(make_drive(n, fio_rand_read_iops=v) for n, v in enumerate((80, 81, 79, 0))))
    assert [row.outcome for row in rows] == ["kept"] * 3 + ["remark"]
    assert rows[-1].measured == "100 %"


def test_what_is_held_against_no_limit_is_compared_all_the_same() -> None:
    speeds = [Figure(value, set_aside="in a virtual machine") for value in (200.0, 100.0)]
    _, slow = compare(*(make_drive(n, surface_mean_mb_s=v) for n, v in enumerate(speeds)))
    assert slow.outcome == "remark"


def test_only_what_the_same_steps_measured_is_compared() -> None:
    mine = Figure(200.0, origin=frozenset({0}))
    other = Figure(20.0, origin=frozenset({1}))
    for row in compare(
        make_drive(1, surface_mean_mb_s=mine), make_drive(2, surface_mean_mb_s=other)
    ):
        assert row.outcome == "not measured"


@pytest.mark.parametrize("models", [("A", "B"), ("", "")])
def test_drives_of_other_models_or_of_none_are_not_compared(models: tuple[str, str]) -> None:
    rows = compare(
        *(make_drive(n, model=each, surface_mean_mb_s=9.0 * n) for n, each in enumerate(models, 1))
    )
    assert [row.outcome for row in rows] == ["not measured"] * 2


def test_a_drive_on_a_slower_port_is_not_compared_with_its_twins() -> None:
    drives = [make_drive(n, surface_mean_mb_s=190.0) for n in (1, 2, 3)]
    slow = replace(make_drive(4, surface_mean_mb_s=110.0), link="1.5 Gb/s")
    *rows, alone = compare(*drives, slow)
    assert [row.outcome for row in rows] == ["kept"] * 3
    assert (alone.outcome, alone.detail) == (
        "not measured",
        "no two drives of its model were measured with the same steps, bus and link",
    )


def test_links_that_no_one_knows_are_said_so() -> None:
    drives = [replace(make_drive(n, surface_mean_mb_s=190.0), link="") for n in (1, 2)]
    assert "; the speed of their links is not known" in compare(*drives)[0].detail
