# SPDX-License-Identifier: Apache-2.0
"""A drive of which the kernel reported errors in a step is not plainly accepted."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.campaign.verdicts import judge_campaign
from appliance.report.figures import group_workloads
from appliance.report.workload_findings import find_workload_findings
from appliance.samples.kernel_errors import KernelErrors
from appliance.store.connect import transaction
from appliance.store.read.campaign import select_campaign
from appliance.store.tables.kernel_errors import add_kernel_errors
from appliance.store.tables.steps import insert_step
from appliance.verdict.evidence import Figure
from tests.report.database import make_database
from tests.report.judged import (
    GOOD,
    add_conditions,
    add_health,
    add_surface,
    drive_id,
    figures_of,
    make_site,
    read_smart,
)

_TEXTS = (
    "ata2.00: exception Emask 0x0 SAct 0x1f SErr 0x0 action 0x0",
    "ata2.00: failed command: READ FPDMA QUEUED",
)


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(make_database(tmp_path / "rows.sqlite", disks=[GOOD])) as connection:
        add_conditions(connection, {GOOD.serial: "6.0 Gb/s"})
        yield connection


def _scan(connection: sqlite3.Connection, *reported: KernelErrors) -> None:
    """The whole surface, in one attempt for each of `reported`, and no byte unreadable."""
    good = drive_id(connection, GOOD.serial)
    with transaction(connection):
        smart = read_smart("ata-412")
        add_health(connection, GOOD.serial, smart, smart)
        step = add_surface(connection, GOOD, position=0, mean_mb_s=180)
        for errors in reported:
            add_kernel_errors(connection, step, {good: errors})


def _judge(connection: sqlite3.Connection) -> tuple[str, str, str, str]:
    """The verdict, and its limit on these messages."""
    judge_campaign(make_site(connection), 1)
    row = connection.execute(
        "SELECT v.verdict, l.outcome, l.measured, l.detail FROM verdicts v"
        " JOIN verdict_limits l USING (campaign_id, drive_serial)"
        " WHERE drive_serial = ? AND l.name = 'kernel_errors'",
        [GOOD.serial],
    ).fetchone()
    return tuple(row)


def _told(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    found = find_workload_findings(group_workloads(select_campaign(connection, campaign_id=1)))
    return [(each.subject, each.text) for each in found if "kernel" in each.text]


def test_a_scan_without_an_unreadable_byte_has_a_remark(rows: sqlite3.Connection) -> None:
    _scan(rows, KernelErrors(7, _TEXTS))
    assert _judge(rows) == (
        "accept with remarks",
        "remark",
        "7",
        f"surface: {_TEXTS[1]}; 6 more",
    )
    assert _told(rows) == [
        (GOOD.serial, f"surface: the kernel reported {_TEXTS[0]}; {_TEXTS[1]}; 5 more.")
    ]


def test_a_scan_of_which_nothing_was_reported_is_accepted(rows: sqlite3.Connection) -> None:
    _scan(rows, KernelErrors())
    assert _judge(rows) == ("accept", "kept", "0", "")
    assert _told(rows) == []


def test_attempts_and_steps_add_up(rows: sqlite3.Connection) -> None:
    _scan(rows, KernelErrors(), KernelErrors(2, _TEXTS), KernelErrors(1, ("another",)))
    with transaction(rows):
        insert_step(
            rows, campaign_id=1, position=1, kind="fio", drive_id=None, device="array",
            workload_index=1,
        )  # fmt: skip
        (array,) = rows.execute("SELECT max(id) FROM step").fetchone()
        good = drive_id(rows, GOOD.serial)
        add_kernel_errors(rows, array, {good: KernelErrors(1, ("I/O error, dev sda",))})
    assert figures_of(rows, GOOD.serial)["kernel_errors"] == Figure(
        4.0, f"surface: {_TEXTS[1]}; 2 more; fio: I/O error, dev sda"
    )
    text = f"fio: {GOOD.serial}: the kernel reported I/O error, dev sda."
    assert _told(rows)[1] == ("array", text)


def test_no_message_of_a_log_that_lost_some_is_not_none(rows: sqlite3.Connection) -> None:
    lost = "not all of the kernel's messages could be read"
    _scan(rows, KernelErrors(complete=False))
    assert figures_of(rows, GOOD.serial)["kernel_errors"] == Figure(None, lost)
    assert _told(rows) == [(GOOD.serial, f"surface: {lost}.")]
    with transaction(rows):
        (step,) = rows.execute("SELECT id FROM step").fetchone()
        good = drive_id(rows, GOOD.serial)
        add_kernel_errors(rows, step, {good: KernelErrors(1, _TEXTS[1:])})
    assert figures_of(rows, GOOD.serial)["kernel_errors"] == Figure(
        1.0, f"surface: {_TEXTS[1]}; {lost}"
    )


def test_where_no_log_was_read_it_is_not_measured(rows: sqlite3.Connection) -> None:
    _scan(rows)
    assert _judge(rows)[1:3] == ("not measured", "")
