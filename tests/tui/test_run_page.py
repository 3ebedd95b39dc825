# SPDX-License-Identifier: Apache-2.0
import json
from dataclasses import replace

import pytest

from appliance.store.tables.verdicts import Verdict
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import BOOTS_TOML, HDD, NO_SERIAL, SSHD
from tests.tui.measured import add_array_steps, add_steps
from tests.tui.scene_states import run_campaign
from tests.tui.scenes import SCENES, play
from tests.tui.steps import app_of, drawn, finish, page, press, settle, shown, text_of
from tui.app import KaltstartApp
from tui.charset import drawable
from tui.model.snapshot import Event
from tui.model.status import StepNow
from tui.plan.compose import ComposeDialog
from tui.run.events import describe_events
from tui.run.lines import name_part
from tui.widgets.dialog import Ask


@pytest.mark.parametrize("key", ["x", "2", "escape", "ctrl+l", "f5", "enter"])
async def test_any_key_stops_a_countdown_once_and_does_nothing_else(
    key: str, engine: FakeEngine
) -> None:
    engine.count_down()
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert page(pilot).NAME == "run"
        assert "in 10 s - press any key" in text_of(pilot, "#banner")
        await press(pilot, key, key)
        await finish(pilot, "flow")
        assert [request.kind for request in engine.requests()] == ["stop"]
        assert page(pilot).NAME == "run"
        engine.answer("accepted", "stopped")
        engine.say()
        await settle(pilot)
        assert text_of(pilot, "#message") == "Stop accepted: stopped"
        await press(pilot, "2")
        assert page(pilot).NAME == "plan"


def test_a_failure_is_folded_as_it_is_drawn() -> None:
    event = Event(1, "2026-11-25T10:00:00Z", "error", "unknown", " ".join(["\x1b[31m中文" * 3] * 8))
    lines = describe_events((event,), 76).splitlines()[1:]
    assert len(lines) == 3
    assert all(drawable(line) == line and len(line) <= 76 for line in lines)


async def test_a_countdown_beside_a_step_is_seen_before_the_next_reading_is_due(
    engine: FakeEngine,
) -> None:
    SCENES["run-step"].prepare(engine)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        app = app_of(pilot)
        app._read_at_s += 1e6
        app._read_if_due()
        assert not app._reading
        engine.count_down("power-off", 5)
        app._read_if_due()
        await finish(pilot, "read")
        assert "powered off in 5 s - press any key" in text_of(pilot, "#banner")
        await press(pilot, "4")
        await finish(pilot, "flow")
        assert [request.kind for request in engine.requests()] == ["stop"]


async def test_a_countdown_is_stopped_from_within_a_dialog(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n")
        engine.count_down("power-off")
        await settle(pilot)
        assert isinstance(pilot.app.screen, ComposeDialog), "what is typed is meant for it"
        assert "in 10 s - press any key to stop it" in drawn(pilot)
        await press(pilot, "q")
        await finish(pilot, "read")
        assert [request.kind for request in engine.requests()] == ["stop"]


async def test_a_campaign_started_at_the_other_console_leaves_a_dialog_where_it_is(
    engine: FakeEngine,
) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n")
        engine.say(phase="running")
        await settle(pilot)
        assert isinstance(pilot.app.screen, ComposeDialog)
        await press(pilot, "escape")
        assert page(pilot).NAME == "plan"
        assert "see page 3" in text_of(pilot, "#message")


async def test_a_running_campaign_is_shown_and_stopped_safely(engine: FakeEngine) -> None:
    campaign_id = engine.add_campaign(
        "rack 4", boots={HDD: [106.2, 105.1, None], SSHD: [46.12, 28.2]}
    )
    for number in range(12):
        engine.add_event("cycle-done", f"number={number}")
    engine.say(phase="running", campaign_id=campaign_id, next="power off")
    async with KaltstartApp(engine.port()).run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert page(pilot).NAME == "run"
        assert 'Campaign 1 "rack 4": RUNNING, boot 6 of 6 (4 done, 1 failed)' in text_of(
            pilot, "#campaign"
        )
        first, second = text_of(pilot, "#drives").splitlines()[1:]
        assert first.split()[-5:] == ["target", "3/3", "105.10", "105.10", "1"]
        assert second.split()[-5:] == ["target", "2/3", "28.20", "28.20", "-"]
        assert text_of(pilot, "#now") == "Next: power off"
        events = text_of(pilot, "#events").splitlines()[1:]
        assert events[0].endswith("cycle-done number=11")
        assert events[-1].endswith("cycle-done number=0"), "all that was read, to be scrolled to"
        await press(pilot, "s")
        await finish(pilot, "flow")
        assert [request.kind for request in engine.requests()] == ["stop"]


async def test_why_an_attempt_failed_can_be_read_on_a_narrow_screen(engine: FakeEngine) -> None:
    reason = "the measured boot did not come back: power cut, crash or hang, or its entry was lost"
    engine.add_event(
        "attempt-failed",
        f"LAB-SSD-1 cycle 1, attempt 1 of 3: measure-01: {reason}",
        level="warning",
    )
    engine.say(phase="idle")
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, "3")
        first, *others = text_of(pilot, "#events").splitlines()[1:]
        assert first.startswith("! ")
        assert " attempt-failed LAB-SSD-1 cycle 1, attempt 1 of 3:" in first
        assert " ".join([first, *map(str.strip, others)]).endswith(reason)


