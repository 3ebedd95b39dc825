# SPDX-License-Identifier: Apache-2.0
"""What `ci/torture` counts as lost, and that its instants can be repeated."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from tests.lab.campaign import Result
from tests.lab.console import ConsoleLine, parse_line
from tests.lab.torture import BYSTANDER, RELEASED, draw_round, find_losses

_LINES = (
    f"kaltstart: cycle-done id=1 drive={RELEASED} cycle=1/2 boot_s=12.345 power=warm proof=warm",
    f"kaltstart: cycle-done id=1 drive={RELEASED} cycle=2/2 boot_s=11.000 power=warm proof=warm",
    f"kaltstart: step-done id=1 step=1 drive={RELEASED} kind=fio",
    f"kaltstart: step-done id=1 step=2 drive={RELEASED} kind=lottery",
    f"kaltstart: step-done id=1 step=3 drive={RELEASED} kind=surface",
)


def _lines() -> list[ConsoleLine]:
    found = [parse_line(text) for text in _LINES]
    return [line for line in found if line is not None]


def _result(
    folder: Path, *, boots: Sequence[tuple[int, float]], steps: Sequence[int], written: float = 0
) -> Result:
    database = folder / "kaltstart.sqlite"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE boot_times (drive_serial, cycle, boot_s, valid)")
        connection.execute("CREATE TABLE results (step_id, valid)")
        connection.executemany(
            "INSERT INTO boot_times VALUES (?, ?, ?, 1)",
            [(RELEASED, *boot) for boot in boots],
        )
        connection.executemany("INSERT INTO results VALUES (?, 1)", [(step,) for step in steps])
    report = folder / "report"
    report.mkdir()
    (report / "report.html").touch()
    stats = {BYSTANDER: [{"write_bytes": written, "trim_bytes": 0.0}]}
    return Result(folder, "done", lines=_lines(), database=database, report=report, stats=stats)


def test_what_was_announced_and_is_stored_is_no_loss(tmp_path: Path) -> None:
    assert find_losses(_result(tmp_path, boots=[(1, 12.345), (2, 11.0)], steps=[1, 2, 3])) == ()


@pytest.mark.parametrize(
    ("boots", "steps", "written", "loss"),
    [
        ([(1, 12.345)], [1, 2, 3], 0, f"boot 2 of {RELEASED} was announced and is not stored"),
        ([(1, 12.5), (2, 11.0)], [1, 2, 3], 0, f"boot 1 of {RELEASED} took 12.345 s; 12.5 is"),
        ([(1, 12.345), (2, 11.0)], [1, 3], 0, "step 2 was announced and has no result"),
        ([(1, 12.345), (2, 11.0)], [1, 2, 3], 512, f"512 bytes were written to {BYSTANDER}"),
    ],
)
def test_each_loss_is_found(
    tmp_path: Path,
    boots: Sequence[tuple[int, float]],
    steps: Sequence[int],
    written: float,
    loss: str,
) -> None:
    losses = find_losses(_result(tmp_path, boots=boots, steps=steps, written=written))
    assert any(each.startswith(loss) for each in losses)


def test_a_campaign_that_waits_for_a_person_is_a_loss(tmp_path: Path) -> None:
    result = _result(tmp_path, boots=[(1, 12.345), (2, 11.0)], steps=[1, 2, 3])
    result.outcome, result.reason = "paused", "the drive is in doubt"
    assert find_losses(result) == (
        "the campaign did not end on its own: paused the drive is in doubt",
    )


def test_a_seed_is_always_the_same_instants() -> None:
    assert draw_round(7) == draw_round(7)
    assert len({draw_round(seed).cuts for seed in range(50)}) > 40
    assert all(draw_round(seed).cuts for seed in range(200))
