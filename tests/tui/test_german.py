# SPDX-License-Identifier: Apache-2.0
"""Every page and dialog in German: as it looked, and nothing of it cut off on 80 columns."""

from collections.abc import Callable
from typing import Any

import pytest
from textual.containers import Horizontal
from textual.pilot import Pilot

from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD
from tests.tui.scenes import SCENES, play
from tests.tui.steps import drawn, drawn_whole, press, settle, text_of
from tui import language
from tui.app import KaltstartApp
from tui.charset import ALLOWED
from tui.page import PAGES
from tui.widgets.choice import Choice
from tui.widgets.line import Line

pytestmark = pytest.mark.slow

_SIZE = (80, 24)
_PICTURED = (
    *("drives-asked", "plan-valid", "run-step", "run-shelf", "results-steps", "machine"),
    *(
        "help",
        "release",
        "compose-all-tests",
        "compose-keys",
        "array",
        "drives-inspect",
        "plan-templates",
    ),
    "more-settings-mistakes",
)
_OTHERS = (
    *("drives-array", "drives-array-confirm", "drives-all-details", "power", "plan-absent"),
    *("plan-invalid", "plan-confirm", "compose", "compose-times", "compose-field-tests"),
    *("compose-keys-mistakes", "compose-keys-set"),
    *("compose-only-reading", "compose-array", "run-running", "run-countdown", "run-paused"),
    *("run-array", "results", "results-field-test", "results-array", "results-spreads"),
    *("compose-more-settings-mistakes", "more-settings", "release-left"),
    *("results-raw", "results-raw-text", "run-skip", "run-pausing", "machine-trouble"),
    *("machine-keyboard", "machine-time", "machine-shell", "manual", "manual-chapter"),
    *("results-databases", "results-take-over", "results-unusable"),
    *("run-shelf-sorted", "run-shelf-drive", "run-shelf-alone"),
    *("run-accepted", "run-quick-look", "run-judged-one", "run-rejected-one"),
    *("plan-saved", "plan-saved-adjusted", "plan-saved-too-much"),
    *("drives-shelf", "drives-inspect-shelf", "results-rejected", "results-rejected-one"),
)


@pytest.fixture
def german(engine: FakeEngine) -> FakeEngine:
    engine.language = "de"
    engine.show_machine()
    language.use("de")
    return engine


def find_cut(pilot: Pilot[Any]) -> list[str]:
    """The texts of one line that have less room than they need."""
    cut = []
    for widget in pilot.app.screen.query("Line, Choice"):
        beside = widget.parent if isinstance(widget.parent, Horizontal) else None
        if not widget.display or not (beside or widget.id in {"keys", "modes", "header"}):
            continue
        if isinstance(widget, Choice):
            text = str(widget.render())
        else:
            assert isinstance(widget, Line)
            text = widget.text
        shown = widget.content_region
        right = beside.content_region.right if beside else _SIZE[0] - 1
        room = min(shown.right, right) - shown.x
        if widget.region and "\n" not in text and len(text.rstrip()) > room:
            cut.append(text)
    return cut


@pytest.mark.parametrize("name", _PICTURED)
def test_a_page_looks_the_same(
    name: str, german: FakeEngine, snap_compare: Callable[..., bool]
) -> None:
    seen = ""
    cut: list[str] = []

    async def show(pilot: Pilot[Any]) -> None:
        nonlocal seen
        await play(name, pilot, german)
        seen = drawn_whole(pilot)
        cut.extend(find_cut(pilot))

    SCENES[name].prepare(german)
    same = snap_compare(KaltstartApp(german.port()), terminal_size=_SIZE, run_before=show)
    assert not set(seen) - ALLOWED - {"\n"}
    assert cut == []
    assert same


@pytest.mark.parametrize("name", _OTHERS)
async def test_nothing_on_a_page_or_dialog_is_cut_off(name: str, german: FakeEngine) -> None:
    SCENES[name].prepare(german)
    async with KaltstartApp(german.port()).run_test(size=_SIZE) as pilot:
        await play(name, pilot, german)
        assert find_cut(pilot) == []


async def test_the_help_of_each_page_is_one_screen(german: FakeEngine) -> None:
    async with KaltstartApp(german.port()).run_test(size=_SIZE) as pilot:
        await settle(pilot)
        for digit, _name, _title in PAGES:
            await press(pilot, digit, "f1")
            text = pilot.app.screen.query_one("#text")
            assert text.max_scroll_y == 0, f"page {digit} need not be scrolled"
            await press(pilot, "escape")


async def test_how_far_a_campaign_is_breaks_between_its_counts(german: FakeEngine) -> None:
    campaign_id = german.add_campaign(
        "Pictures of every page", state="done", cycles=2, boots={HDD: [60.0, 61.0]}
    )
    german.add_step(campaign_id, "fio", HDD)
    async with KaltstartApp(german.port()).run_test(size=_SIZE) as pilot:
        await settle(pilot)
        await press(pilot, "3")
        lines = [line.strip(" │") for line in drawn(pilot).splitlines()[3:6]]
    assert lines == [
        'Kampagne 1 "Pictures of every page": FERTIG,',
        "2 von 2 Boots (2 fertig, 0 Fehler),",
        "1 von 1 Schritten (1 fertig, 0 Fehler)",
    ]


async def test_what_the_engine_says_of_an_array_is_german(german: FakeEngine) -> None:
    SCENES["drives-array"].prepare(german)
    async with KaltstartApp(german.port()).run_test(size=(120, 40)) as pilot:
        await play("drives-array", pilot, german)
        told = " ".join(text_of(pilot, "#details").split())
        assert f"Backing-Laufwerk des Arrays aus {HDD.serial} und dem Cache" in told
        assert "von Kampagne 3, übrig geblieben: hier auflösen" in told
