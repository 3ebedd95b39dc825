"""What the pages are shown with in pictures: each scene prepares an engine and presses keys."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from textual.pilot import Pilot

from tests.tui.fake import EVIL, HDD, NO_SERIAL, SSHD, VALID_PLAN, FakeEngine
from tests.tui.steps import press, settle, type_text

type Steps = Callable[[Pilot[Any], FakeEngine], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Scene:
    """An engine in some state, and what a person does then."""

    prepare: Callable[[FakeEngine], None]
    steps: Steps


async def _nothing(pilot: Pilot[Any], engine: FakeEngine) -> None:
    pass


def _keys(*keys: str) -> Steps:
    async def steps(pilot: Pilot[Any], engine: FakeEngine) -> None:
        await press(pilot, *keys)

    return steps


async def _release(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await press(pilot, "2", "n", "space")
    await press(pilot, *["tab"] * 6, "enter")
    await press(pilot, "up")
    await type_text(pilot, "wrong")
    await press(pilot, "enter")


def _idle(engine: FakeEngine) -> None:
    engine.say()


def _hostile(engine: FakeEngine) -> None:
    engine.show_drives(EVIL)


def _valid_plan(engine: FakeEngine) -> None:
    engine.say(plan=VALID_PLAN)


def _bad_plan(engine: FakeEngine) -> None:
    engine.say(
        plan=VALID_PLAN
        | {
            "state": "invalid",
            "summary": "",
            "problems": [
                'line 3: unknown key "nmae" in [campaign]; did you mean "name"?',
                'line 9: [boot] cycles must be a number from 1 to 1000, not "many…"',
            ],
        }
    )


def _campaign(engine: FakeEngine) -> None:
    engine.add_campaign("older", state="done", cycles=1, boots={SSHD: [46.0]})
    campaign_id = engine.add_campaign(
        "incoming, rack 4",
        boots={HDD: [106.2, 106.1, None], SSHD: [46.12, 28.2], NO_SERIAL: [24.1, 24.3]},
    )
    for cycle in range(1, 8):
        engine.add_event("cycle-done", f"drive=W761CPRN cycle={cycle}/10 boot_s=28.2")
    engine.add_event("cycle-failed", "drive=WD-WX41A47H2291", level="error")
    engine.say(
        phase="running",
        message="Campaign",
        campaign_id=campaign_id,
        next="power off, wake at 03:31:00, boot 3 of W761CPRN",
    )


def _counting(engine: FakeEngine) -> None:
    _campaign(engine)
    engine.count_down("power-off", 7)


def _preparing(engine: FakeEngine) -> None:
    _campaign(engine)
    engine.say(
        phase="preparing",
        message="Writing WD-WX41A47H2291",
        campaign_id=2,
        progress={"label": "WD-WX41A47H2291", "done_bytes": 1_200_000_000, "total_bytes": 2 << 30},
        next="cycle 1 after all drives are written",
    )


def _paused(engine: FakeEngine) -> None:
    engine.add_campaign("incoming", state="paused", reason="stopped by a key", boots={HDD: [106.2]})
    engine.say()


def _refused(engine: FakeEngine) -> None:
    engine.say(
        phase="refused",
        message="two sticks",
        error={
            "message": "two Kaltstart sticks are plugged in: /dev/sdc and /dev/sdd",
            "hint": "remove one of them and restart",
            "exit_code": 5,
        },
    )


SCENES = {
    "drives": Scene(_idle, _nothing),
    "drives-hostile": Scene(_hostile, _nothing),
    "drives-refused": Scene(_refused, _nothing),
    "help": Scene(_idle, _keys("f1")),
    "power": Scene(_idle, _keys("p")),
    "plan-absent": Scene(_idle, _keys("2")),
    "plan-valid": Scene(_valid_plan, _keys("2")),
    "plan-invalid": Scene(_bad_plan, _keys("2")),
    "plan-confirm": Scene(_valid_plan, _keys("2", "s")),
    "compose": Scene(_idle, _keys("2", "n", "space")),
    "release": Scene(_idle, _release),
    "run-running": Scene(_campaign, _nothing),
    "run-countdown": Scene(_counting, _nothing),
    "run-preparing": Scene(_preparing, _nothing),
    "run-paused": Scene(_paused, _keys("3")),
    "results": Scene(_campaign, _keys("4")),
}


async def play(name: str, pilot: Pilot[Any], engine: FakeEngine) -> None:
    """Bring the scene on the screen."""
    await settle(pilot)
    await SCENES[name].steps(pilot, engine)
