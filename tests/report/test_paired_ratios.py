# SPDX-License-Identifier: Apache-2.0
"""Surfaces, matrices and sweeps side by side: in pairs of places, by an interval or without one."""

import random
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from appliance.report.ratios import compare_campaigns
from appliance.samples.model import SliceSample
from appliance.store.read.campaign import select_campaign
from appliance.store.tables.steps import insert_slices
from tests.databases import seal
from tests.report.database import Disk, add_campaign, make_database
from tests.report.pages_read import export, words_of
from tests.report.states import BALLAST, BYPASS, NOT_DROPPED, WARM, Setup
from tests.report.workloads import MB, add_results, add_step, end_step, make_results

_RECORDS = ("4K", "16K", "64K", "256K", "1M", "4M", "16M")
_SLICE = 10 << 20
_PLAN = """version = 1
[[workload]]
kind = "{kind}"
seed = {seed}
"""


@pytest.fixture
def both(tmp_path: Path) -> sqlite3.Connection:
    """Two campaigns of the drives A and B."""
    disks = [Disk("A", "disk"), Disk("B", "disk")]
    connection = make_database(tmp_path / "both.sqlite", disks=disks)
    add_campaign(connection, name="again", disks=disks, created_at="2026-11-22T03:20:00.123Z")
    return connection


def _say(
    connection: sqlite3.Connection, one: str, other: str, *, although: Sequence[str] = ()
) -> str:
    sides = []
    for text in (one, other):
        number, _, drive = text.partition(":")
        sides.append((select_campaign(connection, campaign_id=int(number)), drive))
    return "\n".join(compare_campaigns(*sides, although=although))


def _begin(connection: sqlite3.Connection, kind: str, place: str, *, seed: int = 1) -> int:
    """A step on the drive of `1:A`, whose campaign has a plan with this kind alone."""
    campaign, _, serial = place.partition(":")
    (position,) = connection.execute("SELECT count(*) FROM step").fetchone()
    step = add_step(connection, kind, serial, position=position)
    connection.execute("UPDATE step SET campaign_id = ? WHERE id = ?", (campaign, step))
    plan = _PLAN.format(kind=kind, seed=seed)
    connection.execute("UPDATE campaign SET plan_toml = ? WHERE id = ?", (plan, campaign))
    return step


def _add_surface(
    connection: sqlite3.Connection,
    place: str,
    *,
    factor: float = 1.0,
    slow: range = range(0),
    unread: range = range(0),
    setup: Setup = BYPASS,
    seed: int = 1,
) -> None:
    """A disk that is half as fast at its end; `slow` slices take ten times as long."""
    step = _begin(connection, "surface", place, seed=seed)
    draw = random.Random(place)
    rates = [
        factor
        * (150 - 0.75 * number)
        * MB
        * draw.lognormvariate(0.0, 0.003)
        / (10 if number in slow else 1)
        for number in range(100)
    ]
    insert_slices(
        connection,
        step,
        [
            SliceSample(n, n * _SLICE, (n + 1) * _SLICE, _SLICE, 0, rate / 2, rate, rate)
            for n, rate in enumerate(rates)
            if n not in unread
        ],
    )
    mean = len(rates) / sum(1 / rate for rate in rates)
    whole = make_results("whole", setup, app=1e9, bw_bytes_s=mean, unreadable_bytes=0)
    add_results(connection, step, whole)
    end_step(connection, step, "done")


def _add_matrix(
    connection: sqlite3.Connection,
    place: str,
    *,
    factors: Sequence[float] = (1.0,) * len(_RECORDS),
    records: Sequence[str] = _RECORDS,
    setup: Setup = BALLAST,
    hit: float = 0.02,
    file_bytes: float = 2e9,
) -> None:
    step = _begin(connection, "matrix", place)
    for number, (record, factor) in enumerate(zip(records, factors, strict=False)):
        rate = 20 * MB * (1 + number) * factor
        # What RAM holds is no test of the drive.
        add_results(
            connection,
            step,
            make_results(f"1x/{record}/read", WARM, app=1e9, hit=1.0, rate_bytes_s=4e9),
        )
        rows = make_results(f"2x/{record}/read", setup, app=file_bytes, hit=hit, rate_bytes_s=rate)
        add_results(connection, step, rows)
    end_step(connection, step, "done")


def _add_sweep(connection: sqlite3.Connection, place: str, *, factor: float = 1.0) -> None:
    step = _begin(connection, "sweep", place)
    for number, size in enumerate(("32M", "64M", "128M"), start=1):
        for access in ("randommap", "norandommap"):
            rows = make_results(
                f"{size}/rand-read/{access}", BYPASS, app=1e8, iops=factor * 9000 / number
            )
            add_results(connection, step, rows)
    end_step(connection, step, "done")