@pytest.mark.parametrize("fields", ["", "x", "[1]", '{"drive": "A"}', '{"drive": {}, "more": []}'])
async def test_an_event_whose_fields_the_stick_has_spoilt_is_told_in_english(
    engine: FakeEngine, fields: str
) -> None:
    engine.add_event("cycle-done", drive="A", cycle=3, seconds="28.200")
    engine.connection.execute("UPDATE event SET fields = ?", (fields,))
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "3")
        assert text_of(pilot, "#events").endswith("cycle-done A cycle 3: 28.200 s")


async def test_a_paused_campaign_goes_on(engine: FakeEngine) -> None:
    campaign_id = engine.add_campaign("rack 4", state="paused", boots={HDD: [106.2]})
    engine.plan_campaign(campaign_id, BOOTS_TOML, installed=True)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "3", "r")
        await finish(pilot, "flow")
        (request,) = engine.requests()
        assert (request.kind, request.read_payload()) == ("resume", {"campaign_id": campaign_id})


async def test_a_user_who_resumes_a_campaign_and_turns_the_page_stays_there(
    engine: FakeEngine,
) -> None:
    campaign_id = engine.add_campaign("rack 4", state="paused", boots={HDD: [106.2]})
    engine.plan_campaign(campaign_id, BOOTS_TOML, installed=True)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "3", "r")
        await finish(pilot, "flow")
        await press(pilot, "4")
        engine.connection.execute("UPDATE campaign SET state = 'running'")
        engine.say(phase="running", campaign_id=campaign_id)
        await settle(pilot)
        assert engine.port().read_snapshot().busy
        assert page(pilot).NAME == "results"
        # What someone else starts later is shown.
        engine.say(phase="idle")
        await settle(pilot)
        engine.say(phase="running", campaign_id=campaign_id)
        await settle(pilot)
        assert page(pilot).NAME == "run"


async def test_a_page_that_a_start_turns_to_has_no_old_message(engine: FakeEngine) -> None:
    engine.show_drives(HDD)
    campaign_id = engine.add_campaign("rack 4", state="running", boots={HDD: [106.2]})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "t")
        assert "in no array" in text_of(pilot, "#message")
        engine.say(phase="running", campaign_id=campaign_id)
        await settle(pilot)
        assert page(pilot).NAME == "run"
        assert text_of(pilot, "#message") == ""


async def test_a_campaign_that_is_paused_goes_on_before_the_status_says_so(
    engine: FakeEngine,
) -> None:
    campaign_id = engine.add_campaign("rack 4", state="paused", boots={HDD: [106.2]})
    engine.plan_campaign(campaign_id, BOOTS_TOML, installed=True)
    engine.say(
        phase="countdown",
        campaign_id=campaign_id,
        countdown={"purpose": "reboot", "remaining_s": 7},
    )
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "3", "r")
        await finish(pilot, "flow")
        assert [request.kind for request in engine.requests()] == ["resume"]


