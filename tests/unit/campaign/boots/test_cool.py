# SPDX-License-Identifier: Apache-2.0
"""Before each boot of a cooled campaign: the drive forgets, and what showed is stored."""

from dataclasses import replace

import pytest

from appliance.caches.cooling import PROBE_READS, Cooling, CoolingPlan, Probe
from appliance.campaign.boots import cool as cooled
from appliance.campaign.boots.next_boot import Outcome, start_next_boot
from appliance.errors import StepFailedError
from appliance.progress import Progress
from appliance.samples.read_list import make_list
from appliance.store.checksums import find_damaged
from appliance.store.tables.replays import insert_read_list
from tests.databases import seal
from tests.unit.campaign.world import HDD, World

_SLOW, _QUICK = (9_000_000,) * PROBE_READS, (90_000,) * PROBE_READS
_FORGOT = Cooling((Probe(_QUICK, _SLOW), Probe(_SLOW, _SLOW)), 1 << 28, 12.5)
_KNOWS = Cooling((Probe(_QUICK, _SLOW), Probe(_QUICK, _SLOW)), 3 << 28, 12.5)


class Drive:
    """What replaces the reads: what they show, in turn."""

    def __init__(self, *found: Cooling | Exception) -> None:
        self.plans: list[tuple[str, CoolingPlan]] = []
        self._found = list(found)

    def cool(self, path: str, plan: CoolingPlan, *, progress: Progress) -> Cooling:
        """In the place of `cool_drive`."""
        self.plans.append((path, plan))
        progress("reading", 1, 2)
        found = self._found.pop(0)
        if isinstance(found, Exception):
            raise found
        return found


@pytest.fixture
def started(world: World) -> World:
    """A campaign of two boots of a disk, each on a drive that has forgotten."""
    world.make_campaign([HDD], released=False, mode="replay")
    world.drives = (HDD,)
    context = world.context()
    reads = make_list(drive_bytes=HDD.size_bytes, set_bytes=32 << 20)
    insert_read_list(context.connection, world.campaign_id, reads)
    context.connection.execute("UPDATE campaign SET cool = 'evict', checksum = NULL")
    seal(context.connection, "campaign")
    context.connection.commit()
    return world


def leave(world: World) -> None:
    assert start_next_boot(world.context(), world.campaign_id) is Outcome.LEAVING


def coolings(world: World) -> list[dict[str, object]]:
    with world.looking() as connection:
        return [dict(row) for row in connection.execute("SELECT * FROM coolings")]


def test_what_showed_is_stored_before_the_power_goes(
    started: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    drive = Drive(_FORGOT)
    monkeypatch.setattr(cooled, "cool_drive", drive.cool)
    leave(started)
    (row,) = coolings(started)
    assert (row["proof"], row["reason"], row["cycle"], row["rounds"]) == ("proven", "", 1, 1)
    assert (row["probed"], row["remembered_before"], row["remembered_after"]) == (16, 16, 0)
    assert (row["boot_before_ns"], row["other_before_ns"]) == (90_000, 9_000_000)
    assert [path for path, _ in drive.plans] == [HDD.path]
    names = [name for name, _ in started.events()]
    assert names.index("cooling") < names.index("cooled") < names.index("cycle-armed")
    assert "cooling-unproven" not in names
    told = "LAB-HDD-1 before cycle 1: knew 16 of 16 blocks, and 0 after 0.25 GiB of other reads"
    assert ("cooled", told) in started.events()


def test_a_drive_that_does_not_forget_is_never_called_cooled(
    started: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cooled, "cool_drive", Drive(_KNOWS).cool)
    leave(started)
    (row,) = coolings(started)
    assert row["proof"] == "unproven"
    told = "after 0.75 GiB of other reads the drive still knew 16 of 16 blocks"
    assert row["reason"] == told
    assert ("cooling-unproven", f"LAB-HDD-1 cycle 1: {told}") in started.events()


def test_a_drive_that_cannot_be_read_fails_its_boots(
    started: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = StepFailedError("/dev/sda cannot be read at byte 5: Input/output error")
    monkeypatch.setattr(cooled, "cool_drive", Drive(broken, broken).cool)
    assert start_next_boot(started.context(), started.campaign_id) is Outcome.FINISHED
    assert started.states() == ["failed", "failed"]
    assert {row["proof"] for row in coolings(started)} == {"unproven"}
    assert {row["reason"] for row in coolings(started)} == {"the cooling was not finished"}


def test_a_stop_leaves_an_unfinished_cooling_and_other_blocks_for_the_next(
    started: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    class StopError(Exception):
        """A person's."""

    drive = Drive(StopError(), _FORGOT)
    monkeypatch.setattr(cooled, "cool_drive", drive.cool)
    with pytest.raises(StopError):
        start_next_boot(started.context(), started.campaign_id)
    assert started.states() == ["planned", "planned"]
    leave(started)
    assert [row["proof"] for row in coolings(started)] == ["unproven", "proven"]
    first, second = (plan for _, plan in drive.plans)
    assert not set(first.other_blocks[0]) & set(second.other_blocks[0])


def test_a_drive_of_which_each_other_block_was_read_is_unproven(
    started: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cooled, "count_coolings", lambda *_: 1000)
    monkeypatch.setattr(cooled, "cool_drive", Drive().cool)
    leave(started)
    assert [row["proof"] for row in coolings(started)] == ["unproven"]
    told = ("cooling-unproven", "LAB-HDD-1 cycle 1: no block is left that was never read")
    assert told in started.events()


def test_a_bit_that_turned_is_found(started: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cooled, "cool_drive", Drive(_KNOWS).cool)
    leave(started)
    connection = replace(started.context()).connection
    assert not find_damaged(connection, campaign_id=started.campaign_id)
    connection.execute("UPDATE cooling SET proof = 'proven'")
    (damaged,) = find_damaged(connection, campaign_id=started.campaign_id)
    assert damaged.what == "cooling before LAB-HDD-1 cycle 1"