def test_a_surface_is_compared_by_the_place_on_the_drive(both: sqlite3.Connection) -> None:
    _add_surface(both, "1:A", factor=1.2)
    _add_surface(both, "2:A")
    said = _say(both, "1:A", "2:A")
    # A disk falls by half over its bytes: unpaired, that would hide a difference of a fifth.
    assert "  surface, place by place: 1.20 times faster, 1.20 to 1.2" in said
    assert "10 stretches of 10 slices, each 1.20 to 1.20 times faster; page cache bypass" in said
    assert "  surface, mean speed: 1.20 times faster (" in said
    assert "MB/s; one value each: no interval; page cache bypass, proven" in said


@pytest.mark.parametrize(
    ("besides", "why"),
    [((3, 0), "tested beside 3 other drives against alone"), ((3, 3), "both tested beside 3")],
)
def test_rates_beside_other_drives_are_refused_for_that_reason(
    both: sqlite3.Connection, besides: tuple[int, int], why: str
) -> None:
    for place, beside in zip(("1:A", "2:A"), besides, strict=True):
        _add_surface(both, place)
        both.execute(
            "UPDATE result SET beside = ?, checksum = NULL WHERE step_id ="
            " (SELECT max(id) FROM step)",
            (beside,),
        )
    seal(both, "result")
    said = _say(both, "1:A", "2:A")
    assert f"surface, mean speed: not compared for the sake of plan: {why}" in said
    assert "not proven" not in said
    assert f"although {why}" in _say(both, "1:A", "2:A", although=["plan"])


def test_of_like_surfaces_it_is_said_what_cannot_be_seen(both: sqlite3.Connection) -> None:
    _add_surface(both, "1:A")
    _add_surface(both, "1:B")
    said = _say(both, "1:A", "1:B")
    assert "place by place: no difference larger than 0.3 % can be seen" in said
    assert "slices, from 1.005 times slower to 1.002 times faster; " in said
    assert "of each would show" not in said, "there are no more than 100 slices"


def test_a_slow_zone_stands_beside_what_is_typical(both: sqlite3.Connection) -> None:
    _add_surface(both, "1:A", slow=range(30, 40))
    _add_surface(both, "1:B")
    said = _say(both, "1:A", "1:B")
    assert "place by place: no difference larger than 0.6 % can be seen" in said
    assert "from 10 times slower to 1.002 times faster" in said


def test_only_slices_that_both_read_are_pairs(both: sqlite3.Connection) -> None:
    _add_surface(both, "1:A", factor=2.0, unread=range(40))
    _add_surface(both, "1:B", unread=range(95, 100))
    said = _say(both, "1:A", "1:B")
    assert "surface, place by place: 2.0" in said
    assert "5 stretches of 10 slices, each 1.99 to 2.00 times faster, too few for an inter" in said
    assert "mean speed" not in said, "each read another part of its drive"


def test_two_runs_of_a_surface_are_one_by_the_median_of_each_slice(
    both: sqlite3.Connection,
) -> None:
    for factor in (1.0, 1.2, 1.1):
        _add_surface(both, "1:A", factor=factor)
    _add_surface(both, "1:B")
    assert "place by place: 1.10 times faster, 1.10 to 1.1" in _say(both, "1:A", "1:B")


def test_a_drive_of_another_size_or_seed_or_state_is_refused(both: sqlite3.Connection) -> None:
    _add_surface(both, "1:A")
    _add_surface(both, "2:B", seed=2)
    both.execute("UPDATE campaign_drive SET released_size_bytes = 2 << 30 WHERE campaign_id = 2")
    said = _say(both, "1:A", "2:B")
    told = "not compared for the sake of seed, size: seed 1 against 2; drive size 4.3 GB against 2"
    assert f"surface, place by place: {told}" in said
    assert f"surface, mean speed: {told}" in said
    said = _say(both, "1:A", "2:B", although=["seed", "size"])
    assert "place by place: no difference larger than" in said
    assert "although seed 1 against 2; although drive size 4.3 GB against 2.1 GB)" in said


def test_a_surface_that_ram_may_have_answered_is_refused(both: sqlite3.Connection) -> None:
    _add_surface(both, "1:A", setup=NOT_DROPPED)
    _add_surface(both, "1:B")
    said = _say(both, "1:A", "1:B")
    assert "place by place: not compared for the sake of cache: page cache " in said
    assert "the state of the page cache is not proven" in said


