# SPDX-License-Identifier: Apache-2.0
"""Main figures of steps, what a drive does now, and problems by their places: all pure."""

from dataclasses import replace

import pytest

from appliance.problem import KeyPath, Problem
from appliance.samples.model import Result
from appliance.samples.variants import NamedVariant, parse_variant
from appliance.store.read.figures import FigureRow, TicketSum
from appliance.workloads.fio.keys import FioVariant
from appliance.workloads.surface.keys import SLICES, SurfaceVariant
from appliance.workloads.verify.keys import VerifyVariant
from tests.tui.measured import (
    FIO,
    MATRIX,
    SELFTEST,
    SQL,
    SURFACE,
    SWEEP,
    VERIFY,
    inner,
    lottery_results,
    mode_results,
    state,
)
from tui.activity.meter import Meter
from tui.figures.array import describe_array
from tui.figures.steps import METRICS, find_figures
from tui.model.campaigns import Figure
from tui.model.draft import Mistake
from tui.model.io_history import Counters
from tui.port.compose import find_mistake
from tui.run.page import describe_rates


def rows(kind: str, results: tuple[Result, ...]) -> list[FigureRow]:
    """As the port reads them."""
    return [
        FigureRow(
            parse_variant(kind, r.variant),
            r.metric,
            r.value,
            r.cache.page_cache,
            r.cache.proof,
            valid=r.valid,
        )
        for r in results
        if r.metric in METRICS and r.variant != "other"
    ]


def test_a_lottery_shows_each_pass_with_all_states_it_met() -> None:
    tickets = [
        TicketSum("direct", "bypass", 200_000_000, 2.0),
        TicketSum("cold", "warm", 100_000_000, 0.5),
        TicketSum("cold", "cold", 100_000_000, 1.5),
    ]
    assert find_figures("lottery", rows("lottery", lottery_results()), tickets) == (
        Figure(
            "cold", "  100.0 MB/s  repeat/first 25.00", "cold+warm", short="100.0 MB/s", value=1e8
        ),
        Figure(
            "direct", "  100.0 MB/s  repeat/first  1.70", "bypass", short="100.0 MB/s", value=1e8
        ),
    )
    repeated = find_figures("lottery", rows("lottery", lottery_results(repeats=3)), tickets)
    assert repeated[0].text.endswith("repeat/first 25.00 -> 25.20")


def test_fio_shows_each_test_in_its_order_and_leaves_rounds_out() -> None:
    rounds = tuple(
        Result(f"seq-read/round-{number}", "iops", 1.0, state("cold")) for number in range(1, 6)
    )
    found = find_figures("fio", rows("fio", (*rounds, *FIO)))
    assert [figure.name for figure in found] == ["seq-read", "seq-write", "rand-read", "rand-write"]
    assert found[0].text.split("  ")[-1].strip() == "100 IOPS"
    assert [figure.cache for figure in found] == ["cold", "cold", "cold unproven", "cold"]


def test_a_matrix_shows_the_range_of_each_operation() -> None:
    found = {figure.name: figure for figure in find_figures("matrix", rows("matrix", MATRIX))}
    assert list(found) == ["rewrite", "read", "rand-read"]
    assert found["read"].text.strip() == "101.5 MB/s to 6,090 MB/s"
    assert found["read"].cache == "partial+warm"


def test_a_sweep_shows_the_smallest_and_the_largest_set() -> None:
    found = {figure.name: figure.text for figure in find_figures("sweep", rows("sweep", SWEEP))}
    assert found["rand-read/norandommap"] == "12,345 -> 247 IOPS (256M -> 2G)"
    (alone,) = find_figures("sweep", rows("sweep", SWEEP[:1]))
    assert alone.text == "512 IOPS (256M)"


def test_sql_shows_the_total_and_its_phases() -> None:
    found = find_figures("sql", rows("sql", SQL))
    assert [figure.name for figure in found][:3] == ["total", "recovery", "indexes"]
    assert found[0].text.strip() == "231.4 s"
    assert find_figures("sql", rows("sql", SQL[:2]))[0].name == "recovery"


