# SPDX-License-Identifier: Apache-2.0
"""No gain over a first timed boot that was not the drive's first: that proves nothing of it."""

import json
import sqlite3
from pathlib import Path

import pytest

from appliance.samples.model import Ticket
from appliance.store.tables import steps as store
from tests.report.database import Disk, add_campaign, make_boots, make_database
from tests.report.pages_read import export, words_of
from tests.report.states import BYPASS
from tests.report.workloads import add_results, add_step, make_results

_LEARNED = Disk("A", "hybrid", boots=make_boots(27.1, 27.2, 27.0, 27.3, 27.1, 27.2, 27.0, 27.1))
_LEARNS = Disk("A", "hybrid", boots=make_boots(46.1, 27.2, 27.0, 27.3, 27.1, 27.2, 27.0, 27.1))
_NOT_SHOWN = "so that it gains nothing by repeating is not shown"


def _say(connection: sqlite3.Connection, folder: Path, campaign: int = 1) -> str:
    said = words_of(export(connection, folder, campaign_id=campaign))
    connection.close()
    return said


def _replay(connection: sqlite3.Connection, campaign: int, list_sha256: str) -> None:
    with connection:
        connection.execute(
            "UPDATE cycle SET mode = 'replay', checksum = NULL WHERE campaign_id = ?", [campaign]
        )
        connection.execute(
            "INSERT INTO replay_list VALUES (?, 'built-in', 1, 1, ?, '[[0, 4096]]')",
            [campaign, list_sha256],
        )
        connection.execute(
            "INSERT INTO replay SELECT id, ?, 4.5, 35, 294912, 1000, 1000, 1000, 1000, ?, NULL"
            " FROM cycle WHERE campaign_id = ?",
            [list_sha256, json.dumps([1000]), campaign],
        )


def test_a_first_boot_is_the_drives_first(tmp_path: Path) -> None:
    said = _say(make_database(tmp_path / "a.sqlite", disks=[_LEARNED]), tmp_path)
    assert "No gain from repeating: A (27.1 s)." in said
    assert _NOT_SHOWN not in said


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (
            "UPDATE cycle SET attempts = 2 WHERE cycle = 1",
            "its first boot was tried 2 times, and the drive may have learned by the ones before,",
        ),
        (
            "UPDATE boot_sample SET path = 'installed', checksum = NULL",
            "its own system was started before the campaign, and the drive may have learned then,",
        ),
    ],
)
def test_one_that_may_have_learned_is_not_said_to_gain_nothing(
    tmp_path: Path, changed: str, why: str
) -> None:
    connection = make_database(tmp_path / "a.sqlite", disks=[_LEARNED])
    with connection:
        connection.execute(changed)
    said = _say(connection, tmp_path)
    assert "o gain from repeating" not in said
    assert f"A : settled from boot 1 on at 27.1 s; {why} {_NOT_SHOWN}." in said
    assert "Settled: A (27.1 s)." in said


def test_a_gain_that_is_seen_all_the_same_is_told(tmp_path: Path) -> None:
    connection = make_database(tmp_path / "a.sqlite", disks=[_LEARNS])
    with connection:
        connection.execute("UPDATE cycle SET attempts = 2 WHERE cycle = 1")
    said = _say(connection, tmp_path)
    assert "A starts in 27.1 s from boot 2 on, 1.7" in said
    assert _NOT_SHOWN not in said


@pytest.mark.parametrize(("list_sha256", "is_known"), [("same", True), ("another", False)])
def test_a_drive_knows_reads_that_were_replayed_on_it_before(
    tmp_path: Path, list_sha256: str, *, is_known: bool
) -> None:
    connection = make_database(tmp_path / "a.sqlite", disks=[_LEARNS])
    add_campaign(connection, name="again", disks=[_LEARNED], created_at="2026-11-22T03:20:00.123Z")
    _replay(connection, 1, "same")
    _replay(connection, 2, list_sha256)
    said = _say(connection, tmp_path, campaign=2)
    why = "the same reads were replayed on it in an earlier campaign, and the drive may have"
    assert (f"{why} learned then, {_NOT_SHOWN}" in said) == is_known
    assert ("No gain from repeating" in said) == (not is_known)


def test_a_drive_knows_reads_of_an_earlier_campaign_that_was_imported_later(tmp_path: Path) -> None:
    connection = make_database(tmp_path / "a.sqlite", disks=[_LEARNED])
    add_campaign(connection, name="import", disks=[_LEARNS], created_at="2025-01-02T03:20:00.123Z")
    for campaign in (1, 2):
        _replay(connection, campaign, "same")
    assert f"the drive may have learned then, {_NOT_SHOWN}" in _say(connection, tmp_path)


@pytest.mark.parametrize("is_again", [False, True])
def test_a_lottery_that_was_interrupted_does_not_say_that_a_drive_gains_nothing(
    tmp_path: Path, *, is_again: bool
) -> None:
    connection = make_database(tmp_path / "a.sqlite", disks=[Disk("A", "hybrid")])
    step = add_step(connection, "lottery", "A", position=0)
    tickets = []
    for nth in (1, 2, 3):
        for number, name in enumerate("abcdefgh"):
            seq = 8 * (nth - 1) + number + 1
            tickets.append(Ticket("direct", "bypass", seq, name, nth, 10**7, 0.1, 0, 10**7, 0))
    for name in "abcdefgh":
        rows = make_results(f"direct/{name}", BYPASS, app=3e7, rate_bytes_s=1e8)
        add_results(connection, step, rows)
    store.insert_tickets(connection, step, tickets)
    if is_again:
        with connection:
            connection.execute(
                "UPDATE result SET checksum = NULL,"
                " drive_state = drive_state || ', after an interrupted pass'"
            )
    said = _say(connection, tmp_path)
    assert ("this is the drive's, and no gain" in said) == (not is_again)
    assert (
        "The pass had been begun before and was interrupted, so these first touches do not show"
        " what the drive learns by reading" in said
    ) == is_again
