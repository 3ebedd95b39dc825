"""The page Machine and the manual in pictures."""

from typing import Any

from textual.pilot import Pilot

from tests.tui.fake import HOSTILE, FakeEngine
from tests.tui.steps import press, shown


def show_machine(engine: FakeEngine) -> None:
    engine.say()
    engine.show_machine()


def show_poor_machine(engine: FakeEngine) -> None:
    engine.say()
    engine.show_machine(
        vendor="",
        model=HOSTILE,
        serial="",
        firmware="bios",
        secure_boot="not supported",
        can_wake=False,
        clock_ahead_s=-7200,
        stick_read_only=True,
        stick_errors=12,
        data_errors=3,
        fat=None,
    )


async def open_manual(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await press(pilot, "f1", "m")
    await shown(pilot, "ChaptersDialog Table")


async def open_chapter(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await open_manual(pilot, engine)
    await press(pilot, "down", "down", "enter")
    await shown(pilot, "ChapterDialog #chapter")