def test_a_matrix_is_compared_by_record_size_over_its_largest_file(
    both: sqlite3.Connection,
) -> None:
    _add_matrix(both, "1:A", factors=(1.5, 1.9, 2.0, 2.0, 2.0, 2.1, 3.0))
    _add_matrix(both, "1:B")
    said = _say(both, "1:A", "1:B")
    assert (
        "  matrix, read of 2x, over record sizes: 2.00 times faster, 1.50 to 3.00 (160 MB/s against"
        " 80.0 MB/s; 7 record sizes, each 1.50 to 3.00 times faster; page cache began cold, proven;"
        " RAM answered 2 %)."
    ) in said
    assert "of 1x" not in said


def test_a_matrix_of_few_record_sizes_has_no_interval(both: sqlite3.Connection) -> None:
    for records, counted in (
        (_RECORDS[:5], "5 record sizes, each 1.50 to 1.50 times faster, too few for an interval"),
        (_RECORDS[:1], "one value each: no interval"),
    ):
        both.execute("DELETE FROM result")
        both.execute("DELETE FROM part")
        both.execute("DELETE FROM step")
        _add_matrix(both, "1:A", factors=(1.5,) * 5, records=records)
        _add_matrix(both, "1:B", records=records)
        said = _say(both, "1:A", "1:B")
        assert "over record sizes: 1.50 times faster (" in said
        assert f"; {counted}; " in said


@pytest.mark.parametrize(
    ("changed", "allowance", "told"),
    [
        ({"setup": NOT_DROPPED}, "cache", "the state of the page cache is not proven"),
        ({"hit": 0.5}, "cache", "RAM answered 2 % against 50 %"),
        # Twice the free RAM of a machine that has four times as much.
        ({"file_bytes": 8e9}, "size", "a file of 1.9 GiB against 7.5 GiB"),
    ],
)
def test_a_matrix_under_other_conditions_is_refused_unless_asked_for(
    both: sqlite3.Connection, changed: dict[str, float], allowance: str, told: str
) -> None:
    _add_matrix(both, "1:A")
    _add_matrix(both, "1:B", **changed)  # type: ignore[arg-type]  # a table of options
    said = _say(both, "1:A", "1:B")
    assert f"over record sizes: not compared for the sake of {allowance}: " in said
    assert told in said
    said = _say(both, "1:A", "1:B", although=[allowance])
    assert f"although {told}" in said


def test_a_record_size_whose_figure_is_invalid_is_no_pair(both: sqlite3.Connection) -> None:
    _add_matrix(both, "1:A", factors=(2.0,) * 7)
    _add_matrix(both, "1:B")
    both.execute(
        "UPDATE result SET valid = 0, checksum = NULL WHERE variant = '2x/64K/read'"
        " AND step_id = (SELECT min(id) FROM step)"
    )
    assert "; 6 record sizes, each 2.00 to 2.00 times faster; " in _say(both, "1:A", "1:B")


def test_points_of_a_sweep_have_one_value_each(both: sqlite3.Connection) -> None:
    _add_sweep(both, "1:A", factor=1.5)
    _add_sweep(both, "1:B")
    said = _say(both, "1:A", "1:B")
    assert said.count("1.50 times faster (") == 6
    assert said.count("one value each: no interval") == 6
    assert "sweep, rand-read, 64M, norandommap: 1.50 times faster (6750 IOPS against" in said
    for _ in range(3):
        _add_sweep(both, "1:A", factor=1.5)
        _add_sweep(both, "1:B")
    said = _say(both, "1:A", "1:B")
    assert "sweep, rand-read, 64M, norandommap: 1.50 times faster, 1.50 to 1.50 (" in said
    assert said.count("n = 4 and 4") == 6


def test_a_report_has_intervals_and_names_what_has_none(
    both: sqlite3.Connection, tmp_path: Path
) -> None:
    _add_surface(both, "1:A", factor=1.2)
    _add_surface(both, "1:B")
    words = words_of(export(both, tmp_path))
    assert "A against B, surface, place by place : 1.20 times faster, 1.20 to 1.2" in words
    assert (
        "Drives side by side : one value each, so no interval: surface, mean speed. Their tables"
        " have the figures."
    ) in words
    assert "Values of different places are compared in pairs" in words


def test_a_drive_against_itself_before_has_its_sweep_in_one_line(
    both: sqlite3.Connection, tmp_path: Path
) -> None:
    _add_sweep(both, "1:A")
    _add_sweep(both, "2:A", factor=1.5)
    words = words_of(export(both, tmp_path, campaign_id=2))
    assert (
        "A against itself in campaign 1, sweep : 6 points, each 1.50 to 1.50 times faster; one"
        " value each: no interval."
    ) in words
