# SPDX-License-Identifier: Apache-2.0
"""What writing says of a drive, slower with use or buffered, and reading a set again."""

import random
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.report.figures import group_workloads
from appliance.report.workload_findings import find_workload_findings
from appliance.store.read.campaign import select_campaign
from appliance.units import printable
from tests.lab.claims import NOTHING, Truth
from tests.lab.held_out_campaigns import HELD_OUT
from tests.lab.simulated_boots import make_clockwork
from tests.lab.timing import Clockwork
from tests.report.database import Disk, make_database
from tests.report.pages_read import export, words_of
from tests.report.states import BYPASS, COLD, Setup
from tests.report.workloads import add_results, add_step, make_results

USED = replace(BYPASS, drive_state="first step on it; 4.29 GB of 4.29 GB overwritten 2 times")


@pytest.fixture
def rows(tmp_path: Path) -> sqlite3.Connection:
    """Two disks and an SSD, nothing measured."""
    return make_database(
        tmp_path / "rows.sqlite",
        disks=[
            Disk("DISK", "disk"),
            Disk("BUFFERS", "disk"),
            Disk("FLASH", "ssd", rotational=0),
        ],
    )


def _measure(
    connection: sqlite3.Connection,
    serial: str,
    figures: Mapping[str, tuple[str, float]],
    setup: Setup = BYPASS,
    kind: str = "fio",
    *,
    seconds: float = 60.0,
) -> None:
    """One step; each figure's metric and value by its variant."""
    (position,) = connection.execute("SELECT count(*) FROM step").fetchone()
    step = add_step(connection, kind, serial, position=position)
    for variant, (metric, value) in figures.items():
        met = USED if variant.startswith("used/") else setup
        add_results(
            connection, step, make_results(variant, met, **{metric: value, "seconds": seconds})
        )


def _told(connection: sqlite3.Connection, subject: str) -> list[str]:
    workloads = group_workloads(select_campaign(connection, campaign_id=1))
    return [each.text for each in find_workload_findings(workloads) if subject in each.subject]


def test_a_drive_that_use_makes_slower(rows: sqlite3.Connection, tmp_path: Path) -> None:
    found = {
        "fresh/seq-write": ("bw_bytes_s", 400e6),
        "fresh/rand-write": ("iops", 50000.0),
        "used/seq-write": ("bw_bytes_s", 390e6),
        "used/rand-write": ("iops", 10000.0),
    }
    _measure(rows, "FLASH", found)
    use = "4.29 GB of 4.29 GB overwritten 2 times; one run each, the used one right after that"
    state = "page cache bypass, proven."
    slower, alike = _told(rows, "fresh and used")[::-1]
    assert slower == (
        f"FLASH: used 5.0 times as slow as fresh (50000 IOPS with all of it discarded, 10000 IOPS"
        f" with {use}); {state}"
    )
    assert alike == (
        f"FLASH: as fast used as fresh, within 10 % (400 MB/s with all of it discarded, 390 MB/s"
        f" with {use}); {state}"
    )
    words = words_of(export(rows, tmp_path))
    assert "cache mode" not in words
    assert "FLASH, fresh" in words


def test_short_runs_do_not_tell_fresh_from_used(rows: sqlite3.Connection) -> None:
    """As on a model for which both are the same: 412 and 559 MB/s within a fifth of a second."""
    found = {"fresh/seq-write": ("bw_bytes_s", 412e6), "used/seq-write": ("bw_bytes_s", 559e6)}
    _measure(rows, "FLASH", found, seconds=0.16)
    assert _told(rows, "fresh and used") == []


def test_half_of_a_comparison_is_none(rows: sqlite3.Connection) -> None:
    _measure(rows, "FLASH", {"fresh/rand-write": ("iops", 50000.0)})
    assert _told(rows, "fresh and used") == []


@pytest.mark.parametrize(
    ("serial", "written", "setup", "is_told"),
    [
        ("DISK", 900.0, BYPASS, True),
        ("DISK", 120.0, BYPASS, False),  # as heads move
        ("DISK", 900.0, COLD, False),  # RAM sorts writes before the drive has them
        ("FLASH", 900.0, BYPASS, False),  # no heads
    ],
)
def test_a_buffer_shows_where_writes_are_faster_than_heads_move(
    rows: sqlite3.Connection,
    serial: str,
    written: float,
    setup: Setup,
    is_told: bool,  # noqa: FBT001 - a parameter
) -> None:
    found = {"rand-read": ("iops", 100.0), "rand-write": ("iops", written)}
    _measure(rows, serial, found, setup)
    told = _told(rows, "a buffer for writes")
    assert bool(told) is is_told
    if told:
        assert told[0].startswith("DISK: random writes were 9.0 times as fast as random reads")


