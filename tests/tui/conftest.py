# SPDX-License-Identifier: Apache-2.0
import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
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
def _styles_parsed_once() -> Iterator[None]:
    """Textual parses the styles of each app again, and twice; they are always the same."""
    known: dict[tuple[object, ...], list[RuleSet]] = {}
    parse = Stylesheet._parse_rules

    def look_up(sheet: Stylesheet, css: str, *args: Any, **options: Any) -> list[RuleSet]:  # noqa: ANN401
        variables = frozenset(sheet._variables.items())
        key = (variables, css, args, frozenset(options.items()))
        if key not in known:
            known[key] = parse(sheet, css, *args, **options)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", look_up)
        yield


@pytest.fixture(scope="session", autouse=True)
def _catalogues(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The interface's languages as they are compiled for the image."""
    folder = tmp_path_factory.mktemp("locale")
    compile_catalogues(folder)
    language._current.folder = str(folder)


@pytest.fixture(autouse=True)
def _english() -> Iterator[None]:
    """Each test begins in it."""
    language.use("en")
    yield
    language.use("en")
