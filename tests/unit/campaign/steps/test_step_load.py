# SPDX-License-Identifier: Apache-2.0
"""What is stored of the processors' load while a step runs, part by part."""

from pathlib import Path

import pytest

from appliance.samples.processor_load import LoadRecorder, LoadSample
from tests.unit.campaign.steps.step_machine import Machine, lottery
from tests.unit.campaign.world import HDD, World


def test_the_load_is_stored_with_the_part_it_was_seen_in(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = [LoadSample(2.0, is_full=True), LoadSample(1.0, is_full=False)]
    monkeypatch.setattr(LoadRecorder, "take", lambda _recorder: tuple(seen))
    machine = Machine(world, tmp_path, plans=(lottery(),))
    machine.take_over(monkeypatch, HDD)
    world.make_campaign()
    machine.add_steps(HDD)
    machine.run()
    parts = machine.rows("SELECT name FROM part ORDER BY name")
    assert parts
    stored = machine.rows("SELECT part, seconds, full_s FROM processor_load ORDER BY part")
    assert stored == [("", 3.0, 2.0), *((name, 3.0, 2.0) for (name,) in parts)]
