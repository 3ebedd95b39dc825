# SPDX-License-Identifier: Apache-2.0
"""Every scene looks as it did, and holds no character that the console font lacks."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from textual.pilot import Pilot

from tests.tui.fake import FakeEngine
from tests.tui.scenes import SCENES, play
from tests.tui.steps import drawn_colours, drawn_whole
from tui.app import KaltstartApp
from tui.charset import ALLOWED
from tui.page import PAGES

# Ink and paper that tests/unit/test_palette.py finds readable.
READABLE = {(ink, 0) for ink in range(1, 16)}
SMALL, LARGE = (80, 24), (120, 40)
LARGE_TOO = (
    *("drives", "compose-all-tests", "release", "run-running", "run-countdown", "run-step"),
    *("results", "results-steps", "compose-array", "array"),
    *("run-shelf", "run-shelf-sorted", "run-accepted", "run-rejected", "run-quick-look"),
    *("drives-array", "run-array", "results-array", "more-settings-mistakes", "drives-shelf"),
    *(
        "drives-asked",
        "drives-known",
        "compose-field-tests",
        "results-field-test",
        "drives-inspect",
    ),
    *("plan-saved", "plan-saved-adjusted", "plan-saved-too-much"),
    *("plan-templates", "compose-template", "results-raw", "results-raw-text", "results-spreads"),
)
# Each page, and what there is of boxes over them: for who cannot wait for all.
AT_ONCE = {
    *("drives-asked", "plan-valid", "run-step", "results", "machine"),
    *(
        "help",
        "power",
        "compose",
        "compose-keys",
        "array",
        "more-settings",
        "release",
        "drives-inspect",
    ),
}


def list_pictures() -> Iterator[ParameterSet]:
    """Each scene in each of its sizes."""
    for name in SCENES:
        yield pytest.param(name, SMALL, marks=() if name in AT_ONCE else pytest.mark.slow)
    for name in LARGE_TOO:
        yield pytest.param(name, LARGE, marks=pytest.mark.slow)


def test_each_page_is_among_those_looked_at_at_once() -> None:
    assert set(SCENES) >= AT_ONCE
    assert {name for _, name, _ in PAGES} <= {name.partition("-")[0] for name in AT_ONCE}


@pytest.mark.parametrize(
    ("name", "size"),
    list(list_pictures()),
    ids=lambda value: value if isinstance(value, str) else f"{value[0]}x{value[1]}",
)
def test_scene_looks_the_same_in_allowed_characters(
    name: str, size: tuple[int, int], engine: FakeEngine, snap_compare: Callable[..., bool]
) -> None:
    seen = ""
    colours: set[tuple[int, int]] = set()

    async def show(pilot: Pilot[Any]) -> None:
        nonlocal seen
        await play(name, pilot, engine)
        seen = drawn_whole(pilot)
        colours.update(drawn_colours(pilot))

    SCENES[name].prepare(engine)
    same = snap_compare(KaltstartApp(engine.port()), terminal_size=size, run_before=show)
    assert seen.strip()
    assert not set(seen) - ALLOWED - {"\n"}
    assert colours <= READABLE
    assert same
