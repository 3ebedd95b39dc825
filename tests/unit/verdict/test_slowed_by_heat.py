# SPDX-License-Identifier: Apache-2.0
"""Figures that were taken while the drive slowed itself down say so, in verdict and report."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.report.figures import group_workloads
from appliance.report.workload_findings import find_workload_findings
from appliance.samples.model import Result
from appliance.samples.throttling import Throttling
from appliance.store.connect import transaction
from appliance.store.read.campaign import select_campaign
from appliance.store.tables.throttling import add_throttling
from tests.report.judged import BYPASS, drive_id, figures_of, make_rows
from tests.report.workloads import add_results, add_step, end_step

DRIVE = "LAB-GOOD-1"
HOT = "the drive was hot and slowed itself down meanwhile"
SAID = f"{HOT}: 8 times lightly, 9 s and once heavily, 4 s"


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(make_rows(tmp_path)) as connection:
        yield connection


def _measure(connection: sqlite3.Connection, throttling: Throttling | None) -> None:
    step = add_step(connection, "fio", DRIVE, position=0)
    add_results(connection, step, [Result("seq-read", "bw_bytes_s", 2e8, BYPASS)])
    if throttling is not None:
        with transaction(connection):
            ids = {DRIVE: drive_id(connection, DRIVE)}
            add_throttling(connection, step, ids, {DRIVE: throttling})
    end_step(connection, step, "done")


def _told(connection: sqlite3.Connection) -> list[str]:
    found = find_workload_findings(group_workloads(select_campaign(connection, campaign_id=1)))
    return [finding.text for finding in found if "slowed" in finding.text]


def test_a_figure_of_a_hot_drive_stays_and_says_so(rows: sqlite3.Connection) -> None:
    _measure(rows, Throttling(lightly=8, lightly_s=9, heavily=1, heavily_s=4))
    figure = figures_of(rows, DRIVE)["fio_seq_read_mb_s"]
    assert (figure.value, SAID in figure.detail) == (200, True)
    assert _told(rows) == [f"fio: {SAID}."]


@pytest.mark.parametrize("throttling", [None, Throttling(), Throttling(too_hot_minutes=1)])
def test_of_a_drive_that_was_not_slowed_down_nothing_is_said(
    rows: sqlite3.Connection, throttling: Throttling | None
) -> None:
    _measure(rows, throttling)
    assert "slowed" not in figures_of(rows, DRIVE)["fio_seq_read_mb_s"].detail
    assert _told(rows) == []


def test_a_drive_that_came_hot_was_slowed_down_no_zero_times() -> None:
    said = Throttling(heavily_s=30).sentence
    assert said.endswith("meanwhile: already at the start heavily, 30 s")
