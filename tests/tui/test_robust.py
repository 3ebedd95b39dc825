# SPDX-License-Identifier: Apache-2.0
"""What a bug in a page, or the end of the interface, costs the person in front of it."""

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD
from tests.tui.steps import app_of, drawn, page, press, settle, text_of
from tui import app as app_module
from tui import journal as journal_module
from tui.app import KaltstartApp
from tui.machine.page import MachinePage
from tui.model.snapshot import Snapshot
from tui.results.page import ResultsPage


def fail(*_: object) -> None:
    raise ZeroDivisionError("oh")


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """What the system's journal would be given, an entry for each datagram."""
    path = str(tmp_path / "journal")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as given:
        given.bind(path)
        given.setblocking(False)
        monkeypatch.setattr(journal_module, "_JOURNAL", path)
        yield given


def read_message(journal: socket.socket) -> str:
    """The text of the next entry."""
    head, _, rest = journal.recv(1 << 20).partition(b"MESSAGE\n")
    assert head == b"PRIORITY=3\nSYSLOG_IDENTIFIER=kaltstart-tui\n"
    length = int.from_bytes(rest[:8], "little")
    assert rest[8 + length :] == b"\n"
    return rest[8 : 8 + length].decode()


async def _press_on_results(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "4")
        await press(pilot, "w")


@pytest.mark.parametrize("ended", ["campaign-done", "campaign-paused"])
async def test_what_ended_before_there_was_an_interface_is_the_first_thing_seen(
    engine: FakeEngine, ended: str
) -> None:
    engine.add_event("ready")
    engine.add_event(ended)
    engine.add_event("report")
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert page(pilot).NAME == "run"
        await press(pilot, "1")
        engine.add_event("verdict-kept")
        app_of(pilot).read()
        await settle(pilot)
        assert page(pilot).NAME == "drives", "shown once"


async def test_what_ended_before_the_machine_was_switched_on_is_not(engine: FakeEngine) -> None:
    engine.say(phase="starting")
    engine.add_event("ready")
    engine.add_event("campaign-done")
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert page(pilot).NAME == "drives"
        engine.add_event("ready")
        engine.say(phase="idle")
        app_of(pilot).read()
        await settle(pilot)
        assert page(pilot).NAME == "drives"
        # Imported from another stick.
        engine.add_event("campaign-done")
        engine.add_event("merged")
        app_of(pilot).read()
        await settle(pilot)
        assert page(pilot).NAME == "drives"


@pytest.mark.parametrize("ended", ["campaign-done", "campaign-paused"])
async def test_what_began_and_ended_between_two_readings_is_shown(
    engine: FakeEngine, ended: str
) -> None:
    engine.add_event("ready")
    engine.add_event("campaign-done")
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "4")
        engine.add_event("campaign-start")
        engine.add_event(ended)
        app_of(pilot).read()
        await settle(pilot)
        assert page(pilot).NAME == "run"
        await press(pilot, "1")
        engine.add_event("report")
        app_of(pilot).read()
        await settle(pilot)
        assert page(pilot).NAME == "drives", "shown once"


async def test_it_comes_back_on_the_page_where_it_was_killed(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "4")
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert page(pilot).NAME == "results"
        assert text_of(pilot, "#message") == ""


async def test_the_first_page_waits_for_no_one_and_all_later_ones_do(engine: FakeEngine) -> None:
    engine.show_drives(HDD)
    drawn: list[bool] = []
    app = KaltstartApp(
        engine.port(), when_drawn=lambda: drawn.append((engine.run / "tui/ready").exists())
    )
    async with app.run_test() as pilot:
        await settle(pilot)
        assert [drive.serial for drive in app_of(pilot).snapshot.drives] == [HDD.serial]
        assert drawn == [True]
        await press(pilot, "2", "1")
        engine.say(phase="running")
        await settle(pilot)
        assert drawn == [True]


