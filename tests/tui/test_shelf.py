# SPDX-License-Identifier: Apache-2.0
"""Many drives on the page Run: their lines, their order, what is done about one of them."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.style import Style as RichStyle
from rich.text import Text
from textual.coordinate import Coordinate
from textual.style import Style
from textual.widgets import DataTable

from appliance.store.tables.verdicts import Depth, Verdict
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD
from tests.tui.scenes import SCENES, play
from tests.tui.shelf_scenes import (
    add_shelf,
    make_drives,
    name_device,
    reject_one,
    reject_some,
    run_shelf,
    run_shelf_alone,
)
from tests.tui.steps import drawn, finish, page, press, settle, text_of
from tui.app import KaltstartApp
from tui.charset import ALLOWED, BLOCK, ENDS
from tui.language import use
from tui.roles import GOOD, WARNING
from tui.run.judged import _WORDS
from tui.run.shelf import ORDERS, ShelfLine, describe_line, lay_out, list_shelf
from tui.widgets.big_words import draw_words
from tui.widgets.line import Line
from tui.widgets.table import Table


def lines_of(screen: str) -> list[str]:
    lines = [line.strip("│ ") for line in screen.splitlines()]
    return [line for line in lines if line.startswith("bay ")]


async def test_each_drive_has_a_line_with_all_there_is_to_say(engine: FakeEngine) -> None:
    SCENES["run-shelf"].prepare(engine)
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await play("run-shelf", pilot, engine)
        assert page(pilot).NAME == "run"
        lines = lines_of(drawn(pilot))
        assert len(lines) == 12
        assert lines[0].split() == [
            *("bay", "1", "VK010000", "surface", "2/2", "20", "%"),
            *("188.7", "34", "11", "h", "05", "running"),
        ]
        assert lines[2].split()[-2:] == ["×", "FAILED"]
        assert lines[4].split()[-1] == "paused"
        assert lines[6].split()[-3:] == ["!", "no", "answer"]
        assert lines[8].split()[-5:] == ["1", "d", "8", "h", "running"]


async def test_sixty_drives_are_scrolled_and_sorted_and_the_cursor_keeps_its_drive(
    engine: FakeEngine,
) -> None:
    SCENES["run-shelf-sorted"].prepare(engine)
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, "end")
        assert "bay 60 " in drawn(pilot)
        assert "bay 1 " not in drawn(pilot)
        await press(pilot, "home", "down", "down", "o")
        table = pilot.app.screen.query_one(Table)
        assert table.cursor_row == 2, "by bay that is the same order"
        await press(pilot, "o")
        assert "sort: state" in text_of(pilot, "#keys")
        assert table.cursor_row == 0, "the failed drive comes first, and the cursor with it"
        assert "FAILED" in lines_of(drawn(pilot))[0]
        await press(pilot, "O", "O")
        assert table.cursor_row == 2


async def test_a_reading_draws_only_the_lines_that_have_changed(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    SCENES["run-shelf-sorted"].prepare(engine)
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        for number in range(60):
            engine.count(name_device(number), read_bytes=0, read_ios=0)
        await settle(pilot)
        updated: list[object] = []
        update = DataTable.update_cell_at

        def note(table: Table, place: Coordinate, cell: Text) -> None:
            updated.append(place)
            update(table, place, cell)

        monkeypatch.setattr(DataTable, "update_cell_at", note)
        monkeypatch.setattr(DataTable, "clear", lambda *_, **__: pytest.fail("drawn again"))
        engine.clock_s += 2.0
        for number in (0, 7):
            engine.count(name_device(number), read_bytes=400 << 20, read_ios=400)
        await settle(pilot)
        # All have a rate now, which of the others is 0.
        assert len(updated) == 57
        updated.clear()
        engine.add_event("campaign-resumed")
        await settle(pilot)
        assert updated == []


async def test_of_a_drive_with_two_paths_the_rate_is_of_the_one_at_work(
    engine: FakeEngine,
) -> None:
    run_shelf(engine)
    drives = make_drives(12)
    engine.show_drives(*drives, replace(drives[0], path="/dev/sdzz"), looking=False)
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        for name in (name_device(0), "sdzz"):
            engine.count(name, read_bytes=0, read_ios=0)
        await settle(pilot)
        engine.clock_s += 2.0
        engine.count(name_device(0), read_bytes=400 << 20, read_ios=400)
        await settle(pilot)
        (line,) = [each for each in drawn(pilot).splitlines() if "bay 1 " in each]
        assert "209.7" in line


def test_drives_of_the_same_serial_number_have_each_its_own_rate(engine: FakeEngine) -> None:
    """The plan has them by their WWNs, by which their temperatures are known, too."""
    run_shelf_alone(engine)
    drives = make_drives(12)
    for number in (0, 1):
        wwn = f"0x500000000000000{number}"
        drives[number] = replace(drives[number], serial="TWIN", wwn=wwn)
        engine.connection.execute(
            "UPDATE drive SET serial = 'TWIN', wwn = ? WHERE id = ?", (wwn, number + 1)
        )
    engine.add_step(1, "surface", drives[1], state="planned")
    engine.show_drives(*drives, looking=False)
    engine.say(phase="running", campaign_id=1, temperatures={"0x5000000000000001": 41.0})
    port = engine.port()
    for number in (0, 1):
        engine.count(name_device(number), read_bytes=0, read_ios=0)
    port.read_snapshot()
    engine.clock_s += 2.0
    for number in (0, 1):
        engine.count(name_device(number), read_bytes=(number + 1) * 200 << 20, read_ios=400)
    snapshot = port.read_snapshot()
    lines = list_shelf(snapshot.campaigns[0], snapshot, ORDERS[0])
    assert [line.rate and line.rate.read_bytes_s for line in lines[:3]] == [
        100 << 20, 200 << 20, None
    ]  # fmt: skip
    assert [line.celsius for line in lines[:2]] == [None, 41.0]
    assert [line.left is None for line in lines[:2]] == [True, False]
    assert [line.identity for line in lines[:2]] == ["0x5000000000000000", "0x5000000000000001"]


@pytest.mark.parametrize(
    ("steps", "kind", "more"),
    [
        (("enter", "tab", "enter"), "pause-drive", {"at_once": False}),
        (("enter", "tab", "tab", "enter"), "pause-drive", {"at_once": True}),
        (("down", "down", "down", "down", "enter", "tab", "enter"), "resume-drive", {}),
    ],
)
async def test_one_drive_is_paused_stopped_and_resumed_from_its_line(
    engine: FakeEngine, steps: tuple[str, ...], kind: str, more: dict[str, object]
) -> None:
    run_shelf(engine)
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, *steps)
        await finish(pilot, "read")
        asked = engine.requests()
        assert [request.kind for request in asked] == [kind]
        drive_id = 5 if kind == "resume-drive" else 1
        assert asked[0].read_payload() == {"campaign_id": 1, "drive_id": drive_id, **more}


async def test_the_step_of_the_drive_under_the_cursor_is_skipped(engine: FakeEngine) -> None:
    run_shelf(engine)
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, "down", "k", "tab", "enter")
        await finish(pilot, "read")
        assert [request.read_payload() for request in engine.requests()] == [
            {"campaign_id": 1, "step_id": 14}
        ]
        await press(pilot, "down", "k")
        assert "no step to skip now" in text_of(pilot, "#message")


async def test_all_are_stopped_and_paused_as_ever(engine: FakeEngine) -> None:
    run_shelf(engine)
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert "s stop all  h pause all  k skip step" in text_of(pilot, "#keys")
        await press(pilot, "s", "h")
        await finish(pilot, "read")
        assert [request.kind for request in engine.requests()] == ["stop", "pause"]


async def test_the_details_follow_the_drive(engine: FakeEngine) -> None:
    run_shelf(engine)
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, "down", "down", "enter")
        assert "1  selftest failed: the drive says that it has failed" in drawn(pilot)
        engine.connection.execute("UPDATE step SET state = 'skipped' WHERE id = 15")
        await settle(pilot)
        pilot.app.screen.follow()  # type: ignore[attr-defined] # as its timer does
        await pilot.pause()
        assert "2  surface  skipped" in drawn(pilot)


@pytest.mark.parametrize("count", [1, 2])
async def test_one_or_two_drives_are_shown_as_ever(engine: FakeEngine, count: int) -> None:
    drives = add_shelf(engine, count)
    engine.add_step(1, "surface", drives[0], state="running")
    engine.say(phase="running", campaign_id=1)
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert "Role" in text_of(pilot, "#drives")
        assert "sort" not in text_of(pilot, "#keys")
        assert not pilot.app.screen.query_one("Shelf").display


def judge(engine: FakeEngine, *verdicts: tuple[Verdict, Depth]) -> None:
    drives = add_shelf(engine, len(verdicts), state="done")
    for drive, (verdict, depth) in zip(drives, verdicts, strict=True):
        engine.add_step(1, "surface", drive)
        engine.judge(1, drive, verdict, "", depth=depth)
    engine.say()


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_how_many_are_accepted_is_said_in_large_letters(
    engine: FakeEngine, size: tuple[int, int]
) -> None:
    good: tuple[Verdict, Depth] = ("accept", "surface read")
    judge(engine, good, good, good, ("reject", "surface read"))
    async with KaltstartApp(engine.port()).run_test(size=size) as pilot:
        await settle(pilot)
        await press(pilot, "3")
        rejected = "\n".join(map(str.rstrip, text_of(pilot, "#rejected").splitlines()))
        assert rejected == draw_words("× 1 REJECT", width=size[0] - 4)
        # On a small screen the drives themselves need the room.
        large = draw_words("+ 3 ACCEPT", width=size[0] - 4) if size[1] > 24 else ""
        assert text_of(pilot, "#accepted") == large
        assert ("+ 3 ACCEPT" in text_of(pilot, "#judged")) == (not large)
        assert not pilot.app.screen.query_one("#accepted").has_class("clean")
        screen = drawn(pilot)
        assert screen.count("█") > 60
        assert set(screen) <= ALLOWED | {"\n"}
        assert "REJECT" in lines_of(screen)[0], "what is to be taken out comes first"


async def test_a_wholly_accepted_shelf_looks_different(engine: FakeEngine) -> None:
    judged: tuple[Verdict, Depth] = ("accept", "written and read back")
    judge(engine, *[judged] * 4)
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, "3")
        assert text_of(pilot, "#rejected") == ""
        assert pilot.app.screen.query_one("#accepted").has_class("clean")
        assert drawn(pilot).splitlines()[2].strip().startswith("┌─")


@pytest.mark.parametrize("verdict", ["accept", "accept with remarks"])
async def test_a_quick_look_has_nothing_of_a_full_acceptance(
    engine: FakeEngine, verdict: Verdict
) -> None:
    judged: tuple[Verdict, Depth] = (verdict, "quick look")
    judge(engine, *[judged] * 4)
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, "3")
        assert text_of(pilot, "#accepted") == draw_words("¼ 4 QUICK LOOK", width=76)
        assert not pilot.app.screen.query_one("#accepted").has_class("clean")
        assert "a part of the drive was never read" in text_of(pilot, "#judged")
        has_remarks = verdict != "accept"
        assert ("!: 4 of them with remarks" in text_of(pilot, "#judged")) == has_remarks
        assert "+" not in drawn(pilot)
        assert "ACCEPT" not in drawn(pilot).upper()


async def test_of_two_drives_the_rejected_one_is_named(engine: FakeEngine) -> None:
    reject_one(engine)
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, "3")
        lines = [line.strip("│ ").split() for line in drawn(pilot).splitlines()]
        assert ["+", "VK010000", "bay", "1", "target", "2/2", "-", "accept"] in lines
        assert ["×", "VK017919", "bay", "2", "target", "1/1", "-", "REJECT"] in lines
        engine.connection.execute("UPDATE campaign SET state = 'paused'")
        await settle(pilot)
        assert "REJECT" not in drawn(pilot), "it may be judged again"


async def test_what_has_no_verdict_is_counted_and_keeps_the_frame_away(engine: FakeEngine) -> None:
    reject_some(engine)
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, "3")
        assert text_of(pilot, "#judged") == "! 1 REMARKS; + 11 ACCEPT; 1 not judged"
        assert "bay 12" in drawn(pilot), "the rejected one"


@pytest.mark.parametrize("say", [lambda: use("en"), lambda: use("de")], ids=["en", "de"])
def test_the_words_can_be_drawn_in_each_language(say: Callable[[], object]) -> None:
    from tui.language import _  # noqa: PLC0415  # as it is by then

    say()
    try:
        for sign, word in _WORDS.items():
            drawing = draw_words(f"{sign} 60 {_(word)}", width=76)
            assert len(drawing.splitlines()) == 5
            assert max(map(len, drawing.splitlines())) <= 76
    finally:
        use("en")


def test_the_serials_of_the_scene_are_no_two_alike() -> None:
    assert len({drive.serial for drive in make_drives(60)}) == 60
    assert HDD.serial not in {drive.serial for drive in make_drives(60)}


async def test_a_wide_screen_shows_models_and_how_far_each_drive_is_as_a_bar(
    engine: FakeEngine,
) -> None:
    SCENES["run-shelf"].prepare(engine)
    async with KaltstartApp(engine.port()).run_test(size=(160, 50)) as pilot:
        await play("run-shelf", pilot, engine)
        lines = lines_of(drawn(pilot))
        assert "HGST HUS728T8TAL5204 surface" in lines[1]
        bars = [sum(character in BLOCK + "".join(ENDS) for character in line) for line in lines]
        assert bars[10] > bars[1] > 0, "31 and 21 %"
        assert bars[2] == 0, "nothing is known of one that has failed"


def test_places_that_are_cut_can_be_told_apart() -> None:
    lines = [
        ShelfLine(
            slot=number,
            drive_id=number,
            identity=f"WD-WX41A551{number}",
            bay=f"PCI 0000:00:1f.2 (ahci), ATA port {number}",
            model="",
            step="surface",
            place="2/2",
            share=None,
            rate=None,
            celsius=None,
            left=None,
            state="running",
        )
        for number in (1, 2)
    ]
    for width, cut in ((120, "{}, PCI 0000:00~"), (76, "{}~")):
        layout = lay_out(lines, width)
        assert [describe_line(line, layout).split(" WD")[0] for line in lines] == [
            cut.format("ATA port 1"),
            cut.format("ATA port 2"),
        ]


async def test_each_outcome_has_its_colour_in_large_letters(engine: FakeEngine) -> None:
    reject_some(engine)
    async with KaltstartApp(engine.port()).run_test(size=(160, 50)) as pilot:
        await settle(pilot)
        await press(pilot, "3")
        shown = pilot.app.screen.query_one("#accepted", Line).render()
        colours = [Style.from_rich_style(RichStyle.parse(each)) for each in (WARNING, GOOD)]
        assert [span.style for span in shown.spans] == colours


def test_a_temperature_is_no_other_drives_of_the_same_serial_number(engine: FakeEngine) -> None:
    run_shelf(engine)
    serials = [drive.serial for drive in make_drives(2)]
    engine.connection.execute(
        "UPDATE drive SET serial = ?, wwn = '0x1' WHERE serial = ?", (serials[0], serials[1])
    )
    snapshot = engine.port().read_snapshot()
    assert snapshot.status is not None
    told = dict(snapshot.status.temperatures)
    lines = list_shelf(snapshot.campaigns[0], snapshot, ORDERS[0])
    assert lines[0].celsius == told[serials[0]]
    assert (lines[1].identity, lines[1].celsius) == ("0x1", None)
