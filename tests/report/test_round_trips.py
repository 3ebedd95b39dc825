# SPDX-License-Identifier: Apache-2.0
"""What was measured is what comes out: as JSON, as CSV, and after merges in any direction."""

import csv
import io
import json
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.report.csv_files import render_json, render_results
from appliance.samples.model import METRIC_UNITS, CacheState, PageCache, Result
from appliance.store.connect import open_database
from appliance.store.maintenance.extract import extract_campaign
from appliance.store.maintenance.merge import merge_database
from appliance.store.read.campaign import select_campaign
from appliance.store.tables import steps as store
from appliance.units import printable
from tests.databases import seal
from tests.plan_examples import STEADY
from tests.report.database import Boot, Disk, add_campaign, make_database
from tests.report.workloads import add_step

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_FIGURES = st.floats(allow_nan=False, allow_infinity=False)
_STATES = st.builds(
    CacheState,
    st.sampled_from(get_args(PageCache)),
    st.sampled_from(["proven", "unproven"]),
    _TEXTS,
    st.integers(0, (1 << 63) - 1),
    _TEXTS,
)
_RESULTS = st.lists(
    st.builds(
        Result, _TEXTS, st.sampled_from(sorted(METRIC_UNITS)), _FIGURES, _STATES, st.booleans()
    ),
    max_size=6,
)
_FORMULAS = tuple("=+-@＝＋－＠")
_merge = partial(merge_database, room_bytes=1 << 30)


def _make(path: Path, results: list[Result], boots: list[float]) -> None:
    disk = Disk("LAB-1", "disk", boots=[Boot(n, each) for n, each in enumerate(boots, 1)])
    with closing(make_database(path, disks=[disk])) as connection:
        step = add_step(connection, "fio", "LAB-1", position=0)
        store.insert_results(connection, step, "LAB-1", results)
        for table in ("campaign", "campaign_drive", "cycle", "boot_sample"):
            seal(connection, table)


def _read(connection: sqlite3.Connection, number: int) -> tuple[dict[str, Any], str]:
    rows = select_campaign(connection, campaign_id=number, with_activity=False)
    assert rows.damaged == ()
    return json.loads(render_json(rows)), render_results(rows)


def _without_numbers(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Its figures: only their rows' numbers, and those of campaign and step, differ in a merge."""
    numbers = {"campaign_id", "step_id", "id"}
    return [
        {key: value for key, value in row.items() if key not in numbers}
        for name in ("boot_times", "results")
        for row in document[name]
    ]


@settings(STEADY, max_examples=30)
@given(results=_RESULTS, boots=st.lists(st.floats(0.0, 1e6), max_size=4))
def test_figures_come_out_as_they_went_in(results: list[Result], boots: list[float]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "kaltstart.sqlite"
        _make(path, results, boots)
        with closing(open_database(path)) as connection:
            document, table = _read(connection, 1)
    read = document["results"]
    assert [(row["variant"], row["metric"], row["value"]) for row in read] == [
        (each.variant, each.metric, each.value) for each in results
    ]
    assert [
        (row["page_cache"], row["page_cache_proof"], row["proof_reason"], row["ballast_bytes"])
        for row in read
    ] == [
        (each.cache.page_cache, each.cache.proof, each.cache.proof_reason, each.cache.ballast_bytes)
        for each in results
    ]
    assert [row["boot_s"] for row in document["boot_times"]] == boots
    lines = [*csv.DictReader(io.StringIO(table, newline=""))]
    assert [float(line["boot_s"]) for line in lines if line["boot_s"]] == boots
    figures = [line for line in lines if not line["boot_s"]]
    assert [(float(line["value"]), line["page_cache"], line["valid"]) for line in figures] == [
        (each.value, each.cache.page_cache, str(int(each.valid))) for each in results
    ]
    assert [line["variant"] for line in figures] == [
        "'" * each.variant.startswith(_FORMULAS) + printable(each.variant) for each in results
    ]


@settings(STEADY, max_examples=20)
@given(results=_RESULTS, boots=st.lists(st.floats(0.0, 1e6), max_size=4))
def test_figures_and_their_checksums_outlast_every_merge(
    results: list[Result], boots: list[float]
) -> None:
    with TemporaryDirectory() as folder:
        one, two, three = (Path(folder) / f"{name}.sqlite" for name in ("one", "two", "three"))
        _make(one, results, boots)
        with closing(open_database(two)) as connection:
            add_campaign(connection, name="its own", disks=[Disk("LAB-2", "ssd")])
            assert (_merge(connection, one).campaigns, _merge(connection, one).campaigns) == (1, 0)
            extract_campaign(connection, 2, three, scratch=Path(folder) / "scratch")
            after, _ = _read(connection, 2)
        with closing(open_database(one)) as connection:
            before, _ = _read(connection, 1)
            counts = _merge(connection, three)
            assert (counts.campaigns, counts.already_there) == (0, 1), "it came from here"
            counts = _merge(connection, two)
            assert (counts.campaigns, counts.already_there, counts.damaged) == (1, 1, 0)
            assert _read(connection, 1)[0] == before
    assert _without_numbers(after) == _without_numbers(before)
