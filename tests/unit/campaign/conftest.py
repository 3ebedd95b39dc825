from pathlib import Path

import pytest

from tests.unit.campaign.world import World


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A machine that is not there, with an empty database."""
    world = World(tmp_path / "kaltstart.sqlite")
    world.take_over(monkeypatch)
    return world
