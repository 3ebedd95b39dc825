# SPDX-License-Identifier: Apache-2.0
"""What a verdict may say of a drive that was written, cut off from power and read back."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.machine.memory_errors import UNCORRECTED
from appliance.report.conditions import find_condition_findings
from appliance.samples.model import LbaRange, Result
from appliance.store.read.campaign import select_campaign
from appliance.store.tables.conditions import Change, insert_conditions
from appliance.store.tables.power_offs import insert_power_off, update_power_off_back
from appliance.store.tables.steps import insert_ranges
from appliance.store.tables.verdicts import LimitRow
from appliance.verdict.evidence import Figure
from appliance.verdict.gather import gather_evidence
from appliance.verdict.judge import judge
from appliance.verdict.policy_file import parse_policy
from tests.report.judged import (
    BYPASS,
    drive_id,
    figures_of,
    make_rows,
)
from tests.report.workloads import add_results, add_step, end_step


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(make_rows(tmp_path)) as connection:
        yield connection


def _verify(
    connection: sqlite3.Connection, *, phases: tuple[str, ...] = ("read",), read: int = 4096,
    mismatch: int = 0, unreadable: int = 0, unsteady: int = 0,
) -> int:  # fmt: skip
    step = add_step(connection, "verify", "LAB-GOOD-1", position=0)
    results = [Result("write", "app_write_bytes", 4096, BYPASS)]
    for phase in phases:
        results += [
            Result(phase, "app_read_bytes", read, BYPASS),
            Result(phase, "mismatch_bytes", mismatch, BYPASS),
            Result(phase, "unreadable_bytes", unreadable, BYPASS),
            Result(phase, "bw_bytes_s", 5e7, BYPASS),
        ]
        if unsteady:
            results.append(Result(phase, "unsteady_bytes", unsteady, BYPASS))
    add_results(connection, step, results)
    end_step(connection, step, "done")
    return step


def test_verify_without_a_power_off_knows_nothing_of_losses(rows: sqlite3.Connection) -> None:
    _verify(rows)
    figures = figures_of(rows, "LAB-GOOD-1")
    assert figures["verify_mismatch_bytes"].value == 0
    assert figures["verify_alias_bytes"].value == 0
    assert figures["verify_read_mb_s"].value == 50
    assert figures["verify_lost_bytes"] == Figure(
        None, "it was not read back after a power-off", frozenset({0})
    )


def test_a_phase_without_a_rate_is_not_said_to_have_met_ram(rows: sqlite3.Connection) -> None:
    _verify(rows)
    assert "verify_write_mb_s" not in figures_of(rows, "LAB-GOOD-1")


def test_a_drive_that_was_written_and_read_back_as_a_whole_was_looked_at(
    rows: sqlite3.Connection,
) -> None:
    def find_unread() -> str:
        return gather_evidence(rows, 1)[0].surface_unread

    assert find_unread() == "surface not read"
    _verify(rows)
    assert find_unread() == "0.0 % of it written and read back"
    rows.execute("UPDATE campaign_drive SET released_size_bytes = 4096")
    assert find_unread() == ""
    rows.execute("UPDATE step SET state = 'failed', reason = 'it is gone'")
    assert find_unread() == "surface not read"


def test_verify_that_did_not_read_all_of_it_back_says_nothing_good(
    rows: sqlite3.Connection,
) -> None:
    _verify(rows, read=2048, unreadable=512)
    figures = figures_of(rows, "LAB-GOOD-1")
    assert figures["verify_mismatch_bytes"].value is None
    assert figures["verify_unreadable_bytes"].value == 512


@pytest.mark.parametrize(("proof", "value"), [("proven", 0.0), ("unproven", None), ("warm", None)])
def test_that_nothing_was_lost_needs_a_power_off_that_is_proven(
    rows: sqlite3.Connection, proof: str, value: float | None
) -> None:
    step = _verify(rows, phases=("read", "read-cold"))
    insert_power_off(
        rows, step_id=step, drive_id=drive_id(rows, "LAB-GOOD-1"), part="read-cold-00",
        manner="abrupt", boot_id="b", power_cycles_before=4,
    )  # fmt: skip
    (number,) = rows.execute("SELECT id FROM power_off").fetchone()
    update_power_off_back(
        rows, number, power_cycles_after=5, cold_proof=proof, cold_reason="it offers no count"
    )
    lost = figures_of(rows, "LAB-GOOD-1")["verify_lost_bytes"]
    assert lost.value == value
    assert ("not proven: it offers no count" in lost.detail) == (proof != "proven")


def test_what_was_lost_or_aliases_counts_by_its_ranges(rows: sqlite3.Connection) -> None:
    step = _verify(rows, mismatch=12288)
    insert_ranges(
        rows, step, "read-00",
        [LbaRange("alias", 0, 8192), LbaRange("mismatch", 65536, 4096)],
    )  # fmt: skip
    figures = figures_of(rows, "LAB-GOOD-1")
    assert figures["verify_alias_bytes"].value == 8192
    assert figures["verify_mismatch_bytes"].value == 12288


def test_what_was_wrong_once_is_told_apart_from_what_is_the_drives(
    rows: sqlite3.Connection,
) -> None:
    step = _verify(rows, unsteady=512)
    insert_ranges(rows, step, "read-00", [LbaRange("unsteady", 65536, 512)])
    figure = figures_of(rows, "LAB-GOOD-1")["verify_mismatch_bytes"]
    assert figure.value == 0
    assert figure.excuse.startswith("512 B were wrong once")
    assert "RAM or cable; change the cable" in figure.excuse
    row = _judge_mismatch(rows)
    assert row.outcome == "remark"
    assert row.detail.endswith(f"not shown to be its fault: {figure.excuse}")
    insert_ranges(rows, step, "read-00", [LbaRange("mismatch", 4096, 512)])
    figure = figures_of(rows, "LAB-GOOD-1")["verify_mismatch_bytes"]
    assert (figure.value, bool(figure.excuse)) == (512, True)


def _judge_mismatch(connection: sqlite3.Connection) -> LimitRow:
    """By the built-in policy."""
    (row,) = [
        row
        for judged in judge(parse_policy(""), gather_evidence(connection, 1))
        if judged.evidence.name == "LAB-GOOD-1"
        for row in judged.limits
        if row.name == "verify_mismatch_bytes"
    ]
    return row


def _count_memory(
    connection: sqlite3.Connection, *counts: str, name: str = "memory_corrected"
) -> None:
    for value in counts:
        insert_conditions(connection, 1, None, (Change(name, "", value),))


def test_bytes_that_bad_memory_may_have_turned_reject_no_drive(rows: sqlite3.Connection) -> None:
    _verify(rows, mismatch=512)
    assert _judge_mismatch(rows).outcome == "reject"
    _count_memory(rows, "5", name=UNCORRECTED)
    assert _judge_mismatch(rows).outcome == "reject"
    _count_memory(rows, "7", name=UNCORRECTED)
    row = _judge_mismatch(rows)
    assert (row.outcome, row.measured) == ("remark", "512 B")
    assert (
        "the machine's memory could not correct 2 errors during the campaign: test it" in row.detail
    )


def test_a_corrected_error_excuses_no_wrong_byte(rows: sqlite3.Connection) -> None:
    _verify(rows, mismatch=512)
    _count_memory(rows, "5", "7")
    row = _judge_mismatch(rows)
    assert (row.outcome, row.measured) == ("reject", "512 B")
    assert row.detail.endswith("the machine's memory corrected 2 errors during the campaign")


def test_the_report_says_what_memory_counted(rows: sqlite3.Connection) -> None:
    def told() -> list[str]:
        found = find_condition_findings(select_campaign(rows, campaign_id=1))
        return [finding.text for finding in found if "memory" in finding.text]

    _count_memory(rows, "5")
    assert told() == []
    _count_memory(rows, "5", "0")
    # A restart is no error, and no other condition.
    assert told() == []
    _count_memory(rows, "2")
    (text,) = told()
    assert text.startswith("the machine's memory corrected 2 errors during the campaign. A corr")
    _count_memory(rows, "0", "1", name=UNCORRECTED)
    (text,) = told()
    assert "could not correct 1 error during the campaign. What was" in text


def test_memory_puts_no_sector_in_anothers_place(rows: sqlite3.Connection) -> None:
    step = _verify(rows, mismatch=512)
    insert_ranges(rows, step, "read-00", [LbaRange("alias", 4096, 512)])
    _count_memory(rows, "0", "7", name=UNCORRECTED)
    assert _judge_mismatch(rows).outcome == "reject"


def test_a_clean_verify_stays_clean_whatever_memory_corrected(rows: sqlite3.Connection) -> None:
    _verify(rows)
    _count_memory(rows, "0", "7")
    row = _judge_mismatch(rows)
    assert (row.outcome, "corrected 7 errors" in row.detail) == ("kept", True)


def test_nothing_wrong_needs_no_excuse(rows: sqlite3.Connection) -> None:
    _verify(rows)
    figure = figures_of(rows, "LAB-GOOD-1")["verify_mismatch_bytes"]
    assert (figure.value, figure.excuse) == (0, "")


def test_what_both_readings_of_a_verify_found_counts_once(rows: sqlite3.Connection) -> None:
    step = _verify(rows, phases=("read", "read-cold"))
    for part in ("read-03", "read-cold-03"):
        insert_ranges(rows, step, part, [LbaRange("alias", 4096, 4096)])
    insert_ranges(rows, step, "read-cold-04", [LbaRange("alias", 65536, 512)])
    assert figures_of(rows, "LAB-GOOD-1")["verify_alias_bytes"].value == 4608
