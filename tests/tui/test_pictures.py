"""Every scene looks as it did, and holds no character that the console font lacks."""

from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.tui.fake import FakeEngine
from tests.tui.scenes import SCENES, play
from tests.tui.steps import drawn, drawn_colours
from tui.app import KaltstartApp
from tui.charset import ALLOWED

# Ink and paper that tests/unit/test_palette.py finds readable.
READABLE = {(ink, 0) for ink in range(1, 16) if ink != 8} | {(0, 7)}
SMALL, LARGE = (80, 24), (120, 40)
LARGE_TOO = (
    *("drives", "compose-all-tests", "release", "run-running", "run-countdown", "run-step"),
    *("results", "results-steps", "compose-array", "array"),
    *("drives-array", "run-array", "results-array", "further-mistakes"),
    *("drives-asked", "compose-field-tests", "results-field-test", "drives-inspect"),
    *("plan-kept", "plan-kept-adjusted", "plan-kept-too-much"),
    *("plan-templates", "compose-template", "results-raw", "results-raw-text", "results-spreads"),
)


@pytest.mark.parametrize(
    ("name", "size"),
    [(name, SMALL) for name in SCENES] + [(name, LARGE) for name in LARGE_TOO],
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
        seen = drawn(pilot)
        colours.update(drawn_colours(pilot))

    SCENES[name].prepare(engine)
    same = snap_compare(KaltstartApp(engine.port()), terminal_size=size, run_before=show)
    assert seen.strip()
    assert not set(seen) - ALLOWED - {"\n"}
    assert colours <= READABLE
    assert same