async def test_a_countdown_is_stopped_where_the_database_may_be_newer_than_what_was_read(
    engine: FakeEngine,
) -> None:
    campaign_id = engine.add_campaign("rack 4", state="paused", boots={HDD: [106.2]})
    countdown = {"purpose": "reboot", "remaining_s": 7}
    engine.say(phase="countdown", campaign_id=campaign_id, countdown=countdown)
    snapshot = engine.port().read_snapshot()
    assert snapshot.countdown is None
    assert replace(snapshot, trouble="the database is locked").countdown is not None


async def test_once_it_says_paused_nothing_goes_on_showing_what_the_status_said_before(
    engine: FakeEngine,
) -> None:
    campaign_id = engine.add_campaign("rack 4", state="paused", reason="a key", boots={HDD: [106]})
    engine.say(
        phase="countdown",
        message="power off, wake at 03:31:00",
        campaign_id=campaign_id,
        countdown={"purpose": "power-off", "remaining_s": 7},
        next="power off, wake at 03:31:00",
    )
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "3")
        assert "PAUSED" in drawn(pilot)
        assert text_of(pilot, "#header").rstrip().endswith("paused: a key")
        assert "power off" not in drawn(pilot).replace("p power", "")
        assert "countdown" not in drawn(pilot)
        assert text_of(pilot, "#now") == ""


async def test_temperatures_of_the_running_steps_drives_are_shown(engine: FakeEngine) -> None:
    SCENES["run-step"].prepare(engine)
    status = json.loads((engine.run / "status.json").read_text())
    del status["temperatures"]
    engine.say(**status)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert "Temperature" not in text_of(pilot, "#now"), "an older engine says nothing of it"
        engine.say(**status, temperatures={SSHD.serial: 38.4})
        await settle(pilot)
        assert "\nTemperature: 38 °C\n" in text_of(pilot, "#now")
        engine.say(**status, temperatures={HDD.serial: 41.0, "EVIL\x1b": 38.0})
        await settle(pilot)
        assert f"\nTemperature: {HDD.serial} 41 °C, EVIL\\x1b 38 °C\n" in text_of(pilot, "#now")


async def test_progress_is_shown_as_a_bar(engine: FakeEngine) -> None:
    progress = {"label": "WD-1", "done_bytes": 500_000_000, "total_bytes": 1_000_000_000}
    engine.say(phase="preparing", progress=progress)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert "WD-1: 476.8 MiB of 953.7 MiB\n[███" in text_of(pilot, "#now")
        assert text_of(pilot, "#now").endswith("50 %")


@pytest.mark.parametrize(("keys", "kinds"), [(["right", "enter"], ["poweroff"]), (["enter"], [])])
async def test_power_needs_a_confirmation(
    keys: list[str], kinds: list[str], engine: FakeEngine
) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "p")
        assert isinstance(pilot.app.screen, Ask)
        await press(pilot, *keys)
        await finish(pilot, "flow")
        assert [request.kind for request in engine.requests()] == kinds


async def test_while_a_campaign_runs_power_is_not_offered(engine: FakeEngine) -> None:
    engine.say(phase="running")
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert "power" not in text_of(pilot, "#keys")
        await press(pilot, "p")
        assert page(pilot) is pilot.app.screen
        assert "stop it first" in text_of(pilot, "#message")
        engine.say()
        await settle(pilot)
        assert "p power" in text_of(pilot, "#keys")


async def test_a_running_step_says_where_it_is_and_what_the_drive_does(engine: FakeEngine) -> None:
    campaign_id = add_steps(engine)
    step = {"position": 6, "of": 7, "kind": "lottery", "device": SSHD.serial}
    step |= {"part": "direct", "part_number": 3, "parts": 5}
    progress = {"label": "ticket 41", "done_bytes": 41, "total_bytes": 100}
    engine.say(phase="running", campaign_id=campaign_id, step=step, progress=progress)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert page(pilot).NAME == "run"
        assert "RUNNING, step 6 of 7 (4 done, 1 failed)" in text_of(pilot, "#campaign")
        now = text_of(pilot, "#now")
        assert now.startswith("Step 6 of 7: lottery on W761CPRN, part 3 of 5: direct\n")
        assert "ticket 41: 41 of 100\n[███" in now
        assert "Drive now" not in now
        engine.count("sdb", read_bytes=0, read_ios=0)
        await settle(pilot)
        engine.clock_s += 2.0
        engine.count("sdb", read_bytes=200_000_256, read_ios=400)
        await settle(pilot)
        assert "Drive now: read 100.0 MB/s, 200 IOPS; write 0.0 MB/s" in text_of(pilot, "#now")
        first, second = text_of(pilot, "#drives").splitlines()[1:]
        assert first.split()[-3:] == ["target", "5/5", "1"]
        assert second.split()[-3:] == ["target", "0/2", "-"]
        await press(pilot, "s")
        await finish(pilot, "flow")
        assert [request.kind for request in engine.requests()] == ["stop"]


