# SPDX-License-Identifier: Apache-2.0
"""Whatever is wrong around it, the interface says so and stays."""

from pathlib import Path

import pytest

from appliance.stick.partitions import SAVE_FIRST
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD
from tests.tui.quiet import Gate
from tests.tui.scenes import SCENES
from tests.tui.steps import app_of, drawn, finish, press, settle, text_of
from tui import port as port_module
from tui.app import KaltstartApp
from tui.charset import ALLOWED
from tui.model.snapshot import Snapshot
from tui.port import Port


async def test_a_refusal_stands_on_every_page_with_what_to_do(engine: FakeEngine) -> None:
    error = {"message": "the database has schema version 9", "hint": "use a newer one"}
    engine.say(phase="refused", error=error | {"exit_code": 5})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        for digit in "12345":
            await press(pilot, digit)
            assert text_of(pilot, "#banner") == (
                "REFUSED: the database has schema version 9\nWhat to do: use a newer one"
            )
            assert pilot.app.screen.query_one("#banner").display
        await press(pilot, "2", "n")
        assert text_of(pilot, "#message") == "Nothing can be started: see above."


async def test_without_an_engine_it_waits_and_then_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with KaltstartApp(Port(run=tmp_path, data=tmp_path)).run_test() as pilot:
        await settle(pilot)
        assert "waiting for the engine" in text_of(pilot, "#header")
        monkeypatch.setattr(port_module, "_BEGUN_WITHIN_S", -1.0)
        await settle(pilot)
        assert text_of(pilot, "#banner").startswith("THE ENGINE DOES NOT ANSWER")


def test_an_engine_that_has_not_begun_yet_is_not_called_silent(tmp_path: Path) -> None:
    """On a slow machine it begins a minute after the interface, and lists drives first."""
    clock_s = 0.0
    port = Port(run=tmp_path, data=tmp_path, clock=lambda: clock_s)
    clock_s = 90.0
    assert not port.read_snapshot().silent
    (tmp_path / "engine.lock").touch()
    assert not port.read_snapshot().silent
    clock_s += 29.0
    assert not port.read_snapshot().silent
    clock_s += 2.0
    assert port.read_snapshot().silent, "it has begun, and says nothing"


def test_a_list_of_drives_is_no_sign_of_an_engine_that_has_a_status(engine: FakeEngine) -> None:
    """A thread of its own writes the list, whatever becomes of the engine."""
    clock_s = 0.0
    port = Port(run=engine.run, data=engine.data, clock=lambda: clock_s)
    engine.say(phase="idle")
    assert not port.read_snapshot().silent
    clock_s = 200.0
    engine.show_drives(HDD)
    assert port.read_snapshot().silent


async def test_that_it_starts_is_said_once(engine: FakeEngine) -> None:
    engine.say(phase="starting", message="Starting")
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert "· starting" in text_of(pilot, "#header")
        assert "Starting" not in text_of(pilot, "#header")


async def test_what_has_happened_is_seen_though_the_form_hides_the_page(
    engine: FakeEngine,
) -> None:
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, "2", "n")
        engine.say(phase="running", message="Campaign")
        await settle(pilot)
        assert "The machine is in use now: see page 3." in drawn(pilot)
        reason = "two Kaltstart [sticks] are plugged in, " * 3
        engine.say(phase="refused", error={"message": reason, "hint": "", "exit_code": 5})
        await settle(pilot)
        assert "REFUSED: two Kaltstart [sticks] are plugged in" in drawn(pilot)
        assert set(drawn(pilot)) <= ALLOWED | {"\n"}
        engine.say()
        await settle(pilot)
        assert "REFUSED" not in drawn(pilot)
        assert "has the machine" not in drawn(pilot)


@pytest.mark.parametrize("phase", ["idle", "starting"])
async def test_an_engine_that_has_ended_is_not_shown_as_ready(
    phase: str, engine: FakeEngine
) -> None:
    engine.say(phase=phase)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        engine.clock_s += 181
        engine.say(phase=phase)  # it lives, however long ago the last word was
        await settle(pilot)
        assert text_of(pilot, "#banner") == ""
        engine.clock_s += 181
        await settle(pilot)
        assert text_of(pilot, "#banner").startswith("THE ENGINE DOES NOT ANSWER")
        assert "not answering" in text_of(pilot, "#header")


async def test_a_step_may_take_as_long_as_it_likes(engine: FakeEngine) -> None:
    engine.say(phase="running")
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        engine.clock_s += 9999
        await settle(pilot)
        assert text_of(pilot, "#banner") == ""


async def test_all_of_a_long_trouble_is_seen_on_a_small_screen(engine: FakeEngine) -> None:
    hint = (
        "switch the machine off, check that the stick is plugged in firmly and not full, and "
        "switch it on: what was stored is kept, and the campaign can go on from there; the machine "
        "may start automatically, or from a drive (kaltstart/grubenv on KALTSTART cannot be used: "
        f"Input/output error (BIOS machines need this file; {SAVE_FIRST})): once it is off, "
        "leave it without mains power until you want it on"
    )
    error = {"message": "nothing can be stored any more: disk I/O error", "hint": hint}
    engine.say(phase="refused", error=error | {"exit_code": 5})
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert "until you want it on" in drawn(pilot)
        assert "[1 Drives]" in drawn(pilot)


