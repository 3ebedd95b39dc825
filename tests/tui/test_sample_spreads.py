# SPDX-License-Identifier: Apache-2.0
"""Samples of one workload: boxes of five and more, lists of fewer, each with its cache state."""

from dataclasses import replace

from appliance.samples.model import Result
from appliance.statistics.stats import find_quartiles
from appliance.store.read.figures import FigureRow, SampleRow
from appliance.workloads.fio.keys import FioVariant
from appliance.workloads.lottery.keys import LotteryVariant
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD, SSHD
from tests.tui.measured import MIB, state
from tests.tui.spread_scenes import SECONDS, show_spreads
from tests.tui.steps import press, settle, text_of
from tui.app import KaltstartApp
from tui.figures.sample_spreads import LEAST_FOR_A_BOX, find_spreads


async def test_samples_of_each_drive_are_boxes_on_one_axis_or_a_list(engine: FakeEngine) -> None:
    show_spreads(engine)
    rates = [100 * MIB / each / 1e6 for each in SECONDS]
    found = find_quartiles(rates)
    assert found is not None
    async with KaltstartApp(engine.port()).run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "4")
        text = text_of(pilot, "#results")
    lines = text.splitlines()
    at = lines.index("lottery direct: MB/s of each sample, bypass")
    box, axis, listed = lines[at + 1 : at + 4]
    assert box.startswith(f"{HDD.serial} n=5")
    assert [set("├█│┤") & set(box)] == [set("├█│┤")]
    five = (min(rates), found.lower, found.median, found.upper, max(rates))
    assert box.endswith("  ".join(f"{value:.2f}" for value in five))
    assert axis.split() == [f"{min(rates):.2f}", f"{max(rates):.2f}"]
    assert listed == f"{SSHD.serial} n=2  209.72  104.86"


def test_rounds_of_a_test_are_samples_of_it() -> None:
    rows = [
        FigureRow(
            FioVariant(test="rand-read", round=number),
            metric,
            100.0 * number,
            "cold",
            "proven",
            valid=number != 3,
        )
        for number in range(1, 5)
        for metric in ("bw_bytes_s", "iops")
    ]
    (spread,) = find_spreads("fio", rows, ())
    assert (spread.name, spread.cache, spread.unit) == ("rand-read", "cold", "IOPS")
    assert spread.values == (100.0, 200.0, 400.0)
    assert find_spreads("fio", [replace(rows[0])], ()) == ()


def test_what_is_not_valid_or_measured_once_has_no_spread() -> None:
    bad = FigureRow(
        LotteryVariant(reading="direct"), "touch_ratio", 1.0, "bypass", "unproven", valid=False
    )
    twice = [SampleRow("direct", "bypass", 1e6), SampleRow("direct", "bypass", 2e6)]
    assert find_spreads("lottery", [bad], twice) == ()
    good = replace(bad, valid=True)
    assert [each.cache for each in find_spreads("lottery", [good], twice)] == ["bypass unproven"]
    assert find_spreads("lottery", [good], twice[:1]) == ()
    assert find_spreads("sql", [good], twice) == ()
    assert LEAST_FOR_A_BOX > 2


async def test_slices_of_a_surface_are_its_samples(engine: FakeEngine) -> None:
    campaign_id = engine.add_campaign("one", cycles=0, boots={HDD: []})
    step = engine.add_step(
        campaign_id,
        "surface",
        HDD,
        results=(Result("whole", "bw_bytes_s", 98.4e6, state("bypass")),),
    )
    engine.connection.executemany(
        "INSERT INTO surface_slice VALUES (?, ?, ?, ?, 1000, 0, 1, ?, 9, NULL)",
        [(step, n, n * 1000, n * 1000 + 1000, 100e6 - n * 1e6) for n in range(10)],
    )
    # Read in pieces after a failed read, which has no rate.
    engine.connection.execute(
        "INSERT INTO surface_slice VALUES (?, 10, 10000, 11000, 400, 600, 0, 0, 0, NULL)", (step,)
    )
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "4")
        lines = text_of(pilot, "#results").splitlines()
    at = lines.index("surface slices: MB/s of each sample, bypass")
    assert lines[at + 1].startswith(f"{HDD.serial} n=10")
    assert lines[at + 1].endswith("95.50")
