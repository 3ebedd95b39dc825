# SPDX-License-Identifier: Apache-2.0
"""What `ci/bench drives` makes of a campaign and of the same tools by hand."""

import pytest

from appliance.plan.read import parse_plan
from tests.lab.bench import (
    _PLAN,
    Held,
    Window,
    compare_interface,
    compare_lottery,
    compare_surface,
    compare_windows,
    parse_marks,
    parse_rates,
    parse_windows,
)

# As the agent inside said it: bandwidth and IOPS.
SEQUENTIAL = {
    "sequential-1": "12447483 11.870845",
    "sequential-2": "12496064 11.917176",
    "sequential-3": "12494203 11.915401",
}
SURFACE = {"surface-1": "12428718 11.852949", "surface-8": "12746525 12.156034"}
# fio's process, what was held, microseconds, bytes: two tests, and a drive that becomes faster.
WINDOWS = {
    f"window-{number}": f"{700 + number // 17} {held} 12000000 {size_bytes + 100_000 * number}"
    for number, (held, size_bytes) in enumerate(
        [
            *[
                ("none", 148_000_000),
                ("all", 149_000_000),
                ("none", 148_000_000),
                ("interfaces", 148_500_000),
            ]
            * 4,
            ("none", 148_000_000),
        ]
        * 2
    )
}
# Processor time up to the end of each step: seconds, microseconds, ticks.
MARKS = {
    "processor-1": "164.50 9000000 4000",
    "processor-2": "221.00 9200000 4200",
    "processor-3": "269.00 9350000 4340",
    "processor-4": "317.50 9500000 4500",
}


def test_the_plan_is_one_that_the_engine_takes() -> None:
    kinds = [workload.kind for workload in parse_plan(_PLAN).workloads]
    assert kinds == ["lottery", *["fio"] * 5, "surface"]


def test_rounds_by_hand_are_read_by_their_test() -> None:
    rates = parse_rates(MARKS | WINDOWS | SEQUENTIAL | SURFACE)
    assert rates["sequential"] == [12447483, 12496064, 12494203]
    assert rates["surface"] == [12428718, 12746525]
    assert set(rates) == {"sequential", "surface"}


def test_of_a_tool_that_failed_its_words_are_reported() -> None:
    words = "fio: file creation disallowed by allow_file_create=0"
    with pytest.raises(RuntimeError, match=f"failed at sequential-1: {words}"):
        parse_rates(SEQUENTIAL | SURFACE | {"sequential-1": f"failed {words}"})
    with pytest.raises(RuntimeError, match="failed at sequential-1: no message"):
        parse_rates(SEQUENTIAL | SURFACE | {"sequential-1": "failed"})


def test_a_line_without_a_rate_is_reported() -> None:
    with pytest.raises(RuntimeError, match="no rate of fio by hand at surface-8: ''"):
        parse_rates(SEQUENTIAL | SURFACE | {"surface-8": ""})


def test_a_round_that_is_missing_is_reported() -> None:
    short = {key: text for key, text in SEQUENTIAL.items() if key != "sequential-2"}
    with pytest.raises(RuntimeError, match="2 of 3 rounds by hand: sequential"):
        parse_rates(short | SURFACE)


def test_a_window_is_held_against_the_two_around_it() -> None:
    windows = parse_windows(MARKS | WINDOWS)
    assert windows[1] == Window(700, "all", rate_bytes_s=149_100_000 / 12)
    sizes: dict[Held, int] = {"all": 149_000_000, "interfaces": 148_500_000}
    for held, size_bytes in sizes.items():
        measure = compare_windows(windows, held)
        # What becomes faster all the time does not count.
        assert measure.value == pytest.approx(148_000_000 / size_bytes, abs=2e-4)
        assert measure.peer.startswith("8 windows of 12 s, each between two")
        assert measure.peer.endswith("2 tests; standard error 0.0000")
        assert measure.holds
    assert compare_windows(windows, "all").name != compare_windows(windows, "interfaces").name


def test_a_window_without_a_rate_is_reported() -> None:
    with pytest.raises(RuntimeError, match="served nothing at window-3"):
        parse_windows(WINDOWS | {"window-3": "700 none 12000000 0"})
    for text in ("700 none", "700 1 12000000 5"):
        with pytest.raises(RuntimeError, match=f"no rate at window-3: '{text}'"):
            parse_windows(WINDOWS | {"window-3": text})


def _windows(*rates: float, first: int = 7) -> list[Window]:
    order: tuple[Held, ...] = ("none", "all", "none", "interfaces")
    return [Window(first, order[at % 4], rate_bytes_s=rate) for at, rate in enumerate(rates)]


def test_windows_that_differ_too_much_show_nothing() -> None:
    windows = _windows(*[100.0, 90.0, 100.0, 100.0, 100.0, 110.0, 100.0, 100.0] * 4, 100.0)
    measure = compare_windows(windows, "all")
    assert measure.value == pytest.approx(1.0, abs=0.01)
    assert not measure.holds
    with pytest.raises(RuntimeError, match="7 comparisons with all held beside fio, of 30 windows"):
        compare_windows(windows[:30], "all")


def test_a_window_at_the_end_of_a_test_shows_nothing() -> None:
    # The second test begins where the first one has lost its last window.
    windows = _windows(*[1.0] * 30, first=7) + _windows(*[2.0] * 35, first=8)
    assert compare_windows(windows, "interfaces").value == 1
    assert compare_windows(windows, "interfaces").peer.startswith("15 windows")


def test_the_interface_is_charged_for_fio_steps_alone() -> None:
    measure = compare_interface(parse_marks(MARKS | WINDOWS), 3)
    assert measure.value == pytest.approx(0.15 / 48.0 / 2, abs=1e-4)
    assert measure.peer == "the engine's own process: 0.0292 s per second"
    assert measure.holds
    dear = parse_marks(MARKS | {"processor-3": "269.00 13000000 4340"})
    assert not compare_interface(dear, 3).holds


def test_processor_time_that_was_not_seen_is_reported() -> None:
    with pytest.raises(RuntimeError, match="step 2 was not seen"):
        compare_interface(parse_marks({"processor-3": MARKS["processor-3"]}), 3)
    with pytest.raises(RuntimeError, match="no processor time at processor-2: '221"):
        parse_marks(MARKS | {"processor-2": "221.00"})


def test_lottery_and_surface_are_held_against_sequential_reads() -> None:
    rates = parse_rates(SEQUENTIAL | SURFACE)
    assert compare_lottery([12300000.0] * 3, rates["sequential"]).holds
    assert not compare_lottery([12200000.0] * 3, rates["sequential"]).holds
    assert not compare_surface(12428718.0, rates["surface"]).holds
    assert compare_surface(12500000.0, rates["surface"]).holds