def test_a_surface_shows_its_mean_its_slowest_slice_and_what_is_unreadable() -> None:
    found = find_figures("surface", rows("surface", SURFACE))
    assert [(figure.name, figure.short, figure.cache) for figure in found] == [
        ("mean speed", "98.4 MB/s", "bypass"),
        ("slowest slice", "51.2 MB/s", "bypass"),
        ("unreadable", "4 KiB, 465.7 GiB read", "bypass"),
        ("slow ranges", "3", "bypass"),
    ]


def test_a_figure_says_that_other_drives_were_tested_meanwhile() -> None:
    beside = [replace(row, beside=3) for row in rows("surface", SURFACE)]
    found = find_figures("surface", beside)
    assert found
    assert {figure.cache for figure in found} == {"bypass, others tested: 3"}


def test_a_surface_that_ended_early_says_so() -> None:
    some = [row for row in rows("surface", SURFACE) if str(row.variant) in {"000", "001", "whole"}]
    assert find_figures("surface", some)[-1].text.strip() == f"2 of {SLICES}"
    running = [row for row in some if row.variant != SurfaceVariant()]
    (figure,) = find_figures("surface", running)
    assert (figure.name, figure.short) == ("slices read", "2 of 100")


def test_a_surface_without_an_end_shows_what_is_unreadable_so_far() -> None:
    bad = [
        FigureRow(SurfaceVariant(part), "unreadable_bytes", 4096.0, "bypass", "proven", valid=True)
        for part in range(2)
    ]
    running = [row for row in rows("surface", SURFACE) if str(row.variant) in {"000", "001"}]
    found = find_figures("surface", [*running, *bad])
    assert [(figure.name, figure.short) for figure in found] == [
        ("unreadable", "8 KiB so far"),
        ("slices read", "2 of 100"),
    ]


def test_a_slice_that_was_abandoned_is_not_called_read() -> None:
    bad = FigureRow(SurfaceVariant(2), "unreadable_bytes", 8192.0, "bypass", "unproven", valid=True)
    some = [row for row in rows("surface", SURFACE) if str(row.variant) in {"000", "001"}]
    assert [(figure.name, figure.short) for figure in find_figures("surface", [*some, bad])] == [
        ("unreadable", "8 KiB so far"),
        ("slices read", "2 of 100"),
    ]


def test_a_drive_that_could_not_be_read_at_all_has_no_speed() -> None:
    none = [
        FigureRow(SurfaceVariant(), "app_read_bytes", 0.0, "bypass", "unproven", valid=True),
        FigureRow(SurfaceVariant(), "unreadable_bytes", 17e6, "bypass", "unproven", valid=True),
    ]
    (figure,) = find_figures("surface", none)
    assert (figure.name, figure.short) == ("unreadable", "16.2 MiB, 0 B read")
    assert figure.cache == "bypass unproven"


def test_verify_shows_what_came_back_wrong_and_whether_the_drive_was_off() -> None:
    found = find_figures("verify", rows("verify", VERIFY), power_offs=["proven"])
    assert [(figure.name, figure.short) for figure in found] == [
        ("write", "80.1 MB/s"),
        ("read", "98.4 MB/s  nothing wrong"),
        (
            "read-cold",
            "97.9 MB/s  8 KiB WRONG  4 KiB UNREADABLE  drive was off: proven",
        ),
    ]


@pytest.mark.parametrize(
    ("wrong", "told"), [(0.0, "512 B wrong once"), (4096.0, "4 KiB WRONG  512 B wrong once")]
)
def test_what_was_wrong_once_is_not_called_the_drives(wrong: float, told: str) -> None:
    found = [
        FigureRow(VerifyVariant("read"), metric, value, "bypass", "proven", valid=True)
        for metric, value in (("mismatch_bytes", wrong), ("unsteady_bytes", 512.0))
    ]
    (figure,) = find_figures("verify", found, power_offs=[])
    assert figure.short == f"{told}: RAM or cable"


