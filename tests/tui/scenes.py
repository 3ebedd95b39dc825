"""What the pages are shown with in pictures: each scene prepares an engine and presses keys."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from textual.pilot import Pilot

from tests.tui.asked import ASKING, SILENT, WELL_ASKED
from tests.tui.fake import EVIL, HDD, NO_SERIAL, SSHD, STICK, VALID_PLAN, FakeEngine
from tests.tui.measured import add_array_steps, add_field_test, add_steps
from tests.tui.steps import finish, press, settle, type_text

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
    await press(pilot, "2", "n", "space", "shift+tab", "enter")
    await finish(pilot, "check")
    await press(pilot, "up")
    await type_text(pilot, "wrong")
    await press(pilot, "enter")


async def _mistakes(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await press(pilot, "2", "n", "space")
    for kind in ("lottery", "sql"):
        pilot.app.screen.query_one(f"#{kind}-on").focus()
        await press(pilot, "space", "tab")
        await type_text(pilot, "much")
    pilot.app.screen.query_one("#continue").focus()
    await press(pilot, "enter")
    await finish(pilot, "check")


async def _only_reading(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await press(pilot, "2", "n", "space", "down", "c")
    for kind in ("boot", "lottery", "fio", "sweep"):
        pilot.app.screen.query_one(f"#{kind}-on").focus()
        await press(pilot, "space")


async def _all_tests(pilot: Pilot[Any], engine: FakeEngine) -> None:
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


async def _field_tests(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await press(pilot, "2", "n", "space")
    for kind in ("boot", "surface", "verify", "selftest"):
        pilot.app.screen.query_one(f"#{kind}-on").focus()
        await press(pilot, "space")
    pilot.app.screen.query_one("#verify-power").focus()
    await press(pilot, "space")


async def _array(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await _pick_array(pilot)
    for kind in ("fio", "sql"):
        pilot.app.screen.query_one(f"#{kind}-on").focus()
        await press(pilot, "space")
    pilot.app.screen.query_one("#fio-on-what").focus()
    await press(pilot, "space", "tab", "space")


async def _array_settings(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await _pick_array(pilot)
    pilot.app.screen.query_one("#array-settings").focus()
    await press(pilot, "space")


async def _array_kernel(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await _array_settings(pilot, engine)
    await press(pilot, "space")
    pilot.app.screen.query_one("#values").focus()
    await press(pilot, "space")


async def _array_mistakes(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await _array_settings(pilot, engine)
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


async def _array_mistakes_inside(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await _array_mistakes(pilot, engine)
    await press(pilot, "enter")


def _idle(engine: FakeEngine) -> None:
    engine.say()


def _hostile(engine: FakeEngine) -> None:
    engine.show_drives(EVIL)


def _asked(engine: FakeEngine) -> None:
    asked = {HDD: WELL_ASKED, SSHD: SILENT, NO_SERIAL: ASKING, STICK: ASKING}
    engine.show_drives(HDD, SSHD, NO_SERIAL, STICK, asked=asked, looking=True)


def _field_test_over(engine: FakeEngine) -> None:
    add_field_test(engine)


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


def _step(engine: FakeEngine) -> None:
    campaign_id = add_steps(engine)
    engine.add_event("step-start", "lottery on W761CPRN: attempt 1")
    engine.say(
        phase="running",
        message="lottery on W761CPRN: direct",
        campaign_id=campaign_id,
        step={
            "position": 6,
            "of": 7,
            "kind": "lottery",
            "device": "W761CPRN",
            "part": "direct",
            "part_number": 3,
            "parts": 5,
        },
        progress={
            "label": "direct: ticket 41 of 100",
            "done_bytes": 4_299_161_600,
            "total_bytes": 10_485_760_000,
        },
        next="step 7: sql on W761CPRN",
        temperatures={"W761CPRN": 38.0},
    )


async def _read_twice(pilot: Pilot[Any], engine: FakeEngine) -> None:
    engine.count("sdb", read_bytes=0, read_ios=0)
    await settle(pilot)
    engine.clock_s += 2.0
    engine.count("sdb", read_bytes=256 << 20, read_ios=2048)
    await settle(pilot)


def _step_prepared(engine: FakeEngine) -> None:
    campaign_id = add_steps(engine)
    engine.say(
        phase="running",
        message="sql on W761CPRN",
        campaign_id=campaign_id,
        step={
            "position": 7,
            "of": 7,
            "kind": "sql",
            "device": "W761CPRN",
            "part": "",
            "part_number": 0,
            "parts": 0,
        },
        progress={"label": "making ext4", "done_bytes": 0, "total_bytes": 0},
    )


def _steps_and_boots(engine: FakeEngine) -> None:
    add_steps(engine, boots={HDD: [106.2, 106.1], SSHD: [46.12, 28.2]})


def _steps_only(engine: FakeEngine) -> None:
    add_steps(engine)


OURS: dict[str, object] = {
    "set_uuid": "6b616c74-0000-4000-8000-0000000000aa",
    "role": "backing",
    "ours": True,
    "campaign_id": 3,
    "explanation": "backing drive of the array WD-WX41A47H2291 with the cache "
    "eui.0025385b71b0a1c2 of campaign 3, left behind: take it apart here",
}
FOREIGN: dict[str, object] = {
    "set_uuid": "11111111-2222-4333-8444-555555555555",
    "role": "cache",
    "ours": False,
    "campaign_id": None,
    "explanation": "cache drive of a bcache array that was not made here: "
    "left alone unless you release this drive for erasing",
}


def show_left_behind(engine: FakeEngine) -> None:
    """An array of ours on two drives, and half of a foreign one."""
    words = str(OURS["explanation"]).replace("backing drive", "cache drive")
    cache: dict[str, object] = {"role": "cache", "explanation": words}
    engine.show_drives(
        HDD, SSHD, NO_SERIAL, arrays={HDD: OURS, NO_SERIAL: OURS | cache, SSHD: FOREIGN}
    )
    engine.say()


def _array_step(engine: FakeEngine) -> None:
    campaign_id = add_array_steps(engine, boots=[61.4, 28.3])
    engine.say(
        phase="running",
        message="lottery on array",
        campaign_id=campaign_id,
        step={
            "position": 8,
            "of": 8,
            "kind": "lottery",
            "device": "array",
            "part": "cold",
            "part_number": 1,
            "parts": 2,
        },
        progress={"label": "cold: ticket 12 of 100", "done_bytes": 12, "total_bytes": 100},
    )


def _array_made(engine: FakeEngine) -> None:
    _array_step(engine)
    step = {"position": 8, "of": 8, "kind": "lottery", "device": "array", "part": ""}
    engine.say(
        phase="running",
        message="lottery on array",
        campaign_id=1,
        step=step | {"part_number": 0, "parts": 0},
        progress={"label": "making the array: registering sda", "done_bytes": 0, "total_bytes": 0},
    )


async def _read_array(pilot: Pilot[Any], engine: FakeEngine) -> None:
    for device in ("bcache0", "bcache0p1", "sda", "nvme0n1"):
        engine.count(device, read_bytes=0, read_ios=0)
    await settle(pilot)
    engine.clock_s += 2.0
    for device, mebibytes in (("bcache0", 300), ("sda", 44), ("nvme0n1", 256)):
        engine.count(device, read_bytes=mebibytes << 20, read_ios=mebibytes * 8)
    await settle(pilot)


def _array_results(engine: FakeEngine) -> None:
    add_array_steps(engine)


def _array_results_boots(engine: FakeEngine) -> None:
    add_array_steps(engine, boots=[61.4, 28.3])


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
    "drives-asked": Scene(_asked, _nothing),
    "drives-all-details": Scene(_asked, _keys("enter")),
    "drives-refused": Scene(_refused, _nothing),
    "drives-array": Scene(show_left_behind, _nothing),
    "drives-array-foreign": Scene(show_left_behind, _keys("down", "t")),
    "drives-array-confirm": Scene(show_left_behind, _keys("t")),
    "help": Scene(_idle, _keys("f1")),
    "power": Scene(_idle, _keys("p")),
    "plan-absent": Scene(_idle, _keys("2")),
    "plan-valid": Scene(_valid_plan, _keys("2")),
    "plan-invalid": Scene(_bad_plan, _keys("2")),
    "plan-confirm": Scene(_valid_plan, _keys("2", "s")),
    "compose": Scene(_idle, _keys("2", "n", "space")),
    "compose-all-tests": Scene(_idle, _all_tests),
    "compose-only-reading": Scene(_idle, _only_reading),
    "compose-field-tests": Scene(_idle, _field_tests),
    "compose-mistakes": Scene(_idle, _mistakes),
    "compose-array": Scene(_idle, _array),
    "compose-array-mistakes": Scene(_idle, _array_mistakes),
    "array": Scene(_idle, _array_settings),
    "array-kernel": Scene(_idle, _array_kernel),
    "array-mistakes": Scene(_idle, _array_mistakes_inside),
    "release": Scene(_idle, _release),
    "run-running": Scene(_campaign, _nothing),
    "run-countdown": Scene(_counting, _nothing),
    "run-preparing": Scene(_preparing, _nothing),
    "run-paused": Scene(_paused, _keys("3")),
    "run-step": Scene(_step, _read_twice),
    "run-step-prepared": Scene(_step_prepared, _nothing),
    "run-array": Scene(_array_step, _read_array),
    "run-array-made": Scene(_array_made, _nothing),
    "results": Scene(_campaign, _keys("4")),
    "results-steps": Scene(_steps_only, _keys("4")),
    "results-steps-end": Scene(_steps_only, _keys("4", "tab", "end")),
    "results-field-test": Scene(_field_test_over, _keys("4")),
    "results-array": Scene(_array_results, _keys("4")),
    "results-array-end": Scene(_array_results, _keys("4", "tab", "end")),
    "results-array-boots": Scene(_array_results_boots, _keys("4")),
    "results-steps-and-boots": Scene(_steps_and_boots, _keys("4")),
    "machine": Scene(_idle, _keys("5")),
}


async def play(name: str, pilot: Pilot[Any], engine: FakeEngine) -> None:
    """Bring the scene on the screen."""
    await settle(pilot)
    await SCENES[name].steps(pilot, engine)
