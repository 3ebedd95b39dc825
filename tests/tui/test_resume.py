# SPDX-License-Identifier: Apache-2.0
"""Going on with a paused campaign: which one, and the question before it writes again."""

from dataclasses import replace

import pytest

from appliance.drives.model import Drive
from appliance.store.tables.arrays import insert_array, update_array
from appliance.store.tables.campaigns import select_campaign_drives
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import BOOTS_TOML, HDD, NO_SERIAL, SSHD
from tests.tui.steps import app_of, drawn, finish, press, settle, shown, text_of
from tui.app import KaltstartApp
from tui.widgets.dialog import Ask

_PLAN = f"""\
version = 1
[[drive]]
serial = "{HDD.serial}"
[[drive]]
serial = "{SSHD.serial}"
erase = "{SSHD.serial}"
[[workload]]
kind = "surface"
sample = 0.1
[[workload]]
kind = "verify"
on = "{SSHD.serial}"
size = "1G"
"""
_ARRAY = f"""\
version = 1
[[drive]]
serial = "{HDD.serial}"
role = "backing"
erase = "{HDD.serial}"
[[drive]]
wwn = "{NO_SERIAL.wwn}"
role = "cache"
erase = "{NO_SERIAL.wwn}"
[array]
kind = "bcache"
[[workload]]
kind = "fio"
on = "array"
tests = ["rand-read"]
"""


def add_paused(engine: FakeEngine, *, verify: str) -> int:
    """A surface step on the disk and a writing one on the hybrid, in the state `verify`."""
    campaign_id = engine.add_campaign("bench", state="paused", cycles=0, boots={HDD: [], SSHD: []})
    engine.plan_campaign(campaign_id, _PLAN)
    engine.add_step(campaign_id, "surface", HDD, state="planned")
    engine.add_step(campaign_id, "verify", SSHD, state=verify, workload_index=1)
    return campaign_id


@pytest.mark.parametrize("verify", ["planned", "running"])
async def test_what_still_writes_is_asked_for_first(verify: str, engine: FakeEngine) -> None:
    campaign_id = add_paused(engine, verify=verify)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "3", "r", "r")
        await shown(pilot, "#resume")
        text = drawn(pilot)
        assert f"{SSHD.serial}  {SSHD.model}" in text
        assert HDD.serial not in text[text.index("WRITES TO") : text.index("Cancel")]
        assert pilot.app.focused is not None
        assert pilot.app.focused.id == "cancel"
        await press(pilot, "enter")
        await finish(pilot, "flow")
        assert engine.requests() == []
        await press(pilot, "r")
        await shown(pilot, "#resume")
        await press(pilot, "right", "enter")
        await finish(pilot, "flow")
        (request,) = engine.requests()
        assert (request.kind, request.read_payload()) == ("resume", {"campaign_id": campaign_id})


async def test_a_drive_that_is_not_here_is_named_so(engine: FakeEngine) -> None:
    add_paused(engine, verify="planned")
    engine.show_drives(HDD)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "3", "r")
        await shown(pilot, "#resume")
        assert f"{SSHD.serial}  NOT in this machine" in drawn(pilot)


async def test_what_only_reads_goes_on_with_one_key(engine: FakeEngine) -> None:
    add_paused(engine, verify="done")
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "3", "r")
        await finish(pilot, "flow")
        assert [request.kind for request in engine.requests()] == ["resume"]


async def test_a_paused_campaign_is_shown_and_goes_on_beside_newer_ones(
    engine: FakeEngine,
) -> None:
    paused = add_paused(engine, verify="done")
    newest = engine.add_campaign("inspection", cycles=1, boots={HDD: [1.0]})
    engine.say(phase="running", campaign_id=newest)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert "PAUSED" not in text_of(pilot, "#campaign")
        await press(pilot, "r")
        assert "No campaign is paused." in text_of(pilot, "#message")
        engine.connection.execute("UPDATE campaign SET state = 'done' WHERE id = ?", (newest,))
        engine.say(campaign_id=newest)
        await settle(pilot)
        assert text_of(pilot, "#campaign").endswith(
            f'Campaign {paused} "bench" is PAUSED: r resumes it'
        )
        assert "r resume" in text_of(pilot, "#keys")
        await press(pilot, "r")
        await finish(pilot, "flow")
        assert [each.read_payload() for each in engine.requests()] == [{"campaign_id": paused}]


