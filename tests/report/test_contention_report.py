# SPDX-License-Identifier: Apache-2.0
"""The contention test in the report: who shares what, and when nothing is said."""

import sqlite3
from pathlib import Path

import pytest

from appliance.cli import main
from appliance.store.tables import steps as store
from appliance.store.tables.conditions import find_changes, insert_conditions
from tests.report.database import Disk, make_database
from tests.report.judged import drive_id
from tests.report.pages_read import export, words_of
from tests.report.states import BYPASS
from tests.report.workloads import MB, add_step, end_step, make_results

_HBA = "PCI 0000:03:00.0 (mpt3sas)"
_SHELF = f"{_HBA} > SAS expander 0x500304800000007f"


@pytest.fixture
def shelf(tmp_path: Path) -> sqlite3.Connection:
    disks = [Disk(serial, "disk") for serial in ("A", "B", "C")]
    return make_database(tmp_path / "shelf.sqlite", disks=disks)


def _add(
    connection: sqlite3.Connection,
    serial: str,
    position: int,
    *,
    chain: str,
    together: float,
    processor: float = 0.2,
    is_proven: bool = True,
    others: int = 2,
    index: int = 0,
) -> None:
    noted = find_changes({}, {"topology": chain})
    insert_conditions(connection, 1, drive_id(connection, serial), noted)
    step = add_step(connection, "contention", serial, position=position, index=index)
    for number in (1, 2, 3, 4):
        for company, rate, beside in (("alone", 190.0, 0), ("together", together, others)):
            variant = f"{company}-{number}"
            moved = (rate + number) * MB
            results = make_results(
                variant,
                BYPASS,
                app=moved,
                hit=0 if is_proven else 0.9,
                bw_bytes_s=moved,
                processor_ratio=processor,
            )
            store.insert_results(connection, step, serial, results, beside=beside)
            store.insert_part(connection, step, variant, results=1)
    end_step(connection, step, "done")


def _words(connection: sqlite3.Connection, folder: Path) -> str:
    connection.commit()
    return words_of(export(connection, folder))


def test_drives_that_share_an_expander_are_named(shelf: sqlite3.Connection, tmp_path: Path) -> None:
    _add(shelf, "A", 0, chain=_SHELF, together=100)
    _add(shelf, "B", 1, chain=_SHELF, together=100)
    _add(shelf, "C", 2, chain="PCI 0000:00:1f.2 (ahci) > ATA port 1", together=190)
    words = _words(shelf, tmp_path)
    assert (
        "2 drives behind SAS expander 0x500304800000007f, PCI 0000:03:00.0 (mpt3sas) share"
        " 205 MB/s; alone each reads 192 MB/s."
    ) in words
    assert "processor was at its limit" not in words
    assert "no drive is slowed down" not in words
    assert "Connected through" in words


def test_a_full_processor_is_named_beside_what_they_share(
    shelf: sqlite3.Connection, tmp_path: Path
) -> None:
    for position, serial in enumerate("ABC"):
        _add(shelf, serial, position, chain=_HBA, together=100, processor=0.97)
    words = _words(shelf, tmp_path)
    assert "3 drives behind PCI 0000:03:00.0 (mpt3sas) share" in words
    assert "A processor was at its limit meanwhile: it may be what they share." in words


def test_drives_with_room_are_said_to_have_it(shelf: sqlite3.Connection, tmp_path: Path) -> None:
    for position, serial in enumerate("ABC"):
        _add(shelf, serial, position, chain=_SHELF, together=185)
    words = _words(shelf, tmp_path)
    assert (
        "no drive is slowed down by the others: 3 drives were read alone and together, and" in words
    )
    assert "drives behind" not in words


def test_what_ram_may_have_answered_is_compared_with_nothing(
    shelf: sqlite3.Connection, tmp_path: Path
) -> None:
    _add(shelf, "A", 0, chain=_SHELF, together=100, is_proven=False)
    _add(shelf, "B", 1, chain=_SHELF, together=190)
    words = _words(shelf, tmp_path)
    assert "not compared with the others: too few readings that count" in words
    assert "drives behind" not in words


@pytest.mark.parametrize("together", [185, 100])
def test_others_that_were_not_read_are_said(
    shelf: sqlite3.Connection, tmp_path: Path, together: float
) -> None:
    for position, serial in enumerate("ABC"):
        others = 1 if serial == "B" else 2
        _add(shelf, serial, position, chain=_SHELF, together=together, others=others)
    words = _words(shelf, tmp_path)
    assert "Not all of the others were read each time: of 2 only 1." in words


@pytest.mark.parametrize("narrow", [0, 1])
def test_what_drives_share_is_the_answer(
    shelf: sqlite3.Connection, tmp_path: Path, narrow: int
) -> None:
    """Wherever it is in the plan: that other drives have room is no answer beside it."""
    for position, serial in enumerate("ABCABC"):
        index = position // 3
        rate = 100 if index == narrow else 185
        _add(shelf, serial, position, chain=_SHELF, together=rate, index=index)
    words = _words(shelf, tmp_path)
    answer, rest = words.split("Results", 1)
    assert "A, B, C: 3 drives behind SAS expander 0x500304800000007f" in answer
    assert "no drive is slowed down" not in answer
    assert "no drive is slowed down" in rest
    # They are what the sentence is built on.
    assert "no sentence about speed is built on them" not in words


def test_the_command_says_it_below_the_figures(
    shelf: sqlite3.Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for position, serial in enumerate("ABC"):
        _add(shelf, serial, position, chain=_SHELF, together=100)
    shelf.commit()
    assert main(["results", "--database", str(tmp_path / "shelf.sqlite")]) == 0
    told = capsys.readouterr().out.splitlines()
    (share,) = (line for line in told if line.startswith("A, B, C: "))
    assert "3 drives behind SAS expander" in share
    assert " MB/s; alone each reads 192 MB/s." in share
    assert told.index(share) > max(row for row, line in enumerate(told) if "bw_bytes_s" in line)