@pytest.mark.parametrize(
    ("proofs", "told"),
    [
        ((), "no power-off on record"),
        (("proven", "unproven"), "drive was off: UNPROVEN"),
        (("unproven", "warm"), "the drive was NOT OFF"),
        (("proven", ""), "power-off not judged yet"),
    ],
)
def test_a_power_off_is_worth_what_its_weakest_proof_is(proofs: tuple[str, ...], told: str) -> None:
    found = find_figures("verify", rows("verify", VERIFY), power_offs=proofs)
    assert found[-1].text.endswith(f"  {told}")


def test_a_self_test_says_whether_it_was_passed() -> None:
    (figure,) = find_figures("selftest", rows("selftest", SELFTEST))
    assert (figure.name, figure.text) == ("short", "passed in 64 s")
    failed = [replace(each, value=0) for each in SELFTEST if each.metric == "selftest_passed"]
    (figure,) = find_figures("selftest", rows("selftest", tuple(failed)))
    assert figure.text == "FAILED"


def test_of_a_kind_that_is_new_here_the_rates_are_shown() -> None:
    row = FigureRow(NamedVariant("commit"), "iops", 900.0, "bypass", "proven", valid=True)
    (figure,) = find_figures("flush", [row])
    assert (figure.name, figure.text.strip(), figure.value) == ("commit", "900 IOPS", 900.0)


KINDS = ("lottery", "fio", "matrix", "sweep", "sql", "surface", "verify", "selftest")


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_without_rows_has_no_figures(kind: str) -> None:
    assert find_figures(kind, ()) == ()


def test_an_invalid_row_makes_its_figure_invalid() -> None:
    (figure,) = find_figures(
        "fio", [FigureRow(FioVariant(test="seq-read"), "iops", 9.0, "cold", "proven", valid=False)]
    )
    assert not figure.valid


def array_rows(results: tuple[Result, ...], *, mode: str = "", dirty: int = 0) -> list[FigureRow]:
    """As the port reads those of a step on the array."""
    return [
        FigureRow(
            parse_variant("fio", r.variant),
            r.metric,
            r.value,
            r.cache.page_cache,
            r.cache.proof,
            valid=r.valid,
            array_mode=mode,
            array_dirty_bytes=dirty,
        )
        for r in results
    ]


def test_an_array_says_what_its_cache_answered_and_keeps() -> None:
    found = array_rows((*FIO, *inner({"rand-read": 0.612})), mode="writeback")
    assert describe_array(found) == (
        "writeback, hit ratio 87.3 %, bypassed 0 B, dirty at end 11.7 MiB",
    )
    texts = {figure.name: figure.text for figure in find_figures("fio", found)}
    assert texts["rand-read"].endswith("149 IOPS   61.2 % hit")
    assert texts["rand-write"].endswith("465 IOPS")


def test_an_array_says_what_did_not_meet_it_clean_and_what_was_interrupted() -> None:
    found = array_rows(FIO, mode="writeback", dirty=45_600_000)
    found += array_rows(inner({}, dirty_end_bytes=3.2e9, valid=False))
    summary, unclean = describe_array(found)
    assert summary == (
        "(writeback, hit ratio 87.3 %, bypassed 0 B, dirty at end 3 GiB: interrupted)"
    )
    assert unclean == (
        "not clean at its start: rand-read 43.5 MiB, seq-read 43.5 MiB, rand-write 43.5 MiB and 1 "
        "more"
    )


def test_compared_cache_modes_are_figures_of_their_own_and_their_warm_up_is_told() -> None:
    results = mode_results()
    names = [figure.name for figure in find_figures("fio", array_rows(results))]
    tests = ("seq-read", "seq-write", "rand-read", "rand-write")
    modes = ("writethrough", "writeback", "writearound")
    assert names == [f"{mode}/{test}" for mode in modes for test in tests]
    found = [
        row for mode in modes for row in array_rows(results, mode=mode) if mode in str(row.variant)
    ]
    assert describe_array([*found, *array_rows(inner({}))]) == (
        "3 cache modes, hit ratio 87.3 %, bypassed 0 B, dirty at end 11.7 MiB",
        "warm-up rounds: writethrough 2, writeback 3, writearound 4 NOT SETTLED",
    )


