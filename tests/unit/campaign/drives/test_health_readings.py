# SPDX-License-Identifier: Apache-2.0
"""Health before and after a campaign: each drive asked once, whatever it answers."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from appliance.campaign.drives import health
from appliance.campaign.drives.health import add_hours_doubt, store_health
from appliance.errors import StepFailedError
from appliance.run import Finished
from appliance.samples.health import Counter, Health
from appliance.store.tables.health import HealthRow, select_health
from tests.unit.campaign.world import HDD, SSD, World

SMART = Path(__file__).parents[3] / "fixtures" / "smart" / "nvme-1035.json"


@pytest.fixture
def behind() -> dict[str, str]:
    """Whose serial number the disk answers with."""
    return {"serial": HDD.serial}


@pytest.fixture
def asked(world: World, behind: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The disk answers, the SSD does not; which were asked."""
    world.make_campaign()
    log: list[str] = []

    def run(command: Sequence[str], *, check: bool, timeout_s: float) -> Finished:
        assert command[:-1] == ["smartctl", "--json=cu", "--xall"]
        assert (check, timeout_s) == (False, health.DEADLINE_S)
        log.append(command[-1])
        if command[-1] == SSD.path:
            raise StepFailedError("no answer within 60 s: smartctl")
        said = json.loads(SMART.read_text()) | {
            "smart_status": {"passed": True},
            "serial_number": behind["serial"],
        }
        return Finished(tuple(command), 0, json.dumps(said), "")

    monkeypatch.setattr(health, "run", run)
    world.access = replace(world.access, find_settled=lambda: (HDD, SSD))
    return log


def rows_of(world: World) -> dict[tuple[str, str], HealthRow]:
    with world.looking() as connection:
        found = select_health(connection, world.campaign_id)
    return {(row.drive_serial, row.moment): row for row in found}


def test_each_drive_is_asked_once_at_each_moment(world: World, asked: list[str]) -> None:
    for moment in ("before", "before", "after", "after"):
        store_health(world.context(), 1, moment)
    assert sorted(asked) == [HDD.path] * 2 + [SSD.path] * 2
    found = rows_of(world)
    assert len(found) == 4
    for moment in ("before", "after"):
        row = found["LAB-HDD-1", moment]
        assert (row.passed, row.reason, row.celsius) == (True, "", 50)
        assert row.counters["power_cycles"] == Counter("power_cycles", 1035, "1")
        row = found["LAB-SSD-1", moment]
        assert (row.passed, row.counters) == (None, {})
        assert row.reason == "no answer within 60 s: smartctl"


def test_a_drive_that_is_gone_or_another_one_is_a_row_with_the_reason(
    world: World, asked: list[str]
) -> None:
    world.access = replace(world.access, find_settled=lambda: (replace(SSD, model="other"),))
    store_health(world.context(), 1, "after")
    found = rows_of(world)
    assert asked == []
    assert "LAB-HDD-1" in found["LAB-HDD-1", "after"].reason
    assert "not the one that was released" in found["LAB-SSD-1", "after"].reason


def test_what_another_disk_says_is_not_stored_as_the_drives(
    world: World, asked: list[str], behind: dict[str, str]
) -> None:
    """Changed behind a bridge: the kernel goes on showing the first one."""
    behind["serial"] = "OTHER-1"
    store_health(world.context(), 1, "after")
    row = rows_of(world)["LAB-HDD-1", "after"]
    assert HDD.path in asked
    assert (row.passed, row.counters) == (None, {})
    assert "answers as another drive" in row.reason


def test_drives_that_cannot_be_listed_are_rows_too(world: World, asked: list[str]) -> None:
    def fail() -> NoReturn:
        raise StepFailedError("lsblk failed")

    world.access = replace(world.access, find_settled=fail)
    store_health(world.context(), 1, "before")
    assert {row.reason for row in rows_of(world).values()} == {"lsblk failed"}


@pytest.mark.parametrize(
    ("before", "after", "up_hours", "doubted"),
    [
        (100, 118, 18.5, False),
        (100, 117, 18.9, False),  # both ends are cut off to full hours
        (100, 101, 18.0, True),
        (100, 100, 1.9, False),
        (100, 100, 0.0, False),  # the machine was off in between
    ],
)
def test_hours_have_to_rise_as_time_passes(
    *,
    before: float,
    after: float,
    up_hours: float,
    doubted: bool,
) -> None:
    old = HealthRow(
        drive_id=1,
        drive_serial="A",
        moment="before",
        passed=True,
        reason="",
        counters={"power_on_hours": Counter("power_on_hours", before, "h")},
        at="",
    )
    new = Health(True, (Counter("power_on_hours", after, "h"),), None, None)
    (counter,) = add_hours_doubt(new, old, up_hours).counters
    assert bool(counter.doubt) == doubted