async def test_the_first_list_waits_for_no_one_either(engine: FakeEngine) -> None:
    engine.show_drives(looking=True)
    drawn: list[str] = []
    app = KaltstartApp(engine.port(), when_drawn=lambda: drawn.append("list"))
    async with app.run_test() as pilot:
        await settle(pilot)
        assert page(pilot).NAME == "drives"
        assert [*engine.run.glob("tui/alive-*")], "a key is heard meanwhile"
        assert drawn == []
        engine.show_drives(HDD, looking=False)
        await settle(pilot)
        assert drawn == [], "nor do the campaigns, which are read behind it"
        app_of(pilot).read()
        await settle(pilot)
        assert drawn == ["list"]


async def test_a_list_that_is_long_in_coming_is_waited_for_no_longer(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_module, "_LIST_AT_MOST_S", 0.1)
    engine.show_drives(looking=True)
    drawn: list[str] = []
    app = KaltstartApp(engine.port(), when_drawn=lambda: drawn.append("page"))
    async with app.run_test() as pilot:
        await settle(pilot)
        assert app_of(pilot).snapshot.looking
        while not drawn:
            await pilot.pause(0.01)
        assert drawn == ["page"]


async def test_what_a_campaign_leads_to_is_drawn_behind_it(engine: FakeEngine) -> None:
    engine.show_drives(looking=True)
    modes: list[str] = []
    app = KaltstartApp(engine.port(), when_drawn=lambda: modes.append(app.current_mode))
    async with app.run_test() as pilot:
        await settle(pilot)
        assert modes == []
        engine.say(phase="running")
        await settle(pilot)
        assert app.current_mode == "run"
        assert modes == ["drives"], "before the page of the campaign is loaded"


async def test_a_list_is_not_waited_for_where_a_campaign_is_at_work(engine: FakeEngine) -> None:
    engine.show_drives(looking=True)
    engine.say(phase="running")
    drawn: list[str] = []
    app = KaltstartApp(engine.port(), when_drawn=lambda: drawn.append("page"))
    async with app.run_test() as pilot:
        await settle(pilot)
        assert drawn == ["page"]


async def test_each_terminal_has_its_own_page(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await press(pilot, "4")
    other = engine.port()
    other._page_state = type(other._page_state)(engine.run, "ttyS0")
    async with KaltstartApp(other).run_test() as pilot:
        await settle(pilot)
        assert page(pilot).NAME == "drives"


async def test_a_campaign_that_runs_does_not_take_it_from_its_page(engine: FakeEngine) -> None:
    campaign_id = engine.add_campaign("rack 4", boots={HDD: []})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "4")
    engine.say(phase="running", message="Campaign", campaign_id=campaign_id)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert page(pilot).NAME == "results"


@pytest.mark.parametrize("text", ["", "[]", '{"page": "nowhere", "crash": ""}', "\x00"])
async def test_what_it_left_behind_may_be_broken(text: str, engine: FakeEngine) -> None:
    (engine.run / "tui/page-tty1.json").write_text(text)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert page(pilot).NAME == "drives"


async def test_a_page_that_cannot_be_drawn_says_so_and_the_others_go_on(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, journal: socket.socket
) -> None:
    monkeypatch.setattr(MachinePage, "show", fail)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "5")
        assert text_of(pilot, "#message").startswith(
            "Internal error on this page: ZeroDivisionError('oh')."
        )
        await press(pilot, "4")
        assert page(pilot).NAME == "results"
        await press(pilot, "5")
        assert "Internal error" in text_of(pilot, "#message")
    assert read_message(journal).endswith("\nZeroDivisionError: oh\n")
    with pytest.raises(BlockingIOError):
        journal.recv(1)  # not again with each snapshot


