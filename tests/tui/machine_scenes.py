# SPDX-License-Identifier: Apache-2.0
"""The page Machine and the manual in pictures."""

from typing import Any

from textual.pilot import Pilot

from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HOSTILE
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


_GUIDE = """\
# Field guide

## Before the first campaign
- Firmware: boot from USB first.
- Plug in one Kaltstart stick only.

## Keys
| where | keys |
| --- | --- |
| everywhere | `1` Drives, `2` Plan, `3` Run, `4` Results, `5` Machine, `F1` or `?` help |
| Drives | Up and Down choose a drive, Enter shows **all** that is known of it |

A paragraph that is longer than a line of the screen, so that it goes on in the next one.

```toml
[boot]
cycles = 10
```

## Arrays
None.
"""


def show_manual(engine: FakeEngine) -> None:
    engine.say()
    engine.manual = engine.run / "manual"
    engine.manual.mkdir()
    (engine.manual / "field-guide.md").write_text(_GUIDE)
    (engine.manual / "plan.md").write_text("# The plan\n## A complete plan\n")


async def open_manual(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await press(pilot, "f1", "m")
    await shown(pilot, "ChaptersDialog Table")


async def open_chapter(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await open_manual(pilot, engine)
    await press(pilot, "down", "down", "enter")
    await shown(pilot, "ChapterDialog #lines")
