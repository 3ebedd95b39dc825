# SPDX-License-Identifier: Apache-2.0
"""What the database says comes behind the first page and its drives, and never too late."""

import gc
import sys

import pytest

from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD
from tests.tui.steps import app_of, drawn, page, press, settle
from tui import app as app_module
from tui.app import KaltstartApp


@pytest.fixture
def stored(engine: FakeEngine) -> FakeEngine:
    """An engine on whose stick there is a campaign."""
    engine.add_campaign("incoming", state="done", boots={HDD: [12.5]})
    return engine


def test_the_drives_are_shown_first(stored: FakeEngine) -> None:
    stored.say(phase="starting")
    stored.show_drives(looking=True)
    port = stored.port()
    assert not port.read_snapshot().campaigns
    stored.show_drives(HDD, looking=False)
    stored.say(phase="idle")
    listed = port.read_snapshot()
    assert listed.drives
    assert not listed.looking
    assert not listed.campaigns
    assert port.read_snapshot().campaigns


def test_an_interface_that_was_restarted_has_all_at_once(stored: FakeEngine) -> None:
    stored.say(phase="idle")
    stored.show_drives(HDD, looking=False)
    assert stored.port().read_snapshot().campaigns


@pytest.mark.parametrize("phase", ["running", "countdown"])
def test_a_campaign_at_work_does_not_wait_for_drives(phase: str, stored: FakeEngine) -> None:
    stored.say(phase="starting")
    stored.show_drives(looking=True)
    port = stored.port()
    port.read_snapshot()
    stored.say(phase=phase, campaign_id=1)
    assert not port.read_snapshot().campaigns, "it is drawn first"
    assert port.read_snapshot().campaigns


def test_it_comes_where_the_list_is_long_in_coming(stored: FakeEngine) -> None:
    stored.say(phase="starting")
    stored.show_drives(looking=True)
    port = stored.port()
    assert not port.read_snapshot().is_read
    stored.clock_s += 11
    assert not port.read_snapshot().is_read
    late = port.read_snapshot()
    assert late.is_read
    assert late.campaigns


@pytest.mark.parametrize("spoilt", ["status.json", "drives.json"])
def test_it_comes_where_a_file_of_the_engine_cannot_be_read(
    spoilt: str, stored: FakeEngine
) -> None:
    stored.say(phase="idle")
    stored.show_drives(HDD, looking=False)
    (stored.run / spoilt).write_text("{")
    found = stored.port().read_snapshot()
    assert spoilt in found.trouble
    assert found.campaigns


def test_code_that_cannot_be_read_costs_only_the_campaigns(
    stored: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tui.port.stored", None)
    stored.say(phase="idle")
    stored.show_drives(HDD, looking=False)
    found = stored.port().read_snapshot()
    assert found.drives
    assert "tui.port.stored" in found.trouble


async def test_what_is_not_read_is_not_taken_for_empty(engine: FakeEngine) -> None:
    engine.add_campaign("incoming", state="paused", boots={HDD: [12.5]})
    engine.say(phase="idle")
    engine.show_drives(HDD, looking=True)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert not app_of(pilot).snapshot.is_read
        await press(pilot, "3")
        assert "Reading the campaigns on the stick" in drawn(pilot)
        await press(pilot, "r")
        assert "No campaign is paused" not in drawn(pilot)
        await press(pilot, "4")
        assert "Reading the campaigns on the stick" in drawn(pilot)
        await press(pilot, "1", "enter")
        assert "the inspection is offered once all are found" in drawn(pilot)
        engine.show_drives(HDD, looking=False)
        await settle(pilot)
        assert "Ready. Enter" not in drawn(pilot)
        app_of(pilot).read()
        await settle(pilot)
        assert "Campaign 1 is paused: 3 shows it" in drawn(pilot)
        assert "There is a plan or a campaign now" in drawn(pilot)
        assert not engine.requests()


async def test_what_fails_to_load_later_leaves_no_garbage(
    stored: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_module, "_LATER", ("tui.nothing",))
    stored.say(phase="idle")
    stored.show_drives(HDD, looking=False)
    gc.disable()
    try:
        async with KaltstartApp(stored.port()).run_test() as pilot:
            await settle(pilot)
            while not gc.isenabled():
                await pilot.pause(0.01)
    finally:
        gc.enable()
        gc.unfreeze()


def test_it_comes_without_an_engine_as_well(stored: FakeEngine) -> None:
    (stored.run / "status.json").unlink()
    port = stored.port()
    assert not port.read_snapshot().campaigns
    stored.clock_s += 181
    silent = port.read_snapshot()
    assert silent.silent
    assert not silent.campaigns
    assert port.read_snapshot().campaigns


def test_it_stays_where_the_engine_is_restarted(stored: FakeEngine) -> None:
    stored.say(phase="idle")
    stored.show_drives(HDD, looking=False)
    port = stored.port()
    port.read_snapshot()
    stored.say(phase="starting")
    stored.show_drives(looking=True)
    assert port.read_snapshot().campaigns


async def test_what_ended_before_a_restart_of_the_interface_leads_nowhere(
    stored: FakeEngine,
) -> None:
    stored.say(phase="idle")
    stored.show_drives(HDD, looking=False)
    stored.add_event("ready")
    stored.add_event("campaign-done")
    for looking in (False, False, True):
        stored.show_drives(HDD, looking=looking)
        async with KaltstartApp(stored.port()).run_test() as pilot:
            await settle(pilot)
            app_of(pilot).read()
            await settle(pilot)
            if looking:
                stored.show_drives(HDD, looking=False)
                for _ in range(2):
                    app_of(pilot).read()
                    await settle(pilot)
                assert app_of(pilot).snapshot.events
                assert page(pilot).NAME == "machine", "where the one before was"
            await press(pilot, "5")
            app_of(pilot).read()
            await settle(pilot)
            assert page(pilot).NAME == "machine"


async def test_garbage_is_collected_once_all_is_loaded(stored: FakeEngine) -> None:
    stored.say(phase="idle")
    stored.show_drives(HDD, looking=False)
    gc.disable()
    try:
        async with KaltstartApp(stored.port()).run_test() as pilot:
            await settle(pilot)
            await app_of(pilot).workers.wait_for_complete()
            assert gc.isenabled()
    finally:
        gc.enable()
        gc.unfreeze()
