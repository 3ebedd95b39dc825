import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui import quiet
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import EVIL, HDD, NO_SERIAL, SSHD, STICK
from tests.tui.texts import compile_catalogues
from tui import language


@pytest.fixture
def engine(tmp_path: Path) -> FakeEngine:
    """An idle engine with five drives and no campaign."""
    fake = FakeEngine(tmp_path)
    fake.show_drives(HDD, SSHD, NO_SERIAL, STICK, EVIL)
    fake.say()
    return fake


@pytest.fixture(autouse=True)
def _quick_pilot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pilot waits for the interface to be quiet; as on the stick, scrolling takes no time."""
    monkeypatch.setattr(asyncio, "to_thread", quiet.to_thread)
    monkeypatch.setattr(Pilot, "_wait_for_screen", quiet.wait_for_screen)
    monkeypatch.setattr("textual.app.wait_for_idle", quiet.wait_for_idle)
    monkeypatch.setattr("textual.pilot.wait_for_idle", quiet.wait_for_idle)
    monkeypatch.setattr("textual.constants.TEXTUAL_ANIMATIONS", "none")


@pytest.fixture(scope="session", autouse=True)
def _catalogues(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The interface's languages as they are compiled for the image."""
    folder = tmp_path_factory.mktemp("locale")
    compile_catalogues(folder)
    language.find_catalogues_in(str(folder))


@pytest.fixture(autouse=True)
def _english() -> Iterator[None]:
    """Each test begins in it."""
    language.use("en")
    yield
    language.use("en")
