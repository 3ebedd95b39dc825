# SPDX-License-Identifier: Apache-2.0
"""Page 5: what it shows of the machine, and what it asks the engine for."""

import pytest

from tests.tui.fake import MACHINE, FakeEngine
from tests.tui.fake_drives import HDD, HOSTILE
from tests.tui.steps import drawn, finish, press, settle, text_of, type_text
from tui.app import KaltstartApp
from tui.charset import ALLOWED
from tui.machine.page import MachinePage
from tui.model.machine import parse_machine

_WAKES = {
    "result": "wakes", "skew_s": 3.6, "counted": 3, "moved": 2, "ended_at": "2026-11-22T06:00:00Z",
}  # fmt: skip


@pytest.mark.parametrize("width", [40, 77, 117])
def test_facts_fit_the_screen_and_hold_no_foreign_character(width: int) -> None:
    machine = parse_machine(
        MACHINE | {"model": HOSTILE, "serial": "S" * 200, "versions": {HOSTILE: HOSTILE}},
        show_size=str,
    )
    text = machine.describe(width)
    assert max(map(len, text.splitlines())) <= max(width, 16 + len(HOSTILE) * 9)
    assert not set(text) - ALLOWED - {"\n"}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"can_wake": False}, "NOT POSSIBLE"),
        ({"alarm_in_s": 600}, "an alarm is set in 10 min"),
        ({"alarm_in_s": -600}, "not tried yet (w)\n"),
        ({"wake": _WAKES}, "wakes 4 s after its alarm; 2 of 3 drives lost power"),
        (
            {"wake": _WAKES | {"result": "asleep"}},
            "DOES NOT WAKE from power-off (tried 2026-11-22)",
        ),
        ({"clock_ahead_s": None}, "NONE FOUND"),
        ({"clock_ahead_s": -90}, "90 s behind the system's time"),
        ({"clock_ahead_s": 1}, "agrees"),
        ({"stick_errors": 1}, "! 1 since it was plugged in; 0 ever in kaltstart-data"),
        ({"stick_errors": None, "data_errors": None}, "not told"),
        ({"stick_read_only": True}, "WRITE-PROTECTED"),
        ({"data": None}, "CANNOT BE READ"),
        ({"firmware": "secureboot", "secure_boot": "on"}, "Secure Boot     on"),
    ],
)
def test_what_is_wrong_is_said_in_words(more: dict[str, object], said: str) -> None:
    assert said in parse_machine(MACHINE | more, show_size=str).describe(100)


async def test_all_is_on_one_screen(engine: FakeEngine) -> None:
    engine.show_machine()
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "5")
        screen = drawn(pilot)
        for text in ("LENOVO 20L5CTO1WW", "Secure Boot", "13 GB free of 14 GB", "systemd 257"):
            assert text in screen


async def test_before_the_engine_has_told_anything_nothing_can_be_set(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "5", "t")
        assert text_of(pilot, "#message") == "Nothing can be set before the engine is ready."
        (engine.run / "machine.json").write_text("{}")
        await settle(pilot)
        assert "machine.json cannot be read" in text_of(pilot, "#banner")


async def test_while_a_campaign_runs_nothing_is_set(engine: FakeEngine) -> None:
    engine.show_machine()
    campaign_id = engine.add_campaign("rack 4", boots={HDD: []})
    engine.say(phase="running", message="Campaign", campaign_id=campaign_id)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        for key in "kltwx":
            await press(pilot, "5", key)
            assert "stop it first" in text_of(pilot, "#message")
        assert engine.requests() == []
        assert text_of(pilot, "#facts").startswith("As of 06:24 UTC, before the campaign:\n")
        assert "keyboard" not in text_of(pilot, "#keys")
        engine.say()
        await settle(pilot)
        assert "As of" not in text_of(pilot, "#facts")
        assert "k keyboard" in text_of(pilot, "#keys")


async def test_a_layout_is_chosen_with_the_cursor_on_the_present_one(engine: FakeEngine) -> None:
    engine.show_machine(keyboard="uk")
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "5", "k", "down", "enter")
        await finish(pilot, "flow")
        [request] = engine.requests()
        assert (request.kind, request.read_payload()) == ("set-keyboard", {"layout": "de"})
        engine.answer("accepted", "the keyboard is de, now and at the next start")
        await settle(pilot)
        assert text_of(pilot, "#message").startswith("Keyboard accepted: the keyboard is de")