_SLICE_34 = {"label": "surface: slice 34 of 100", "done_bytes": 30, "total_bytes": 100}


def say_two_steps(engine: FakeEngine, *, progress: dict[str, object] = _SLICE_34) -> None:
    """Surfaces of both drives; the second one does not answer."""
    campaign_id = add_steps(engine)
    first = {"position": 6, "of": 7, "kind": "surface", "device": HDD.serial, "step_id": 6}
    second = first | {"position": 7, "device": SSHD.serial, "step_id": 7}
    first |= {"part": "033", "part_number": 34, "parts": 101}
    second |= {"part": "", "part_number": 0, "parts": 0}
    silent = {"label": "opening the drive", "done_bytes": 0, "total_bytes": 0}
    engine.say(
        phase="running",
        campaign_id=campaign_id,
        step=first,
        steps=[first | {"progress": progress}, second | {"progress": silent}],
        progress=progress,
        temperatures={HDD.serial: 38.0},
    )


async def test_each_of_several_running_steps_has_a_line(engine: FakeEngine) -> None:
    say_two_steps(engine)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        title, first, second = text_of(pilot, "#now").splitlines()
        assert title == "2 drives are tested at the same time:"
        assert first.split() == [HDD.serial, "surface", "34/101", "30", "%", "38", "°C"]
        assert second.split() == [SSHD.serial, "surface", "-", "opening", "the", "drive"]


async def test_a_part_without_a_total_is_named_as_on_the_line_of_a_single_step(
    engine: FakeEngine,
) -> None:
    say_two_steps(engine, progress={"label": "033", "done_bytes": 0, "total_bytes": 0})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        _, first, _ = text_of(pilot, "#now").splitlines()
        assert first.endswith("from 33 % of the drive")


async def test_a_step_that_others_have_overtaken_keeps_its_number(engine: FakeEngine) -> None:
    say_two_steps(engine)
    engine.connection.execute("UPDATE step SET state = 'done'")
    engine.connection.execute("UPDATE step SET state = 'running' WHERE id = 6")
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert "RUNNING, step 6 of 7 (6 done, 0 failed)" in drawn(pilot)


async def test_which_of_several_running_steps_is_skipped_can_be_chosen(engine: FakeEngine) -> None:
    say_two_steps(engine)
    engine.connection.execute("UPDATE step SET state = 'running' WHERE id IN (6, 7)")
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "k")
        await shown(pilot, "#skip")
        assert "Skip step 6 of 7" in " ".join(drawn(pilot).split())
        await press(pilot, "right", "right", "enter")
        await settle(pilot)
        assert "Skip step 7 of 7" in " ".join(drawn(pilot).split())
        await press(pilot, "right", "enter")
        await finish(pilot, "skip")
        assert [(each.kind, each.read_payload()) for each in engine.requests()] == [
            ("skip-step", {"campaign_id": 1, "step_id": 7})
        ]


async def test_boots_and_steps_of_one_campaign_are_both_counted(engine: FakeEngine) -> None:
    campaign_id = add_steps(engine, boots={HDD: [106.2, 106.1], SSHD: [46.0]})
    engine.say(phase="running", campaign_id=campaign_id)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert text_of(pilot, "#campaign").endswith(
            "boot 4 of 4 (3 done, 0 failed),\nstep 6 of 7 (4 done, 1 failed)"
        )
        first = text_of(pilot, "#drives").splitlines()[1]
        assert first.split()[-6:] == ["target", "5/5", "2/2", "106.10", "106.10", "1"]


