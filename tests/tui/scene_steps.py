# SPDX-License-Identifier: Apache-2.0
"""What a person does in the scenes, by keys."""

from collections.abc import Awaitable, Callable
from typing import Any

from textual.pilot import Pilot

from tests.tui.fake import FakeEngine
from tests.tui.steps import finish, press, settle, shown, type_text

type Steps = Callable[[Pilot[Any], FakeEngine], Awaitable[None]]


async def do_nothing(pilot: Pilot[Any], engine: FakeEngine) -> None:
    pass


def press_keys(*keys: str) -> Steps:
    async def steps(pilot: Pilot[Any], engine: FakeEngine) -> None:
        await press(pilot, *keys)

    return steps


async def look_at_results(pilot: Pilot[Any], engine: FakeEngine) -> None:
    """With what holds drives of a campaign that has ended against each other."""
    await press(pilot, "4")
    await finish(pilot, "flow")


async def offer_inspection(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await press(pilot, "enter")
    await shown(pilot, "#start")
    await finish(pilot, "estimate")


async def open_templates(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await press(pilot, "2", "t")
    await shown(pilot, "#boots-does")
    await finish(pilot, "estimate")


async def compose_template(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await open_templates(pilot, engine)
    await press(pilot, "down", "down", "down", "enter")
    await pilot.pause()


async def show_times(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await compose_template(pilot, engine)
    await press(pilot, "f2")
    await shown(pilot, "#text")


async def release_wrongly(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await press(pilot, "2", "n", "space", "shift+tab", "enter")
    await finish(pilot, "check")
    await press(pilot, "up")
    await type_text(pilot, "wrong")
    await press(pilot, "enter")


async def compose_mistakes(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await press(pilot, "2", "n", "space")
    for kind in ("lottery", "sql"):
        pilot.app.screen.query_one(f"#{kind}-on").focus()
        await press(pilot, "space", "tab")
        await type_text(pilot, "much")
    pilot.app.screen.query_one("#continue").focus()
    await press(pilot, "enter")
    await finish(pilot, "check")


async def compose_only_reading(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await press(pilot, "2", "n", "space", "down", "c")
    for kind in ("boot", "lottery", "fio", "sweep"):
        pilot.app.screen.query_one(f"#{kind}-on").focus()
        await press(pilot, "space")


async def compose_all_tests(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await press(pilot, "2", "n", "space")
    for kind in ("lottery", "fio", "matrix", "sweep", "sql"):
        pilot.app.screen.query_one(f"#{kind}-on").focus()
        await press(pilot, "space")
    for kind in ("fio", "sql"):
        pilot.app.screen.query_one(f"#{kind}-place").focus()
        await press(pilot, "enter")


async def _pick_array(pilot: Pilot[Any]) -> None:
    """The disk and the NVMe drive in an array, without boot timing."""
    await press(pilot, "2", "n", "a", "down", "down", "a")
    pilot.app.screen.query_one("#boot-on").focus()
    await press(pilot, "space")


async def compose_field_tests(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await press(pilot, "2", "n", "space")
    for kind in ("boot", "surface", "verify", "selftest"):
        pilot.app.screen.query_one(f"#{kind}-on").focus()
        await press(pilot, "space")
    pilot.app.screen.query_one("#verify-power-cycle").focus()
    await press(pilot, "space")


async def compose_array(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await _pick_array(pilot)
    for kind in ("fio", "sql"):
        pilot.app.screen.query_one(f"#{kind}-on").focus()
        await press(pilot, "space")
    pilot.app.screen.query_one("#fio-on-what").focus()
    await press(pilot, "space", "tab", "space")


async def open_array_settings(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await _pick_array(pilot)
    pilot.app.screen.query_one("#array-settings").focus()
    await press(pilot, "space")


async def open_kernel_settings(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await open_array_settings(pilot, engine)
    await press(pilot, "space")
    pilot.app.screen.query_one("#values").focus()
    await press(pilot, "space")


async def make_array_mistakes(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await open_array_settings(pilot, engine)
    pilot.app.screen.query_one("#array-writeback-percent").focus()
    await type_text(pilot, "all")
    pilot.app.screen.query_one("#array-bucket").focus()
    await type_text(pilot, "3K")
    pilot.app.screen.query_one("#done").focus()
    await press(pilot, "enter")
    pilot.app.screen.query_one("#fio-on").focus()
    await press(pilot, "space")
    pilot.app.screen.query_one("#continue").focus()
    await press(pilot, "enter")
    await finish(pilot, "check")


async def look_at_array_mistakes(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await make_array_mistakes(pilot, engine)
    await press(pilot, "enter")


async def set_more_settings(pilot: Pilot[Any], engine: FakeEngine) -> None:
    """Mistakes in two of the further settings, looked at; without an array."""
    await press(pilot, "2", "n", "space", "f5", "space", "tab")
    await type_text(pilot, "hot")
    await press(pilot, "tab", "tab")
    await type_text(pilot, "5")
    pilot.app.screen.query_one("#done").focus()
    await press(pilot, "enter")
    pilot.app.screen.query_one("#continue").focus()
    await press(pilot, "enter")
    await finish(pilot, "check")


async def look_at_more_settings_mistakes(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await set_more_settings(pilot, engine)
    await press(pilot, "f5")


async def leave_release(pilot: Pilot[Any], engine: FakeEngine) -> None:
    """The form as it was."""
    await release_wrongly(pilot, engine)
    await press(pilot, "escape")
    await finish(pilot, "release")


async def read_for_minutes(pilot: Pilot[Any], engine: FakeEngine) -> None:
    """The drive of the step becomes faster and answers sooner, and rests for a while."""
    read_bytes = read_ios = wait_ms = 0
    for number in range(28):
        engine.count("sda", read_bytes=0, read_ios=0)
        engine.count(
            "sdb",
            read_bytes=read_bytes,
            read_ios=read_ios,
            wait_ms=wait_ms,
            busy_ms=number * 4350,
        )
        await settle(pilot)
        engine.clock_s += 5.0
        if number not in {12, 13}:
            read_bytes += (number + 2) * 25 << 20
            read_ios += (number + 2) * 200
            wait_ms += 20_000 - number * 300


async def read_array(pilot: Pilot[Any], engine: FakeEngine) -> None:
    for device in ("bcache0", "bcache0p1", "sda", "nvme0n1"):
        engine.count(device, read_bytes=0, read_ios=0)
    await settle(pilot)
    engine.clock_s += 2.0
    for device, mebibytes in (("bcache0", 300), ("sda", 44), ("nvme0n1", 256)):
        engine.count(device, read_bytes=mebibytes << 20, read_ios=mebibytes * 8)
    await settle(pilot)
