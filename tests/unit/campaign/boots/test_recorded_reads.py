# SPDX-License-Identifier: Apache-2.0
"""The reads of a charted boot: stored as a list, which the command hands out on KALTSTART."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.campaign.boots import recorded_reads
from appliance.campaign.boots.recorded_reads import READS, keep_reads, stop_recording
from appliance.campaign.start import describe
from appliance.errors import PlanError, StepFailedError, StickError
from appliance.samples.read_list import ReadExtent, parse_trace
from appliance.service import record_boot
from appliance.service.record_boot import find_reads, write_list
from appliance.store.tables.campaigns import insert_drive
from tests.unit.campaign.world import HDD, SSD, World

_EVENT = " cat-1 [000] ...1. 3.1: block_rq_issue: 8,0 RA 4096 () {} + 8 none,0,0 [cat]\n"
_STATS = "entries: 2\noverrun: {}\ncommit overrun: 0\ndropped events: 0\n"


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What tracefs shows of two reads from sda; the folder of the raw files is `raw`."""
    folder = tmp_path / "tracing"
    (folder / "per_cpu/cpu0").mkdir(parents=True)
    (folder / "trace").write_text(_EVENT.format(2048) + _EVENT.format(8))
    (folder / "per_cpu/cpu0/stats").write_text(_STATS.format(0))
    (folder / "tracing_on").write_text("1")
    blocks = tmp_path / "block"
    (blocks / "sda").mkdir(parents=True)
    (blocks / "sda/dev").write_text("8:0\n")
    monkeypatch.setattr(recorded_reads, "TRACEFS", folder)
    monkeypatch.setattr(recorded_reads, "_BLOCKS", blocks)
    for module in (recorded_reads, record_boot):
        monkeypatch.setattr(module, "RAW", tmp_path / "raw")
    return folder


def test_the_list_of_a_boot_is_what_a_trace_replays(kernel: Path, tmp_path: Path) -> None:
    stop_recording()
    assert (kernel / "tracing_on").read_text() == "0"
    assert keep_reads(7, HDD) == 2
    found = parse_trace((tmp_path / "raw/cycle-7" / READS).read_text(), name=READS)
    assert found.extents == (ReadExtent(1 << 20, 4096), ReadExtent(4096, 4096))


def test_events_that_found_no_room_lead_to_no_list(kernel: Path, tmp_path: Path) -> None:
    (kernel / "per_cpu/cpu0/stats").write_text(_STATS.format(5))
    with pytest.raises(StepFailedError, match="5 block events found no room"):
        keep_reads(7, HDD)
    assert not (tmp_path / "raw/cycle-7").exists()


def test_a_boot_without_events_has_no_list(kernel: Path) -> None:
    (kernel / "trace").write_text("# tracer: nop\n")
    with pytest.raises(StepFailedError, match="read nothing from the drive"):
        keep_reads(7, HDD)
    (kernel / "trace").unlink()
    with pytest.raises(StepFailedError, match="No such file"):
        keep_reads(7, HDD)


@pytest.fixture
def charted(world: World, kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A campaign whose second charted boot has a list; KALTSTART is the folder `fat`."""
    world.make_campaign([HDD], cycles=2, charts="all")
    connection = world.context().connection
    connection.execute("UPDATE cycle SET state = 'done'")
    ids = [row[0] for row in connection.execute("SELECT id FROM cycle WHERE charted ORDER BY id")]
    keep_reads(ids[1], HDD)

    @contextmanager
    def writable_fat() -> Iterator[Path]:
        (tmp_path / "fat").mkdir(exist_ok=True)
        yield tmp_path / "fat"

    monkeypatch.setattr(record_boot, "writable_fat", writable_fat)
    return world


def test_the_command_writes_the_newest_list(charted: World, tmp_path: Path) -> None:
    connection = charted.context().connection
    found = find_reads(connection, campaign_id=None, drive=None)
    assert found.about == "campaign 1, drive LAB-HDD-1, charted boot 2"
    assert find_reads(connection, campaign_id=1, drive="LAB-HDD-1") == found
    write_list(found, name="boot.csv")
    assert (tmp_path / "fat/boot.csv").read_bytes() == found.path.read_bytes()
    with pytest.raises(PlanError, match=r"boot\.csv is on KALTSTART already"):
        write_list(found, name="boot.csv")


def test_a_list_is_of_the_drive_that_is_named_where_two_have_one_serial_number(
    charted: World,
) -> None:
    connection = charted.context().connection
    other = insert_drive(connection, describe(replace(SSD, serial=HDD.serial)))
    connection.execute(
        "INSERT INTO campaign_drive (campaign_id, drive_id, role, slot, released)"
        " VALUES (1, ?, 'target', 9, 0)",
        (other,),
    )
    found = find_reads(connection, campaign_id=1, drive=HDD.wwn)
    assert found.about == f"campaign 1, drive {HDD.wwn}, charted boot 2"
    for drive in (HDD.serial, SSD.wwn):
        with pytest.raises(PlanError, match="no boot's reads are stored for these"):
            find_reads(connection, campaign_id=1, drive=drive)


def test_a_list_for_which_there_is_no_room_leaves_nothing_in_its_place(
    charted: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = find_reads(charted.context().connection, campaign_id=None, drive=None)
    refusals = iter([OSError(errno.ENOSPC, "No space left on device")])

    def sync(_: Path) -> None:
        for refusal in refusals:
            raise refusal

    monkeypatch.setattr(record_boot, "sync_path", sync)
    with pytest.raises(StickError, match="No space left"):
        write_list(found, name="boot.csv")
    write_list(found, name="boot.csv")  # room was made
    assert (tmp_path / "fat/boot.csv").read_bytes() == found.path.read_bytes()


def test_a_boot_that_was_not_recorded_is_told(charted: World) -> None:
    connection = charted.context().connection
    connection.execute("UPDATE drive SET wwn = ''")
    for campaign_id, drive in ((2, None), (None, "OTHER"), (None, "")):
        with pytest.raises(PlanError, match="no boot's reads are stored for these"):
            find_reads(connection, campaign_id=campaign_id, drive=drive)


@pytest.mark.parametrize("name", ["", "a/b.csv", "..\\x", "a:b", "Con.csv"])
def test_a_name_that_kaltstart_cannot_hold_is_refused(charted: World, name: str) -> None:
    found = find_reads(charted.context().connection, campaign_id=None, drive=None)
    with pytest.raises(PlanError, match="is no name of a file on KALTSTART"):
        write_list(found, name=name)


def test_a_list_that_the_stick_has_spoilt_is_not_handed_out(charted: World) -> None:
    found = find_reads(charted.context().connection, campaign_id=None, drive=None)
    damaged = found.path.with_name("damaged.csv")
    damaged.write_text(found.path.read_text().replace("4096,4096", "4096,8192"))
    with pytest.raises(StickError, match="charted boot 2 is damaged"):
        write_list(replace(found, path=damaged), name="boot.csv")
