# SPDX-License-Identifier: Apache-2.0
"""fio in a report: latencies up to the longest waits, and the rate of a sustained write."""

import re
import sqlite3
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from appliance.report import sustained
from appliance.report.figures import group_workloads
from appliance.report.workload_findings import find_workload_findings
from appliance.samples.fio_output import find_percentiles, parse_fio
from appliance.samples.model import ActivitySample
from appliance.store.read.campaign import select_campaign
from appliance.store.tables import steps as store
from tests.databases import seal
from tests.report.database import Disk, make_database
from tests.report.pages_read import export, find_charts, words_of
from tests.report.states import BYPASS, Setup
from tests.report.workloads import add_results, add_step, make_results

CAPTURED = Path(__file__).parents[1] / "fixtures/fio/rand-read.json"


@pytest.fixture
def one(tmp_path: Path) -> sqlite3.Connection:
    """A campaign with one drive and nothing measured."""
    return make_database(tmp_path / "one.sqlite", disks=[Disk("A", "disk")])


def _measure(connection: sqlite3.Connection, test: str, cache: Setup) -> None:
    latencies = find_percentiles(parse_fio(CAPTURED.read_text(encoding="utf-8")).read.bins)
    step = add_step(connection, "fio", "A", position=0)
    add_results(connection, step, make_results(test, cache, iops=8000.0, **latencies))


def test_latencies_are_told_up_to_the_longest(one: sqlite3.Connection, tmp_path: Path) -> None:
    _measure(one, "rand-read", BYPASS)
    folder = export(one, tmp_path)
    # The captured run made 8192 requests: nothing lies beyond 99.99 % of them.
    assert re.search(
        r"p95 p99 p99\.9 p99\.99 .*? rand-read A – 8000 ([\d.]+ µs ){4}– 1 bypass", words_of(folder)
    )
    (chart,) = [
        chart
        for chart in find_charts((folder / "report.html").read_text(encoding="utf-8"))
        if 'id="chart-fio-latency-0-0"' in chart
    ]
    root = ET.fromstring(chart)  # noqa: S314 - our own
    assert len(list(root.iter("circle"))) == 4
    assert {"p50", "p99.9", "ms"} <= {text.text for text in root.iter("text")}
    metrics = {row[0] for row in one.execute("SELECT metric FROM results")}
    assert {"lat_p95_ns", "lat_p999_ns"} <= metrics
    assert "lat_p999_ns" in (folder / "results.csv").read_text(encoding="utf-8")


def test_a_sustained_write_shows_where_the_write_cache_ends(one: sqlite3.Connection) -> None:
    step = add_step(one, "fio", "A", position=0)
    add_results(one, step, make_results("seq-write", BYPASS, bw_bytes_s=1e8))
    # 2 GB at 400 MB/s with a pause in between, then 100 MB/s.
    rates = [400, 400, 0, 400, 400, 400, *[100] * 10]
    store.insert_activity(
        one,
        step,
        [
            ActivitySample("A", float(t), 0, rate * 10**6, 0, 1, 1.0)
            for t, rate in enumerate(rates, 1)
        ],
    )
    (workload,) = group_workloads(select_campaign(one, campaign_id=1))
    (chart,) = sustained.make_charts(workload)
    said = re.findall(r"A, ([\d.]+) GB written: (\d+) MB/s", chart.svg)
    assert said[4:6] == [("2.00", "400"), ("2.10", "100")]
    assert len(said) == 15


def test_what_hardly_wrote_has_no_such_chart(one: sqlite3.Connection) -> None:
    step = add_step(one, "fio", "A", position=0)
    add_results(one, step, make_results("seq-read", BYPASS, bw_bytes_s=1e8))
    samples = [ActivitySample("A", float(t), 10**8, 10**6, 1, 1, 1.0) for t in range(1, 400)]
    store.insert_activity(one, step, samples)
    (workload,) = group_workloads(select_campaign(one, campaign_id=1))
    assert sustained.make_charts(workload) == ()