async def test_a_time_is_typed_over_the_present_one(engine: FakeEngine) -> None:
    engine.show_machine()
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "5", "t")
        await type_text(pilot, "2027-01-02 03:04")
        await press(pilot, "enter")
        await finish(pilot, "flow")
        [request] = engine.requests()
        assert (request.kind, request.read_payload()) == ("set-time", {"at": "2027-01-02 03:04"})


async def test_a_time_that_no_one_typed_sets_no_clock_back(engine: FakeEngine) -> None:
    engine.show_machine()
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "5", "t", "enter")
        await finish(pilot, "flow")
        assert isinstance(pilot.app.screen, MachinePage)
        assert engine.requests() == []


async def test_a_shell_needs_two_keys_and_is_asked_for_on_this_terminal(
    engine: FakeEngine,
) -> None:
    engine.show_machine()
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "5", "x", "enter")
        await finish(pilot, "flow")
        assert engine.requests() == [], "the focus starts on Cancel"
        await press(pilot, "x", "right", "enter")
        await finish(pilot, "flow")
        [request] = engine.requests()
        assert (request.kind, request.read_payload()) == ("shell", {"terminal": "tty1"})


async def test_whether_it_wakes_is_tried_after_a_question(engine: FakeEngine) -> None:
    engine.show_machine()
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "5", "w", "enter")
        await finish(pilot, "flow")
        assert engine.requests() == [], "the focus starts on Cancel"
        await press(pilot, "w", "right", "enter")
        await finish(pilot, "flow")
        [request] = engine.requests()
        assert (request.kind, request.read_payload()) == ("try-wake", {})


_IMAGES = ["kaltstart-0.2.0-amd64.img.xz", "kaltstart-0.1.0-amd64.img.xz"]


async def test_an_upgrade_to_the_newest_image_needs_two_keys(engine: FakeEngine) -> None:
    engine.show_machine(images=_IMAGES)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "5")
        assert "u upgrade" in text_of(pilot, "#keys")
        await press(pilot, "u")
        assert _IMAGES[0] in drawn(pilot)
        await press(pilot, "enter")
        await finish(pilot, "flow")
        assert engine.requests() == [], "the focus starts on Cancel"
        await press(pilot, "u", "right", "enter")
        await finish(pilot, "flow")
        [request] = engine.requests()
        assert (request.kind, request.read_payload()) == ("upgrade", {"file_name": _IMAGES[0]})


async def test_without_an_image_it_is_said_what_is_missing(engine: FakeEngine) -> None:
    engine.show_machine()
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "5")
        assert "u upgrade" not in text_of(pilot, "#keys")
        await press(pilot, "u")
        await settle(pilot)
        assert "There is no kaltstart-VERSION-amd64.img.xz" in text_of(pilot, "#message")
        assert engine.requests() == []


@pytest.mark.parametrize(
    ("work", "name"),
    [("upgrade", "The stick is being upgraded"), ("dismantle", "An array is being dismantled")],
)
async def test_what_is_running_is_named_where_it_is_no_campaign(
    engine: FakeEngine, work: str, name: str
) -> None:
    engine.show_machine()
    engine.add_campaign("incoming", state="paused", boots={HDD: [106.2]})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        progress = {"label": "the image is checked", "done_bytes": 1 << 20, "total_bytes": 2 << 20}
        engine.say(phase="running", message="The image is checked", work=work, progress=progress)
        await settle(pilot)
        assert name in drawn(pilot)
        assert "incoming" not in drawn(pilot).partition("Events")[0]
        assert text_of(pilot, "#keys").startswith("s stop now  F1")
        await press(pilot, "h")
        assert text_of(pilot, "#message").startswith(name)
        for keys in (["1", "b"], ["1", "i"], ["2", "n"], ["4", "w"], ["5", "k"], ["5", "p"]):
            await press(pilot, *keys)
            assert name in text_of(pilot, "#message"), keys
            assert "campaign is running" not in drawn(pilot), keys
        assert engine.requests() == []