def _time_random(clockwork: Clockwork, kind: str, *, start_s: float, each_s: float) -> float:
    """IOPS of `kind` at a depth of 1, as fio has it: each of 2048 blocks once, for 10 s at most."""
    blocks = list(range(2048))
    random.Random(kind).shuffle(blocks)
    now_s = start_s
    for count, block in enumerate(blocks):
        if now_s - start_s >= 10.0:
            return count / (now_s - start_s)
        access = getattr(clockwork, kind)(block * 4096, 4096, now_s=now_s)
        now_s += access.seconds + each_s
    return len(blocks) / (now_s - start_s)


@pytest.mark.parametrize("processor_s", [0.0001, 0.003])
def test_a_buffer_is_told_of_the_held_out_models_that_have_one(
    rows: sqlite3.Connection, processor_s: float
) -> None:
    """Simulated, the drives of the first step of held-out-disks, which writes and then reads."""
    campaign = next(each for each in HELD_OUT if each.name == "held-out-disks")
    models = {campaign.what(printable(each.serial)): each for each in campaign.drives}
    places = {"a disk": "DISK", "buffers writes only": "BUFFERS", "an SSD that waits 4 ms": "FLASH"}
    told = {}
    for what, serial in places.items():
        clockwork = make_clockwork(models[what])
        found = {
            f"rand-{kind}": (
                "iops",
                _time_random(clockwork, kind, start_s=at_s, each_s=processor_s),
            )
            for kind, at_s in (("write", 0.0), ("read", 60.0))
        }
        _measure(rows, serial, found)
        told[what] = any(f"{serial}: " in each for each in _told(rows, "a buffer for writes"))
    assert told == {
        "a disk": False,
        "buffers writes only": True,
        "an SSD that waits 4 ms": False,
    }
    silent = {
        what
        for what, each in models.items()
        if Truth(printable(each.serial), NOTHING, "buffer") in campaign.truths
    }
    assert silent == {what for what, is_told in told.items() if not is_told}


def test_a_file_system_that_moves_what_is_written_over_shows_no_buffer(
    rows: sqlite3.Connection,
) -> None:
    plan = 'version = 1\n[[workload]]\nkind = "fio"\nfilesystem = "btrfs"\n'
    rows.execute("UPDATE campaign SET plan_toml = ?", (plan,))
    _measure(rows, "DISK", {"rand-read": ("iops", 100.0), "rand-write": ("iops", 900.0)})
    assert _told(rows, "fio, rand-write")
    assert _told(rows, "a buffer for writes") == []


@pytest.mark.parametrize(
    ("serial", "median_ms", "is_told"),
    [("DISK", 0.2, True), ("DISK", 8.3, False), ("FLASH", 0.2, False)],
)
def test_a_flush_that_no_platter_allows(
    rows: sqlite3.Connection,
    serial: str,
    median_ms: float,
    is_told: bool,  # noqa: FBT001 - a parameter
) -> None:
    step = add_step(rows, "flush", serial, position=0)
    figures = {"iops": 1e3 / median_ms, "lat_p50_ns": median_ms * 1e6, "lat_p99_ns": 2e7}
    add_results(rows, step, make_results("commit", BYPASS, **figures))
    (text,) = _told(rows, "flush")
    assert ("faster than any platter turns" in text) is is_told


def test_a_sweep_says_what_reading_its_sets_again_gained(
    rows: sqlite3.Connection, tmp_path: Path
) -> None:
    step = add_step(rows, "sweep", "DISK", position=0)
    for size, rates in (("8M", (10e6, 30e6, 40e6)), ("64M", (10e6, 10e6, 10e6))):
        for number, rate in enumerate(rates, 1):
            found = make_results(f"{size}/warm-up/{number}", BYPASS, app=1e7, bw_bytes_s=rate)
            add_results(rows, step, found)
        found = make_results(f"{size}/rand-read/norandommap", BYPASS, app=1e7, iops=rates[-1] / 4e3)
        add_results(rows, step, found)
    (text,) = _told(rows, "sweep, warm-up, DISK")
    assert text == (
        "8M: the last of 3 reads was 4.0 times as fast as the first (10.0, then 40.0 MB/s), 64M:"
        " the last of 3 reads was 1.0 times as fast as the first (10.0, then 10.0 MB/s); page"
        " cache bypass, proven; RAM answered 0 %."
    )
    words = words_of(export(rows, tmp_path))
    assert "Warm-up: each set read whole, time after time" in words
    assert "warm-up, 1" not in words, "a read of a set is no test on it"


def test_an_interrupted_warm_up_has_no_first_read(rows: sqlite3.Connection) -> None:
    step = add_step(rows, "sweep", "DISK", position=0)
    for number, rate in enumerate((40e6, 40e6), 1):
        state = f"first step on it; read {number} of this set, after an interrupted warm-up of it"
        met = replace(BYPASS, drive_state=state)
        add_results(rows, step, make_results(f"8M/warm-up/{number}", met, app=1e7, bw_bytes_s=rate))
    assert _told(rows, "sweep, warm-up") == []
