# SPDX-License-Identifier: Apache-2.0
"""Starting a campaign in replay mode: its list of reads, and the trace in its place."""

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.campaign import start
from appliance.campaign.start import RefusedForReasonsError, start_campaign
from appliance.store.connect import open_database
from appliance.store.tables.replays import select_read_list
from tests.unit.campaign.world import HDD, SSD, STICK, World

PLAN = """\
version = 1
[[drive]]
serial = "LAB-HDD-1"
[[drive]]
serial = "LAB-SSD-1"
role = "control"
[boot]
mode = "replay"
cycles = 2
"""
SMALL = replace(SSD, size_bytes=300 << 20)


@pytest.fixture
def connection(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    monkeypatch.setattr("appliance.reference_os.install.root_bytes", lambda: 600_000_000)
    monkeypatch.setattr(start, "FAT", world.path.parent)
    connection = open_database(world.path)
    yield connection
    connection.close()


def started(world: World, connection: sqlite3.Connection, more: str = "") -> int:
    drives = (HDD, SMALL, STICK.drive)
    return start_campaign(connection, PLAN + more, host=world.host(), drives=drives, stick=STICK)


def test_all_drives_are_given_the_list_of_the_smallest(
    world: World, connection: sqlite3.Connection
) -> None:
    world.no_entry = "KALTSTART is exfat"  # none is needed
    world.campaign_id = started(world, connection)
    assert [(each.mode, each.charted) for each in world.cycles()] == [("replay", False)] * 4
    assert not any(row.released for row in world.drive_rows())
    reads = select_read_list(connection, world.campaign_id)
    assert reads is not None
    assert (reads.origin, reads.version, reads.seed) == ("built-in", 1, 1)
    assert reads.size_bytes == 256 << 20
    assert reads.end_bytes <= SMALL.size_bytes


def test_a_list_that_does_not_fit_is_refused(world: World, connection: sqlite3.Connection) -> None:
    with pytest.raises(RefusedForReasonsError, match="the boot test needs about"):
        started(world, connection, 'boot_set = "512M"\n')


def test_a_trace_is_stored_as_it_was_at_the_start(
    world: World, connection: sqlite3.Connection
) -> None:
    trace = world.path.parent / "boot.csv"
    trace.write_text("4096,8192\n0,4096,0.5\n")
    campaign_id = started(world, connection, 'trace = "boot.csv"\n')
    trace.write_text("0,512\n")
    reads = select_read_list(connection, campaign_id)
    assert reads is not None
    assert (reads.origin, reads.version) == ("boot.csv", None)
    assert [each.offset_bytes for each in reads.extents] == [4096, 0]


@pytest.mark.parametrize(
    ("trace", "told"),
    [
        (None, "boot.csv on KALTSTART cannot be read: No such file"),
        ("0,512\nx\n0,513\n", 'boot.csv, line 2: "x" must be offset_bytes'),
        (
            f"0,512\n{300 << 20},4096\n",
            f"boot.csv reads up to byte {(300 << 20) + 4096}; drive LAB-SSD-1 has {300 << 20}",
        ),
    ],
)
def test_a_trace_that_cannot_be_replayed_is_refused_before_the_start(
    world: World, connection: sqlite3.Connection, trace: str | None, told: str
) -> None:
    if trace is not None:
        Path(world.path.parent / "boot.csv").write_text(trace)
    with pytest.raises(RefusedForReasonsError) as caught:
        started(world, connection, 'trace = "boot.csv"\n')
    assert str(caught.value).startswith(told)
    assert connection.execute("SELECT count(*) FROM campaign").fetchone()[0] == 0


def test_reads_that_a_drives_blocks_do_not_allow_are_refused(
    world: World, connection: sqlite3.Connection
) -> None:
    (world.path.parent / "boot.csv").write_text("512,512\n")
    drives = (replace(HDD, logical_block_bytes=4096), SMALL, STICK.drive)
    plan = PLAN + 'trace = "boot.csv"\n'
    with pytest.raises(RefusedForReasonsError, match="blocks of 4096 bytes of drive LAB-HDD-1"):
        start_campaign(connection, plan, host=world.host(), drives=drives, stick=STICK)


def test_a_drive_that_cannot_be_made_to_forget_is_refused(
    world: World, connection: sqlite3.Connection
) -> None:
    with pytest.raises(RefusedForReasonsError) as caught:
        started(world, connection, 'boot_set = "32M"\ncool = "evict"\n')
    told = 'drive "LAB-SSD-1" cannot be made to forget: beside what a boot reads it has '
    assert str(caught.value).startswith(told)
    plan = PLAN + 'boot_set = "32M"\ncool = "evict"\n'
    campaign = start_campaign(
        connection, plan, host=world.host(), drives=(HDD, SSD, STICK.drive), stick=STICK
    )
    (cool,) = connection.execute("SELECT cool FROM campaign WHERE id = ?", (campaign,)).fetchone()
    assert cool == "evict"