async def test_of_two_paused_campaigns_the_one_that_is_shown_goes_on(engine: FakeEngine) -> None:
    first = add_paused(engine, verify="done")
    second = add_paused(engine, verify="done")
    engine.say(campaign_id=first)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        paused = app_of(pilot).snapshot.paused
        assert paused is not None
        assert paused.id == first
        engine.say()
        await settle(pilot)
        paused = app_of(pilot).snapshot.paused
        assert paused is not None
        assert paused.id == second
        assert not isinstance(pilot.app.screen, Ask)


@pytest.mark.parametrize(("installed", "written"), [(False, (HDD.serial,)), (True, ())])
def test_the_reference_os_is_written_once(
    *, installed: bool, written: tuple[str, ...], engine: FakeEngine
) -> None:
    campaign_id = engine.add_campaign("boots", state="paused", boots={HDD: [106.2]})
    engine.plan_campaign(campaign_id, BOOTS_TOML, installed=installed)
    assert engine.port().find_written(campaign_id) == written


def test_no_boot_left_writes_nothing(engine: FakeEngine) -> None:
    campaign_id = engine.add_campaign("boots", state="paused", cycles=1, boots={HDD: [106.2]})
    engine.plan_campaign(campaign_id, BOOTS_TOML)
    assert engine.port().find_written(campaign_id) == ()


@pytest.mark.parametrize(
    ("drive", "state", "written"),
    [
        (None, "planned", (HDD.serial, NO_SERIAL.wwn)),
        (None, "done", ()),
        (HDD, "planned", ()),
    ],
)
def test_whatever_runs_on_the_array_writes_to_both_its_drives(
    drive: Drive | None, state: str, written: tuple[str, ...], engine: FakeEngine
) -> None:
    campaign_id = engine.add_campaign(
        "array",
        state="paused",
        cycles=0,
        boots={HDD: [], NO_SERIAL: []},
        roles={HDD: "backing", NO_SERIAL: "cache"},
    )
    engine.plan_campaign(campaign_id, _ARRAY)
    engine.add_step(campaign_id, "fio", drive, state=state)
    assert engine.port().find_written(campaign_id) == written


@pytest.mark.parametrize(
    ("state", "written"),
    [
        ("making", (HDD.serial, NO_SERIAL.wwn)),
        ("made", (HDD.serial, NO_SERIAL.wwn)),
        ("apart", ()),
    ],
)
def test_an_array_that_is_still_there_is_dismantled_on_both_its_drives(
    state: str, written: tuple[str, ...], engine: FakeEngine
) -> None:
    campaign_id = engine.add_campaign(
        "array",
        state="paused",
        cycles=0,
        boots={HDD: [], NO_SERIAL: []},
        roles={HDD: "backing", NO_SERIAL: "cache"},
    )
    engine.plan_campaign(campaign_id, _ARRAY)
    engine.add_step(campaign_id, "fio", None, state="done")
    engine.add_step(campaign_id, "surface", HDD, state="planned")
    backing, cache = select_campaign_drives(engine.connection, campaign_id)
    insert_array(
        engine.connection,
        campaign_id=campaign_id,
        backing_drive_id=backing.drive_id,
        cache_drive_id=cache.drive_id,
        set_uuid="d0f2",
    )
    update_array(engine.connection, "d0f2", state)
    assert engine.port().find_written(campaign_id) == written


def test_where_the_plan_cannot_be_read_all_released_drives_count(engine: FakeEngine) -> None:
    campaign_id = add_paused(engine, verify="done")
    engine.plan_campaign(campaign_id, "version = 99")
    assert engine.port().find_written(campaign_id) == (HDD.serial, SSHD.serial)
    engine.connection.execute(
        "UPDATE campaign_drive SET released = 0 WHERE campaign_id = ? AND slot = 0", (campaign_id,)
    )
    assert engine.port().find_written(campaign_id) == (SSHD.serial,)


async def test_of_drives_with_the_same_serial_number_the_one_that_is_written_is_shown(
    engine: FakeEngine,
) -> None:
    twins = [
        replace(SSHD, model=model, wwn=f"0x500000000000000{number}", path=f"/dev/sd{number}")
        for number, model in ((1, "Another one"), (2, "The one"))
    ]
    campaign_id = engine.add_campaign("bench", state="paused", cycles=0, boots={twins[1]: []})
    engine.plan_campaign(campaign_id, "version = 99")
    engine.show_drives(*twins)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "3", "r")
        await shown(pilot, "#resume")
        assert f"{SSHD.serial}  The one" in drawn(pilot)
        assert "Another one" not in drawn(pilot)
