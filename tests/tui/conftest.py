from collections.abc import Iterator
from pathlib import Path

import pytest

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
    """Pilot looks every 20 ms, twice per key, whether the app is idle; look more often."""
    monkeypatch.setattr("textual._wait.SLEEP_GRANULARITY", 0.004)
    monkeypatch.setattr("textual._wait.SLEEP_IDLE", 0.0004)


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
