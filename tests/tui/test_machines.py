# SPDX-License-Identifier: Apache-2.0
"""Each captured machine (tests/fixtures/machines) on the drives page."""

import pytest

from appliance.service.drive_watch import compose_rows
from tests.tui.fake import FakeEngine
from tests.tui.steps import drawn, press, settle, text_of
from tests.unit.drives.machines import NAMES, load_machine
from tui.app import KaltstartApp
from tui.charset import ALLOWED, drawable
from tui.widgets.table import Table

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", NAMES)
async def test_a_machine_is_drawn_drive_by_drive(
    name: str,
    engine: FakeEngine,
) -> None:
    machine = load_machine(name)
    rows = compose_rows(machine.drives, machine.answers, {}, stick=machine.stick)
    engine._write("drives.json", {"looking": False, "drives": rows})
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        drives = engine.port().read_snapshot().drives
        assert sorted(each.device for each in drives) == sorted(
            each.name for each in machine.drives
        )
        listed = [drive for drive in drives if drive.has_capacity]
        assert pilot.app.screen.query_one(Table).row_count == len(listed)
        for drive in drives[len(listed) :]:
            assert drive.device in text_of(pilot, "#unlisted")
        for drive in listed:
            screen = drawn(pilot)
            assert not set(screen) - ALLOWED - {"\n"}
            assert max(map(len, screen.splitlines())) <= 80
            details = text_of(pilot, "#details")
            assert details.startswith(f"{drive.device}:")
            assert drawable(drive.model) in details
            await press(pilot, "down")