@pytest.mark.parametrize(("young_s", "back_on"), [(0.0, "results"), (1e9, "drives")])
async def test_a_bug_behind_a_key_ends_it_and_the_next_one_says_why(
    young_s: float,
    back_on: str,
    engine: FakeEngine,
    monkeypatch: pytest.MonkeyPatch,
    journal: socket.socket,
) -> None:
    engine.add_campaign("rack 4", boots={HDD: []})
    monkeypatch.setattr(app_module, "_YOUNG_S", young_s)
    with monkeypatch.context() as patch:
        patch.setattr(ResultsPage, "action_report", fail)
        with pytest.raises(ZeroDivisionError):
            await _press_on_results(engine)
    told = read_message(journal)
    assert told.startswith("Traceback (most recent call last):\n")
    assert 'raise ZeroDivisionError("oh")' in told
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert back_on == page(pilot).NAME
        assert text_of(pilot, "#message") == (
            "Internal error, the interface was restarted: ZeroDivisionError: oh. "
            "The campaign is not affected."
        )
        assert app_of(pilot).snapshot != Snapshot()
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert text_of(pilot, "#message") == "", "it is said once"


def test_a_bug_of_any_length_is_told_by_its_end(journal: socket.socket) -> None:
    journal_module.tell_bug(ValueError("x" * (1 << 20) + "end"))
    assert read_message(journal).endswith("xend\n")


def test_without_a_journal_nothing_is_lost_but_the_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "_JOURNAL", str(tmp_path / "absent"))
    journal_module.tell_bug(ValueError("oh"))


async def test_a_text_is_made_harmless_where_it_is_drawn_and_makes_no_line_of_its_own(
    engine: FakeEngine,
) -> None:
    engine.show_drives(replace(HDD, model="Mod\x1bel\nOffered: yes", mountpoints=("/a\nb",)))
    engine.say(message="\x1b[31m\nall is well")
    [drive] = engine.port().read_snapshot().drives
    assert drive.model == "Mod\x1bel\\x0aOffered: yes"
    async with KaltstartApp(engine.port()).run_test(size=(160, 30)) as pilot:
        await settle(pilot)
        screen = drawn(pilot)
    assert r"Mod\x1bel\x0aOffered: yes" in screen
    assert not [line for line in screen.splitlines() if line.lstrip().startswith("all is well")]


@pytest.mark.parametrize("opened", [(), ("d",), ("f1",)], ids=["page", "details", "help"])
async def test_letters_that_mean_nothing_here_end_nothing(
    engine: FakeEngine, opened: tuple[str, ...]
) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, *opened)
        await press(pilot, *"acefghjklnoqrsvwyz")
        await press(pilot, "escape")
        assert page(pilot).NAME == "drives"


async def test_no_value_has_the_name_of_a_key_s_handler(engine: FakeEngine) -> None:
    """Textual calls `key_NAME` or `_key_NAME` of any node, whatever that is."""
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        for digit in "12345":
            await press(pilot, digit)
            for node in (pilot.app, *pilot.app.screen.walk_children(with_self=True)):
                names = [name for name in vars(node) if name.startswith(("key_", "_key_"))]
                assert not names, f"{node}: {names}"


@pytest.mark.parametrize("keys", ["1", "3", "4", "2 n", "5 f1", "1 d"])
async def test_a_terminal_that_says_it_has_no_size_is_drawn_once_it_has_one(
    engine: FakeEngine, keys: str
) -> None:
    engine.show_machine()
    engine.add_campaign("incoming", state="paused", boots={HDD: [106.2]})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, *keys.split())
        for size in ((0, 0), (2, 3), (80, 0), (100, 30)):
            await pilot.resize_terminal(*size)
            app_of(pilot)._check_resize()  # what Textual does 1/120 s later
            await settle(pilot)
            await press(pilot, "down", "up")
        assert [len(line) for line in drawn(pilot).splitlines()] == [100] * 30
        assert "Internal error" not in drawn(pilot)
        # Also of the first page below a box.
        assert page(pilot).size == (100, 30)