async def test_keys_work_again_when_a_countdown_hangs(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.count_down()
    monkeypatch.setattr(port_module, "_SILENT_AFTER_S", -1.0)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2")
        assert engine.requests() == []
        assert pilot.app.screen.query("#plan")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"phase": "idle"}', "\x00"])
async def test_a_broken_status_is_told(text: str, engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        (engine.run / "status.json").write_text(text)
        await settle(pilot)
        assert "status.json cannot be read" in text_of(pilot, "#banner")


async def test_a_database_that_is_none_is_told_and_takes_no_request(engine: FakeEngine) -> None:
    engine.connection.close()
    (engine.data / "kaltstart.sqlite").write_bytes(b"x" * 8192)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert "cannot be read" in text_of(pilot, "#banner")
        await press(pilot, "p", "right", "enter")
        await finish(pilot, "flow")
        assert "cannot be read" in text_of(pilot, "#message")
        assert "A short press of the power button" in text_of(pilot, "#message")


async def test_campaigns_that_cannot_be_read_are_not_called_absent(engine: FakeEngine) -> None:
    engine.connection.close()
    (engine.data / "kaltstart.sqlite").write_bytes(b"x" * 8192)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        for key in ("3", "4"):
            await press(pilot, key)
            assert "The campaigns on the stick cannot be read." in drawn(pilot)
            assert "No campaign" not in drawn(pilot)
        await press(pilot, "3", "r")
        assert text_of(pilot, "#message") == "The campaigns on the stick cannot be read."


async def test_a_database_that_a_starting_engine_has_yet_to_make_is_awaited(
    engine: FakeEngine,
) -> None:
    (engine.data / "kaltstart.sqlite").unlink()
    engine.say(phase="starting")
    engine.show_drives(looking=False)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        engine.clock_s += 11
        await settle(pilot)
        app_of(pilot).read()
        await settle(pilot)
        await press(pilot, "4")
        assert app_of(pilot).snapshot.is_unreadable
        assert "Reading the campaigns on the stick" in drawn(pilot)


async def test_a_bug_in_a_worker_shows_a_message_and_ends_nothing(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Port) -> Snapshot:
        raise ZeroDivisionError("oh")

    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        with monkeypatch.context() as patch:
            patch.setattr(Port, "read_snapshot", fail)
            app_of(pilot).read()
            await pilot.pause()
            await pilot.pause()
        assert "Internal error: ZeroDivisionError('oh')" in app_of(pilot).message
        engine.show_drives(HDD)
        await settle(pilot)
        assert len(app_of(pilot).snapshot.drives) == 1


async def test_a_stick_that_hangs_is_told_until_it_answers(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = Gate()
    read = Port.read_snapshot

    def hang(port: Port) -> Snapshot:
        answers.wait()
        return read(port)

    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        app = app_of(pilot)
        monkeypatch.setattr(Port, "read_snapshot", hang)
        try:
            app.read()
            app._read_if_due()
            assert text_of(pilot, "#banner") == ""
            app._read_at_s -= 31
            app._read_if_due()
            assert text_of(pilot, "#banner").startswith("THE STICK DOES NOT ANSWER. What is shown")
            assert "not answering" in text_of(pilot, "#header")
        finally:
            answers.open()
        await finish(pilot, "read")
        assert text_of(pilot, "#banner") == ""


async def test_a_key_has_the_whole_screen_drawn_again(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        painted: list[bool] = []
        app = app_of(pilot)
        whole = app.screen._compositor.render_full_update

        def count(*, simplify: bool = False) -> object:
            painted.append(True)
            return whole(simplify=simplify)

        app.screen._compositor.render_full_update = count  # type: ignore[method-assign, assignment]
        await settle(pilot)
        assert painted == []
        await press(pilot, "ctrl+l")
        assert painted


async def test_a_stop_that_could_not_be_stored_is_told_and_can_be_tried_again(
    engine: FakeEngine,
) -> None:
    engine.connection.execute(
        "CREATE TRIGGER full BEFORE INSERT ON request BEGIN SELECT RAISE(ABORT, 'full'); END"
    )
    engine.count_down()
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "x")
        await finish(pilot, "flow")
        assert "the request could not be stored: full" in text_of(pilot, "#message")
        engine.connection.execute("DROP TRIGGER full")
        await press(pilot, "x")
        await finish(pilot, "flow")
        assert [request.kind for request in engine.requests()] == ["stop"]


@pytest.mark.parametrize(
    "name", ["drives", "plan-invalid", "run-preparing", "run-countdown", "run-step"]
)
async def test_a_small_screen_breaks_nothing(name: str, engine: FakeEngine) -> None:
    SCENES[name].prepare(engine)
    async with KaltstartApp(engine.port()).run_test(size=(40, 12)) as pilot:
        await settle(pilot)
        for digit in "12345":
            await press(pilot, digit)
            assert drawn(pilot).strip()


def test_a_database_that_is_away_before_a_restart_is_no_trouble_at_first(
    engine: FakeEngine,
) -> None:
    engine.add_campaign("rack 4", boots={HDD: []})
    port = engine.port()
    assert port.read_snapshot().trouble == ""
    database = engine.data / "kaltstart.sqlite"
    database.rename(engine.data / "away")
    snapshot = port.read_snapshot()
    assert (snapshot.trouble, len(snapshot.campaigns)) == ("", 1)
    engine.clock_s += 31
    snapshot = port.read_snapshot()
    assert "was the stick pulled out?" in snapshot.trouble
    assert len(snapshot.campaigns) == 1
