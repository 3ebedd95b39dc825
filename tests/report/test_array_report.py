# SPDX-License-Identifier: Apache-2.0
"""An array in a report: beside its drives, with its cache, its dirty data and its price."""

import csv
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.report.arrays import cache_modes
from appliance.report.arrays.compare import find_comparisons
from appliance.report.arrays.section import read_settings
from appliance.report.blocks import find_ram_share
from appliance.report.figures import Workload, group_workloads
from appliance.samples.model import Result
from appliance.samples.variants import ArrayVariant
from appliance.store.read.campaign import select_campaign
from appliance.store.tables import steps as store
from appliance.workloads.fio import report as fio
from appliance.workloads.lottery import report as lottery
from appliance.workloads.matrix import report as matrix
from appliance.workloads.sweep import report as sweep
from tests.report.arrays import (
    COUNTED,
    DISKS,
    HDD,
    PLACES,
    SET,
    SSD,
    add_array_results,
    add_array_step,
)
from tests.report.database import make_database
from tests.report.pages_read import export, find_charts, words_of
from tests.report.states import BALLAST, BYPASS, NOT_DROPPED
from tests.report.workloads import add_results, make_results

_PHASES = ("recovery", "indexes", "wide_update", "string_updates", "select")


def _group(connection: sqlite3.Connection) -> tuple[Workload, ...]:
    return group_workloads(select_campaign(connection, campaign_id=1))


@pytest.fixture
def pair(tmp_path: Path) -> sqlite3.Connection:
    """The two drives, no boots, nothing measured."""
    disks = [replace(disk, boots=()) for disk in DISKS]
    return make_database(tmp_path / "pair.sqlite", disks=disks)


def test_the_rates_of_the_array_are_those_of_no_drive_that_is_called_so(tmp_path: Path) -> None:
    """Neither is the backing drive another drive of its name, which has no part in the array."""
    wwns = ("0x5000000000000001", "0x5000000000000002")
    members = [replace(disk, wwn=wwn, boots=()) for disk, wwn in zip(DISKS, wwns, strict=True)]
    members[0] = replace(members[0], serial="array")
    others = [replace(members[1], wwn="0x5000000000000003", role="target")]
    connection = make_database(tmp_path / "names.sqlite", disks=[*members, *others])
    add_array_step(connection, "sql", "array")
    connection.execute("UPDATE step SET drive_id = NULL")  # it took the drive for the array
    (workload,) = _group(connection)
    assert {name: label for name, (label, _) in workload.steps[0].devices.items()} == {
        wwns[0]: f"{wwns[0]} (cache)",
        HDD: f"{wwns[1]} (backing)",
    }


def _add_totals(connection: sqlite3.Connection, totals: Sequence[float]) -> None:
    for place, total in zip(PLACES, totals, strict=True):
        step = add_array_step(connection, "sql", place)
        rows: list[Result] = []
        for phase in _PHASES:
            rows += make_results(phase, BALLAST, seconds=total / 5)
        rows += make_results("total", NOT_DROPPED, seconds=total)
        if place == "array":
            add_array_results(connection, step, rows)
        else:
            add_results(connection, step, rows)


def test_the_array_stands_between_its_drives_and_says_what_ram_answered(
    array_report: Path,
) -> None:
    words = words_of(array_report)
    assert (
        "SQL, all phases : the array took 1 min 46 s, between the cache drive alone (LAB-SSD-1,"
        " 1 min 22 s) and the backing drive alone (LAB-HDD-1, 2 min 58 s). 1.68 times as fast as"
        " the backing drive alone, 75 % of the cache drive's advantage. Page cache began cold,"
        " proven; RAM answered 12 %; the array was clean when it began; n = 1 each."
    ) in words
    # One sentence, not two.
    assert words.count("SQL, all phases :") == 1
    assert "LAB-SSD-1, cache drive alone LAB-HDD-1, backing drive alone array" in words


@pytest.mark.parametrize(
    ("totals", "said", "kind"),
    [
        ((100, 200, 150), "between the cache drive alone", "gain"),
        ((100, 200, 119.7), "the array took 2 min 0 s, between", "gain"),
        ((100, 200, 95), "about as fast as the cache drive alone (LAB-SSD-1, 1 min 40 s)", "gain"),
        ((100, 200, 80), "better than the cache drive alone", "remark"),
        ((100, 200, 210), "about as fast as the backing drive alone", "flat"),
        ((100, 200, 300), "worse than the backing drive alone", "remark"),
        ((200, 100, 150), "no faster than the backing drive alone", "remark"),
    ],
)
def test_an_order_is_told_as_it_was(
    pair: sqlite3.Connection, tmp_path: Path, totals: Sequence[float], said: str, kind: str
) -> None:
    _add_totals(pair, totals)
    assert said in words_of(export(pair, tmp_path))
    page = next((tmp_path / "r").glob("*/report.html")).read_text()
    assert re.search(rf'<li class="{kind}"><strong>SQL, all phases', page)


