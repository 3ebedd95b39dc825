# SPDX-License-Identifier: Apache-2.0
"""What the database says comes behind the first page and its drives, and never too late."""

import gc

import pytest

from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD
from tests.tui.steps import app_of, page, press, settle
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
def test_a_campaign_is_not_waited_with(phase: str, stored: FakeEngine) -> None:
    stored.say(phase="starting")
    stored.show_drives(looking=True)
    port = stored.port()
    port.read_snapshot()
    stored.say(phase=phase, campaign_id=1)
    assert port.read_snapshot().campaigns


def test_it_comes_without_an_engine_as_well(stored: FakeEngine) -> None:
    (stored.run / "status.json").unlink()
    port = stored.port()
    assert not port.read_snapshot().campaigns
    stored.clock_s += 31
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
    for _ in range(2):
        async with KaltstartApp(stored.port()).run_test() as pilot:
            await settle(pilot)
            app_of(pilot).read()
            await settle(pilot)
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