def _write(
    connection: sqlite3.Connection, *rates: float, seconds: int = 10, tests: str = "seq-write"
) -> str:
    """So long at each rate, in MB/s; what is reported of the drive's writing."""
    step = add_step(connection, "fio", "A", position=0)
    for test in tests.split():
        add_results(connection, step, make_results(test, BYPASS, bw_bytes_s=1e6))
    samples = [
        ActivitySample("A", float(number * seconds + t), 0, int(rate * 1e6), 0, 1, 1.0)
        for number, rate in enumerate(rates)
        for t in range(1, seconds + 1)
    ]
    store.insert_activity(connection, step, samples)
    found = find_workload_findings(group_workloads(select_campaign(connection, campaign_id=1)))
    return " ".join(finding.text for finding in found if finding.subject == "A")


def test_a_fall_in_writing_is_told_with_its_place(one: sqlite3.Connection) -> None:
    assert _write(one, 40, 40, 5, 5, 5, 5) == (
        "writing fell from 40.0 to 5.00 MB/s once 762.9 MiB were written, and stayed there (fio;"
        " medians)."
    )


@pytest.mark.parametrize(
    "rates",
    [
        (40, 40, 40, 40),
        # A disk, from its rim inwards.
        tuple(180 - 9 * number for number in range(11)),
        # It recovers.
        (40, 5, 40, 5, 40, 5),
        # A stumble at the end.
        (40, 40, 40, 1),
    ],
)
def test_what_is_no_fall_is_none(one: sqlite3.Connection, rates: tuple[float, ...]) -> None:
    assert _write(one, *rates) == ""


def test_tests_that_write_in_two_ways_are_not_held_together(one: sqlite3.Connection) -> None:
    assert _write(one, 40, 40, 5, 5, 5, tests="seq-write rand-write") == ""


def _tell_rounds(connection: sqlite3.Connection, *rates: float) -> str:
    step = add_step(connection, "fio", "A", position=0)
    for number, rate in enumerate(rates, start=1):
        name = f"seq-read/round-{number}"
        add_results(connection, step, make_results(name, BYPASS, bw_bytes_s=rate * 1e6))
    (finding,) = find_workload_findings(group_workloads(select_campaign(connection, campaign_id=1)))
    return finding.text


def test_a_first_round_that_was_another_is_told(one: sqlite3.Connection) -> None:
    assert _tell_rounds(one, 40, 30, 10, 10, 10, 10, 10).startswith(
        "A: 10.0 MB/s (last 5 of 7 rounds; the first was 4.0 times as fast); page cache bypass,"
    )


def test_a_first_round_that_was_like_the_last_is_not(one: sqlite3.Connection) -> None:
    assert _tell_rounds(one, 11, 10, 10, 10, 10, 10).startswith(
        "A: 10.0 MB/s (last 5 of 6 rounds);"
    )


_SAME = """\
version = 1
[[drive]]
serial = "A"
[[workload]]
kind = "fio"
tests = ["seq-read"]
steady_state = true
same_blocks = true
"""


def test_what_later_rounds_on_the_same_blocks_gain_is_told(
    one: sqlite3.Connection, tmp_path: Path
) -> None:
    one.execute("UPDATE campaign SET plan_toml = ?", (_SAME,))
    seal(one, "campaign")
    # Of other blocks so small a difference would be no news.
    told = _tell_rounds(one, 10, 12, 12, 12, 12, 12)
    assert told.startswith(
        "A: 12.0 MB/s (last 5 of 6 rounds of the same blocks; the first was 1.2 times as slow);"
    )
    assert "Every round moved the same blocks" in words_of(export(one, tmp_path))


def test_a_job_of_ones_own_is_not_called_sequential(
    one: sqlite3.Connection, tmp_path: Path
) -> None:
    """It may jump: what it does is in the plan."""
    step = add_step(one, "fio", "A", position=0)
    rows = [
        row
        for name in ("custom", "custom/read", "custom/write")
        for row in make_results(name, BYPASS, bw_bytes_s=4e5, iops=100.0)
    ]
    add_results(one, step, rows)
    words = words_of(export(one, tmp_path))
    assert "Job with options of its own, MB/s" in words
    assert "Sequential tests" not in words
    # Tried with fio 3.39: 400 MiB of reads, 1215 MB/s without end_fsync and 547 with it.
    assert "the rates of both include the flush at the end" in words