_THREE = """version = 1
[[drive]]
serial = "LAB-SSD-1"
erase = "LAB-SSD-1"
role = "cache"
[[drive]]
serial = "LAB-HDD-1"
erase = "LAB-HDD-1"
role = "backing"
[array]
kind = "bcache"
[[workload]]
kind = "sql"
on = "LAB-SSD-1"
[[workload]]
kind = "sql"
on = "LAB-HDD-1"
data_size = "{size}"
[[workload]]
kind = "sql"
on = "array"
data_size = 536870912
"""


def _add_three_tables(connection: sqlite3.Connection, size: str) -> None:
    """A table of the plan for each place, as many people write it."""
    _add_totals(connection, (100, 200, 150))
    for index, place in enumerate(PLACES):
        connection.execute("UPDATE step SET workload_index = ? WHERE device = ?", (index, place))
    connection.execute("UPDATE campaign SET plan_toml = ?", (_THREE.format(size=size),))


def test_tables_that_ask_the_same_of_each_place_are_one_comparison_on_one_scale(
    pair: sqlite3.Connection, tmp_path: Path
) -> None:
    # 512M is the default: left out, written as a size and in bytes, it is the same.
    _add_three_tables(pair, "512M")
    (workload,) = _group(pair)
    assert workload.indexes == (0, 1, 2)
    words = words_of(export(pair, tmp_path))
    assert "SQL, all phases : the array took 2 min 30 s, between the cache drive alone" in words
    assert "Workloads 1, 2 and 3 of the plan" in words
    page = next((tmp_path / "r").glob("*/report.html")).read_text()
    assert page.count('<svg id="chart-sql-') == 1


def test_tables_that_ask_for_something_else_are_not_compared(
    pair: sqlite3.Connection, tmp_path: Path
) -> None:
    _add_three_tables(pair, "1G")
    assert [workload.indexes for workload in _group(pair)] == [(0, 2), (1,)]
    assert "between the cache drive alone" not in words_of(export(pair, tmp_path))


def test_the_same_asked_of_the_same_place_again_is_another_run(pair: sqlite3.Connection) -> None:
    _add_three_tables(pair, "512M")
    pair.execute("UPDATE step SET device = 'LAB-SSD-1' WHERE workload_index = 1")
    assert [workload.indexes for workload in _group(pair)] == [(0, 2), (1,)]


def test_the_answer_comes_before_the_price(array_report: Path) -> None:
    words = words_of(array_report)
    assert words.index("the array took") < words.index("the price of writeback")


def test_no_share_of_next_to_nothing(pair: sqlite3.Connection) -> None:
    _add_totals(pair, (100, 105, 102))
    (workload,) = _group(pair)
    assert find_comparisons(workload)[0].share is None


def test_no_sentence_where_one_of_the_three_is_not_proven(
    pair: sqlite3.Connection, tmp_path: Path
) -> None:
    _add_totals(pair, (100, 200, 150))
    pair.execute(
        "UPDATE result SET checksum = NULL, page_cache_proof = 'unproven',"
        " began_cold = 'unproven' WHERE device = 'array'"
    )
    words = words_of(export(pair, tmp_path))
    assert "the array took" not in words
    assert "cold, not proven; writeback, clean" in words


def test_what_is_invalid_is_in_no_comparison(pair: sqlite3.Connection, tmp_path: Path) -> None:
    _add_totals(pair, (100, 200, 150))
    pair.execute("UPDATE result SET checksum = NULL, valid = 0 WHERE device = 'array'")
    assert "the array took" not in words_of(export(pair, tmp_path))


def test_a_figure_of_a_dirty_array_is_marked(array_report: Path) -> None:
    words = words_of(array_report)
    assert (
        "The array was not clean when these began: 1G/seq-read/randommap (12 MiB). Writing back"
    ) in words
    assert "sweep: 1 of 12 figures began while up to 12 MiB were dirty" in words
    assert "bypass, proven; writeback, 12 MiB dirty" in words
    # Every other one is called clean.
    assert "writeback, clean" in words
    assert "Dirty before: when the part began to measure, after any waiting" in words


