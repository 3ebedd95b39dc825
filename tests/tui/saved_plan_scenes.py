# SPDX-License-Identifier: Apache-2.0
"""A plan saved on the stick, what can be done with it, and one that the form cannot show."""

from typing import Any

from textual.pilot import Pilot

from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD
from tests.tui.steps import finish, press, scrolled_to, shown
from tui.language import _

_PLAN = (
    f'version = 1\n[campaign]\nname = "Rack 4"\n[[drive]]\nserial = "{HDD.serial}"\n'
    '[[workload]]\nkind = "verify"\nsize = "1G"\n'
)


def save(engine: FakeEngine, name: str, text: str) -> None:
    """A file as the engine or another computer has written it."""
    folder = engine.run / "fat/plans"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def show_saved(engine: FakeEngine) -> None:
    engine.say()
    save(engine, "rack-4.toml", _PLAN)


def show_longer(engine: FakeEngine) -> None:
    engine.say()
    save(engine, "rack-4.toml", f'{_PLAN}[[workload]]\nkind = "verify"\nsize = "2G"\n')


async def open_saved(pilot: Pilot[Any], engine: FakeEngine) -> None:
    """What to do with it."""
    await press(pilot, "2", "l")
    await shown(pilot, "#plan-0")
    await press(pilot, "enter")
    await shown(pilot, "#adjust")


async def adjust_saved(pilot: Pilot[Any], engine: FakeEngine) -> None:
    """It is in the form."""
    await open_saved(pilot, engine)
    await press(pilot, "tab", "tab", "enter")
    await shown(pilot, "#tests")
    await finish(pilot, "check")


async def refuse_longer(pilot: Pilot[Any], engine: FakeEngine) -> None:
    """It is not."""
    await open_saved(pilot, engine)
    await press(pilot, "tab", "tab", "enter")
    reason = _("it has more than one workload {kind}").format(kind="verify")
    await scrolled_to(pilot, " ".join(reason.split()[-3:]))