def test_of_a_pass_that_was_repeated_no_single_hit_ratio_is_shown() -> None:
    tickets = [TicketSum("direct", "bypass", 200_000_000, 2.0)]
    once = array_rows(inner({"direct": 0.5}))
    assert find_figures("lottery", once, tickets)[0].text.endswith(" 50.0 % hit")
    twice = array_rows(inner({"direct/1": 0.5, "direct/2": 0.9}))
    assert "hit" not in find_figures("lottery", twice, tickets)[0].text


def test_what_an_array_writes_is_not_known() -> None:
    """Its counter has the requests, and less than their bytes; of reads it has all."""
    meter = Meter("Array", keep_s=60.0)
    readings = [
        Counters(at_s, reads * 100, 0, reads, writes, lacks_writes=True)
        for at_s, reads, writes in ((0.0, 0, 0), (5.0, 10, 0), (10.0, 10, 5))
    ]
    rates = [meter.take("bcache0", reading) for reading in readings]
    assert [describe_rates([rate]) for rate in rates if rate] == [
        "Array now: read 0.0 MB/s, 2.0 IOPS; write 0.0 MB/s, 0.0 IOPS",
        "Array now: read 0.0 MB/s, 0.0 IOPS; write not known, 1.0 IOPS",
    ]
    course = meter.find_course()
    assert course is not None
    assert course.bytes_s == (200.0, None)


def test_a_step_on_a_drive_says_nothing_of_an_array() -> None:
    assert describe_array(rows("fio", FIO)) == ()


def test_a_meter_gives_the_mean_of_the_last_seconds_and_starts_over_with_another_drive() -> None:
    meter = Meter("Drive")
    assert meter.take("sda", Counters(0.0, 0, 0, 0, 0)) is None
    rate = meter.take("sda", Counters(2.0, 200, 100, 20, 10))
    assert rate is not None
    assert (rate.read_bytes_s, rate.write_bytes_s, rate.read_iops, rate.write_iops) == (
        100.0,
        50.0,
        10.0,
        5.0,
    )
    meter.take("sda", Counters(4.0, 200, 100, 20, 10))
    rate = meter.take("sda", Counters(6.0, 200, 100, 20, 10))
    assert rate is not None
    assert rate.read_bytes_s == 0.0
    assert meter.take("sdb", Counters(7.0, 1, 1, 1, 1)) is None
    assert meter.take("sdb", Counters(9.0, 0, 0, 0, 0)) is None, "it was away and counts from zero"


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("workload", 1, "data_size"), ("workload", 1, "data_size")),
        (("workload", 0, "tickets", "a"), ("workload", 0, "tickets")),
        (("workload", 0, "on", 1), ("workload", 0, "on")),
        (("workload", 2), ("workload", 2, "")),
        (("workload",), ("workload", 0, "")),
        (("boot", "boot_set"), ("boot", 0, "boot_set")),
        (("boot",), ("boot", 0, "")),
        (("campaign", "name"), ("campaign", 0, "name")),
        (("drive", 3), ("drive", 3, "")),
        (("array", "bucket"), ("array", 0, "bucket")),
        ((), ("", 0, "")),
    ],
)
def test_a_problem_is_found_in_the_form(path: KeyPath, place: tuple[str, int, str]) -> None:
    table, index, key = place
    told = f"{key}: must be 1" if key else "must be 1"
    mistake = find_mistake(Problem(path, "must be 1", line=3, file="plan.toml"))
    assert mistake == Mistake(table, index, key, told)
    sentence = 'drive "X" holds 4 GB; array.bucket is too large'
    conflict = find_mistake(Problem(path, sentence, kind="conflict"))
    assert conflict == Mistake(table, index, key, sentence), "it says itself where that is"