def test_hits_of_the_cache_are_not_called_the_rams(hybrid: sqlite3.Connection) -> None:
    steps = [step for workload in _group(hybrid) for step in workload.steps]
    for step in steps:
        assert not any(isinstance(figure.variant, ArrayVariant) for figure in step.figures)
        for figure in step.figures:
            if "warm-up" in figure.name:
                assert (find_ram_share([figure]) or 0.0) == 0.0
    assert all(bool(step.cache_figures) == (step.place == "array") for step in steps)


def test_parsers_leave_out_what_is_about_the_cache(pair: sqlite3.Connection) -> None:
    for number, kind in enumerate(("fio", "matrix", "sweep", "lottery")):
        step = add_array_step(pair, kind, "array", index=number)
        for part in ("array", "array/seq-read", "array/1G/4K/read", "array/direct/f"):
            rows = make_results(part, COUNTED, hit_ratio=0.5, backing_read_bytes=1.0)
            add_array_results(pair, step, rows)
    found = [workload.steps[0] for workload in _group(pair)]
    assert fio.find_tests(found[0]) == ()
    assert matrix.find_cells(found[1]) == ()
    assert sweep.find_points(found[2]) == ()
    assert lottery.find_passes(found[3]) == ()


def test_modes_stand_in_one_table_with_their_warming(array_report: Path) -> None:
    words = words_of(array_report)
    assert "Cache modes compared Test writethrough writeback writearound" in words
    assert "rand-write, IOPS 205 30500 190" in words
    assert "writethrough 5 0 % 72 % after 5" in words
    assert "writearound 5 0 % 35 % not settled" in words
    assert "writearound: the cache had not settled after 5 rounds" in words
    assert (
        "fio, rand-write, the array in its cache modes : writethrough: 205 IOPS, writeback: 30500"
    ) in words


def test_rounds_in_a_mode_are_its_own(pair: sqlite3.Connection) -> None:
    step = add_array_step(pair, "fio", "array")
    for mode, iops in (("writeback", 50.0), ("none", 10.0)):
        for number in (1, 2):
            variant = f"{mode}/rand-read/round-{number}"
            rows = make_results(variant, BYPASS, iops=iops)
            add_array_results(pair, step, rows, mode=mode)
    (workload,) = _group(pair)
    tests = fio.find_tests(workload.steps[0])
    assert [(test.mode, test.name, test.random, test.get("iops")) for test in tests] == [
        ("writeback", "rand-read", True, 50.0),
        ("none", "rand-read", True, 10.0),
    ]
    assert cache_modes.find_warm_ups(workload.steps[0]) == ()


def test_the_pair_with_and_without_random_map_is_told(array_report: Path) -> None:
    words = words_of(array_report)
    assert "1G 227 21 % 331 46 % 1.46 × writeback, clean" in words
    assert "array, sweep, rand-read on 1G : 227 IOPS with each block asked for once" in words


def test_the_price_is_told_for_each_mode_that_was_used(array_report: Path) -> None:
    words = words_of(array_report)
    price = words[words.index("What is lost when the cache drive dies") :]
    assert "The most that was dirty at once in this campaign: 117 MiB." in price
    assert price.index("writeback :") < price.index("writethrough :") < price.index("writearound :")
    assert "none :" not in price
    assert "array, the price of writeback : up to 117 MiB were on the cache drive only." in words


def test_nothing_is_called_lost_where_nothing_was(pair: sqlite3.Connection, tmp_path: Path) -> None:
    step = add_array_step(pair, "sql", "array")
    rows = make_results("recovery", BALLAST, seconds=1.0)
    add_array_results(pair, step, rows, mode="writethrough")
    words = words_of(export(pair, tmp_path))
    assert "writethrough : Each write is acknowledged when both drives have it." in words
    assert "the price of writeback" not in words
    assert "all that is dirty is lost" not in words


def test_charts_of_the_three_devices_have_one_time_axis(array_report: Path) -> None:
    page = (array_report / "report.html").read_text()
    # Three devices and the dirty bytes of each of the four steps on the array.
    assert len(re.findall(r'id="chart-panel-\d+-\d"', page)) == 12
    assert len(re.findall(r'id="chart-dirty-\d+"', page)) == 4
    order = re.findall(r'<p class="title">(array|LAB-[A-Z-0-9]+ \([a-z]+\)): read', page)
    assert order[:3] == ["array", f"{SSD} (cache)", f"{HDD} (backing)"]