async def test_a_step_on_the_array_shows_the_array_and_its_two_drives(engine: FakeEngine) -> None:
    SCENES["run-array"].prepare(engine)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await play("run-array", pilot, engine)
        now = text_of(pilot, "#now").splitlines()
        assert now[0] == "Step 8 of 8: lottery on array, part 1 of 2: cold"
        assert [line.split(" read ")[0].split() for line in now[3:]] == [
            ["Array", "now:"],
            ["Backing", "now:"],
            ["Cache", "now:"],
        ]
        assert "157.3 MB/s" in now[3]
        lines = [line.split() for line in text_of(pilot, "#drives").splitlines()]
        assert lines[1][-6:] == ["backing", "2/2", "-", "-", "-", "-"]
        assert lines[2] == [
            *("array", f"({HDD.serial})", "array"),
            *("3/4", "2/2", "28.30", "28.30", "-"),
        ]
        assert lines[3][0] == NO_SERIAL.wwn
        assert lines[3][-6:] == ["cache", "2/2", "-", "-", "-", "-"]


async def test_of_several_arrays_none_is_taken_for_the_campaigns(engine: FakeEngine) -> None:
    SCENES["run-array"].prepare(engine)
    engine.count("bcache1", read_bytes=0, read_ios=0)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await play("run-array", pilot, engine)
        assert "Array now" not in text_of(pilot, "#now")
        assert "Backing now" in text_of(pilot, "#now")


async def test_making_an_array_shows_its_stage(engine: FakeEngine) -> None:
    SCENES["run-array-made"].prepare(engine)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert text_of(pilot, "#now").endswith("preparing\nmaking the array: registering sda ...")


async def test_boots_of_an_array_count_for_the_array(engine: FakeEngine) -> None:
    campaign_id = add_array_steps(engine, boots=[61.4, None])
    engine.say(phase="running", campaign_id=campaign_id)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        lines = [line.split() for line in text_of(pilot, "#drives").splitlines()]
        assert [line[-1] for line in lines[1:]] == ["-", "1", "-"]


async def test_boots_are_drawn_as_far_as_there_is_room(engine: FakeEngine) -> None:
    run_campaign(engine)
    for size, charts in (((80, 24), 0), ((160, 50), 3)):
        async with KaltstartApp(engine.port()).run_test(size=size) as pilot:
            await settle(pilot)
            assert page(pilot).NAME == "run"
            assert text_of(pilot, "#boots").count("Boot s by cycle") == charts
            assert "Events, newest first" in drawn(pilot), "nothing is pushed off the screen"
            assert "× 03:20:07 cycle-failed" in text_of(pilot, "#events")


@pytest.mark.parametrize("verdict", ["reject", "accept"])
async def test_boots_leave_room_for_the_large_letters_above_them(
    verdict: Verdict, engine: FakeEngine
) -> None:
    campaign_id = engine.add_campaign(
        "rack 4", state="done", cycles=3, boots={HDD: [106.2, 105.1, 105.3]}
    )
    engine.add_step(campaign_id, "surface", HDD)
    engine.judge(campaign_id, HDD, verdict, "")
    engine.add_event("cycle-done", drive=HDD.serial, cycle=3, seconds="105.300")
    drawn_at = set()
    async with KaltstartApp(engine.port()).run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "3")
        for height in range(40, 24, -1):
            await pilot.resize_terminal(120, height)
            assert "cycle-done" in drawn(pilot)
            if "Boot s by cycle" in text_of(pilot, "#boots"):
                drawn_at.add(height)
    assert drawn_at


@pytest.mark.parametrize(
    ("kind", "part", "name"),
    [
        ("surface", "050", "from 50 % of the drive"),
        ("surface", "whole", "adding up"),
        ("verify", "write-07", "writing, stretch 8"),
        ("verify", "read", "reading back, adding up"),
        ("verify", "read-cold-00", "reading back after a power-off, stretch 1"),
        ("contention", "together-2", "together, round 2"),
        ("selftest", "long", "long"),
        ("fio", "050", "050"),
        ("surface", "rand-read", "rand-read"),
    ],
)
def test_a_part_is_called_by_what_it_is(kind: str, part: str, name: str) -> None:
    assert name_part(StepNow(1, 1, kind, "A", part=part, part_number=1, parts=2)) == name
