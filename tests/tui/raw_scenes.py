# SPDX-License-Identifier: Apache-2.0
"""A campaign with raw output, real tools' own, and the way down to it."""

import shutil
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from appliance.samples.health import Health
from appliance.store.tables.health import insert_health
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD
from tests.tui.steps import press, shown

_FIXTURES = Path(__file__).parents[1] / "fixtures"
FIO = _FIXTURES / "fio/rand-read.json"
SMART = _FIXTURES / "smart/ata-412.json"


def add_raw(engine: FakeEngine) -> int:
    """A campaign with a boot, health before it, and two steps, of which one kept its files."""
    campaign_id = engine.add_campaign("raw", state="done", cycles=2, boots={HDD: [46.2, None]})
    kept = engine.add_step(campaign_id, "fio", HDD)
    engine.add_step(campaign_id, "sql", HDD)
    folder = engine.data / "raw" / str(kept)
    folder.mkdir(parents=True)
    for each in (FIO, FIO.with_suffix(".fio")):
        shutil.copy(each, folder)
    insert_health(
        engine.connection,
        campaign_id=campaign_id,
        drive_id=1,
        moment="before",
        health=Health(passed=True, counters=(), temperature_celsius=None, limit_celsius=None),
        raw=SMART.read_text(),
    )
    return campaign_id


def show_raw(engine: FakeEngine) -> None:
    add_raw(engine)


async def open_raw(pilot: Pilot[Any], engine: FakeEngine) -> None:
    """The list of all that is kept."""
    await press(pilot, "4", "enter")
    await shown(pilot, "RawListDialog Table")


async def open_raw_text(pilot: Pilot[Any], engine: FakeEngine) -> None:
    """What fio said."""
    await open_raw(pilot, engine)
    await press(pilot, *["down"] * 3, "enter")
    await shown(pilot, "RawDialog #lines")