def test_what_an_array_wrote_is_in_no_chart(array_report: Path) -> None:
    """It is not known: Linux does not count what is written past the cache."""
    page, words = (array_report / "report.html").read_text(), words_of(array_report)
    assert "array: read rate" in page
    assert f"{HDD} (backing): read and write rate" in page
    assert words.count("read; what was written is not known, as Linux does not") == 4
    lines = csv.DictReader((array_report / "activity.csv").read_text().splitlines())
    assert {line["write_bytes"] for line in lines if line["device"] == "array"} == {""}


def test_interrupted_counters_are_told_as_such(pair: sqlite3.Connection, tmp_path: Path) -> None:
    step = add_array_step(pair, "fio", "array")
    add_array_results(pair, step, make_results("seq-read", BYPASS, bw_bytes_s=1e6))
    rows = [Result("array", "cache_hits", 77.0, COUNTED, valid=False)]
    add_array_results(pair, step, rows)
    assert "array (interrupted: since its last start) – 77 –" in words_of(export(pair, tmp_path))


def test_boots_of_the_array_are_named_after_it(array_report: Path) -> None:
    words = words_of(array_report)
    assert (
        "array (LAB-HDD-1) : from boot 2 on 2.53 times (2.50 to 2.56) as fast as at its first boot"
        in words
    )
    # Its cache drive is not booted alone: no column, no missing boots.
    assert "no valid timed boot" not in words


def test_an_array_that_was_left_is_told(hybrid: sqlite3.Connection, tmp_path: Path) -> None:
    hybrid.execute("UPDATE array_made SET state = 'parting', reason = 'the SSD is gone'")
    assert "not dismantled completely: the SSD is gone" in words_of(export(hybrid, tmp_path))


def test_settings_are_those_of_the_plan(array_report: Path) -> None:
    words = words_of(array_report)
    assert "sequential_cutoff 0 off, for benchmarking." in words
    assert "block the larger logical block of the two drives default" in words
    assert read_settings("[array") is None
    assert read_settings("array = 1") is None


def test_settings_that_the_plan_leaves_out_are_its_defaults(
    pair: sqlite3.Connection, tmp_path: Path
) -> None:
    pair.execute("UPDATE campaign SET plan_toml = '[array]\nsequential_cutoff = \"4M\"'")
    words = words_of(export(pair, tmp_path))
    assert "sequential_cutoff 4M longer sequential requests go past the cache" in words
    assert "congested_read_threshold_us 0 default off, for benchmarking." in words
    assert "cache_mode writeback default" in words
    # Nothing was measured, so nothing is said about how much was dirty.
    assert "How much was dirty at once was not measured here." in words


def test_exports_have_the_condition_of_the_array(
    array_report: Path, hybrid: sqlite3.Connection
) -> None:
    with (array_report / "results.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["device"] == "array"]
    assert {row["array_mode"] for row in rows} == {"writeback", "writethrough", "writearound"}
    assert {row["array_dirty_bytes"] for row in rows} == {"0", str(12 << 20)}
    (count,) = hybrid.execute(
        "SELECT count(*) FROM results WHERE device = 'array' AND drive_serial = ''"
    ).fetchone()
    assert len(rows) == count
    (samples,) = hybrid.execute("SELECT count(*) FROM array_dirty").fetchone()
    lines = (array_report / "array_dirty.csv").read_text().splitlines()
    assert lines[0] == "step_id,t_s,dirty_bytes"
    assert len(lines) == 1 + samples
    assert SET not in (array_report / "report.html").read_text()


def test_what_lies_between_the_parts_is_added_up(pair: sqlite3.Connection) -> None:
    step = add_array_step(pair, "fio", "array")
    for wrote in (5.0, 7.0):
        other = make_results("other", BYPASS, device_write_bytes=wrote)
        store.insert_results(pair, step, "array", other)
    (workload,) = _group(pair)
    (figure,) = workload.steps[0].figures
    assert figure.values == {"device_write_bytes": 12.0}


def test_panels_have_their_axes_in_line(array_report: Path) -> None:
    page = (array_report / "report.html").read_text(encoding="utf-8")
    margins = {
        re.sub(r".*(--left: [\d.]+px; --right: [\d.]+px).*", r"\1", chart)
        for chart in find_charts(page)
        if re.match(r'<svg id="chart-(panel|dirty)-', chart)
    }
    assert margins == {"--left: 64px; --right: 72px"}
