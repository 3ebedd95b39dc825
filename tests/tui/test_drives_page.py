# SPDX-License-Identifier: Apache-2.0
from dataclasses import asdict, replace

from textual.content import Content

from appliance.drives.facts.unlisted import UnlistedDrive
from tests.tui.drive_answers import (
    ANSWERED,
    ASKING,
    DISK_DETAILS,
    DISK_HEALTH,
    SILENT,
    DriveAnswers,
)
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import EVIL, HDD, HOSTILE, NO_SERIAL, SSHD, STICK, VALID_PLAN
from tests.tui.scene_states import FOREIGN, OURS, show_left_behind
from tests.tui.steps import drawn, finish, press, settle, text_of
from tui.app import KaltstartApp
from tui.charset import ALLOWED
from tui.drives.texts import fit_lines, shorten_lines
from tui.run.page import RunPage
from tui.widgets.dialog import Ask
from tui.widgets.table import Table


async def test_the_table_says_which_drives_are_offered_and_the_details_why_not(
    engine: FakeEngine,
) -> None:
    async with KaltstartApp(engine.port()).run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        assert "Offered: yes" in text_of(pilot, "#details")
        await press(pilot, "end")
        assert "Offered: NO, this is the Kaltstart stick itself" in text_of(pilot, "#details")
        assert "WD-WX41A47H2291" in drawn(pilot)


async def test_the_table_follows_the_drives_and_keeps_the_cursor(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "down")
        assert text_of(pilot, "#details").startswith("sdb:")
        engine.show_drives(SSHD, STICK)
        await settle(pilot)
        assert pilot.app.screen.query_one(Table).row_count == 2
        assert text_of(pilot, "#details").startswith("sdb:")
        engine.show_drives()
        await settle(pilot)
        assert text_of(pilot, "#details") == "No drive was found."


async def test_a_list_that_is_not_complete_never_says_that_there_is_no_drive(
    engine: FakeEngine,
) -> None:
    (engine.run / "drives.json").unlink()
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert "Still looking for drives" in drawn(pilot)
        assert "No drive was found" not in drawn(pilot)
        engine.show_drives(looking=True)
        await settle(pilot)
        assert "Still looking for drives" in drawn(pilot)
        assert "No drive was found" not in drawn(pilot)
        engine.show_drives(HDD, looking=True)
        await settle(pilot)
        assert "Still looking for drives" in drawn(pilot)
        assert HDD.serial in drawn(pilot)
        engine.show_drives(HDD, looking=False)
        await settle(pilot)
        assert "Still looking" not in drawn(pilot)
        engine.show_drives(looking=False)
        await settle(pilot)
        assert "No drive was found." in drawn(pilot)


async def test_what_cannot_be_listed_stands_below_the_list(engine: FakeEngine) -> None:
    hidden = UnlistedDrive("PCI 0000:00:17.0 (ahci)", "2 NVMe drives\x1b[1m", "set it to AHCI")
    engine.show_drives(HDD, looking=False, unlisted=[asdict(hidden)])
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        said = text_of(pilot, "#unlisted")
        assert "Not in the list: PCI 0000:00:17.0 (ahci): 2 NVMe drives" in said
        assert "What to do: set it to AHCI." in " ".join(said.split())
        assert f"Serial {HDD.serial}" in text_of(pilot, "#details")
        engine.show_drives(HDD, looking=False)
        await settle(pilot)
        assert "Not in the list" not in drawn(pilot)


async def test_the_cursor_stays_on_its_drive_when_another_takes_its_name(
    engine: FakeEngine,
) -> None:
    engine.show_drives(HDD, SSHD)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "down")
        assert f"Serial {SSHD.serial}" in text_of(pilot, "#details")
        renamed = replace(SSHD, path="/dev/sda")
        engine.show_drives(NO_SERIAL, renamed, replace(HDD, path="/dev/sdb"))
        await settle(pilot)
        assert text_of(pilot, "#details").startswith("sda:")
        assert f"Serial {SSHD.serial}" in text_of(pilot, "#details")
        engine.show_drives(NO_SERIAL, replace(HDD, path="/dev/sda"))
        await settle(pilot)
        assert pilot.app.screen.query_one(Table).cursor_row == 1, "it is gone: the cursor waits"


async def test_a_drive_that_is_still_asked_and_one_that_hangs_say_so(engine: FakeEngine) -> None:
    engine.show_drives(HDD, SSHD, STICK, asked={HDD: ASKING, SSHD: SILENT, STICK: ASKING})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        rows = [row.strip(" │").split() for row in drawn(pilot).splitlines()[4:10:2]]
        assert [row[-2:] for row in rows[:2]] == [["-", "yes"]] * 2
        assert "» asking" in " ".join(rows[0])
        assert "× not answering" in " ".join(rows[1])
        assert rows[2][-1] == "NO"
        assert "Details: asking the drive ..." in text_of(pilot, "#details")
        await press(pilot, "down")
        assert f"! NOT ANSWERING: {SILENT.answer_reason}" in text_of(pilot, "#details")
        engine.show_drives(HDD, SSHD, STICK, asked={HDD: ANSWERED, SSHD: ANSWERED})
        await settle(pilot)
        assert text_of(pilot, "#details").startswith("sdb:")
        assert "NOT ANSWERING" not in drawn(pilot)


async def test_everything_known_of_a_drive_is_told_what_matters_first(engine: FakeEngine) -> None:
    engine.show_drives(HDD, asked={HDD: ANSWERED})
    async with KaltstartApp(engine.port()).run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        row = " ".join(line.partition("│")[2] for line in drawn(pilot).splitlines()[4:6])
        for told in ("! check", "38 °C", "1.5 Gb/s", "ntfs, ext4", "yes"):
            assert told in row
        lines = text_of(pilot, "#details").splitlines()
        assert lines[2] == "Offered: yes"
        assert lines[3] == (
            "! the link runs at 1.5 Gb/s where both ends could do 6.0 Gb/s: check cable and port"
        )
        assert lines[4:] == [
            "Health: passed, 38 °C (limit 60 °C)",
            "  reallocated sectors         0",
            "  pending sectors             8",
            "  crc errors              1,203",
            "  power on hours         12,345",
            "  power cycles              678",
            "  host write           37.5 TiB",
            "! In doubt: percentage used 255 %: 255 stands for a value that is not known",
            (
                "500,107,862,016 bytes (500 GB), sectors 512e (512/4096), disk, 5,400 rpm, "
                "2.5 inches, sata"
            ),
            "link 1.5 Gb/s (at most 6.0 Gb/s)",
            "write cache on, TRIM no, security frozen",
            "On it: table gpt; file systems ntfs, ext4; partitions SYSTEM, Daten",
        ]


async def test_what_does_not_fit_is_counted_and_shown_with_d(engine: FakeEngine) -> None:
    findings = tuple(f"finding {number} of a drive that has a lot" for number in range(1, 21))
    asked = DriveAnswers(details=replace(DISK_DETAILS, findings=findings), health=DISK_HEALTH)
    many = [replace(SSHD, path=f"/dev/sd{letter}", serial=letter) for letter in "bcdefghijk"]
    engine.show_drives(HDD, *many, asked={HDD: asked})
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        lines = text_of(pilot, "#details").splitlines()
        assert len(lines) == 5
        assert pilot.app.screen.query_one(Table).size.height == 10, "a line for each drive"
        assert lines[-1].startswith("... ")
        assert lines[-1].endswith(" more lines: press d")
        await press(pilot, "d")
        assert isinstance(pilot.app.screen, Ask)
        assert "finding 8 of" in drawn(pilot)
        assert "On it: table gpt" not in drawn(pilot)
        await press(pilot, "pagedown", "pagedown")
        assert "On it: table gpt" in drawn(pilot)
        await press(pilot, "escape")
        assert not isinstance(pilot.app.screen, Ask)


def test_lines_are_counted_as_they_are_drawn() -> None:
    """A word with hyphens stays whole: serial numbers and models have them."""
    line = "aaaa bb-cccc dddd; JMicron JMS-578-A1 (WD-WX41-A12) link 1.5 Gb/s"
    for width in range(12, len(line) + 2):
        count = Content(line).get_height({}, width)
        assert fit_lines([line], width, count) == line
        assert fit_lines([line], width, count - 1) is None
        # The last line that is shown says how many are not.
        shown = shorten_lines([line, "x"], width, count).splitlines()
        assert shown[-1] == "... 2 more lines: press d"


async def test_a_failing_drive_is_marked_and_one_that_could_not_be_asked_says_why(
    engine: FakeEngine,
) -> None:
    failing = DriveAnswers(details=None, health=replace(DISK_HEALTH, passed=False))
    nothing = replace(DISK_HEALTH, passed=None, counters=(), temperature_celsius=None)
    broken = DriveAnswers(
        "failed", "smartctl ended with 2", None, replace(nothing, reason="no answer")
    )
    engine.show_drives(HDD, SSHD, asked={HDD: failing, SSHD: broken})
    async with KaltstartApp(engine.port()).run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        assert "! Health: FAILING, 38 °C" in text_of(pilot, "#details")
        await press(pilot, "down")
        details = text_of(pilot, "#details")
        assert "! It could not be queried: smartctl ended with 2" in details
        assert "\nHealth: no answer" in details
        assert "× FAILING" in drawn(pilot)
        assert "! check" in drawn(pilot)


async def test_hostile_details_are_shown_escaped(engine: FakeEngine) -> None:
    details = replace(
        DISK_DETAILS,
        form_factor=HOSTILE,
        link_now=HOSTILE,
        link_max=HOSTILE,
        zoned=HOSTILE,
        hybrid=HOSTILE,
        partition_table=HOSTILE,
        file_systems=(HOSTILE,),
        findings=(HOSTILE,),
    )
    asked = DriveAnswers("answered", HOSTILE, details, DISK_HEALTH)
    engine.show_drives(EVIL, asked={EVIL: asked})
    async with KaltstartApp(engine.port()).run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        screen = drawn(pilot)
        assert "hybrid: EVIL" in screen
        assert not set(screen) - ALLOWED - {"\n"}
        await press(pilot, "d")
        assert not set(drawn(pilot)) - ALLOWED - {"\n"}


async def test_the_cursor_is_as_wide_as_the_table_after_that_became_wider(
    engine: FakeEngine,
) -> None:
    show_left_behind(engine)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        table = pilot.app.screen.query_one(Table)
        width = table.size.width
        table.refresh()  # the table keeps the lines it draws now, in this width
        await pilot.pause()
        await pilot.resize_terminal(90, 24)
        while table.size.width == width:
            await pilot.pause()
        await settle(pilot)
        line = pilot.app.screen._compositor.render_strips()[
            table.content_region.y + table.header_height
        ]
        bar = [segment for segment in line if segment.style and segment.style.reverse]
        assert sum(segment.cell_length for segment in bar) == table.content_size.width


async def test_hostile_texts_are_shown_escaped_and_never_as_markup(engine: FakeEngine) -> None:
    engine.show_drives(EVIL, HDD)
    async with KaltstartApp(engine.port()).run_test(size=(80, 30)) as pilot:
        await settle(pilot)
        screen = drawn(pilot)
        assert "[red]Mod\\x1bel[/red]" in screen
        assert 'EVIL"/\\ \\x1b[31m\\x07\\x202e[b]\\u4e2d' in screen
        assert not set(screen) - ALLOWED - {"\n"}


async def test_an_array_left_behind_is_dismantled_after_a_question(engine: FakeEngine) -> None:
    show_left_behind(engine)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert f"Array: {OURS['explanation']}" in text_of(pilot, "#details")
        assert "t dismantle" in text_of(pilot, "#keys")
        await press(pilot, "t", "enter")
        await finish(pilot, "flow")
        assert engine.requests() == [], "the focus is on Cancel"
        await press(pilot, "tab", "enter")
        assert isinstance(pilot.app.screen, Ask)
        question = drawn(pilot)
        assert f"backing  {HDD.serial}" in question
        assert f"cache    {NO_SERIAL.wwn}" in question
        await press(pilot, "right", "enter")
        await finish(pilot, "flow")
        (request,) = engine.requests()
        assert (request.kind, request.read_payload()) == (
            "take-apart",
            {"set_uuid": OURS["set_uuid"]},
        )
        engine.answer("accepted", "dismantling the array")
        await settle(pilot)
        assert text_of(pilot, "#message") == "Dismantling accepted: dismantling the array"


async def test_how_taking_apart_ended_is_told(engine: FakeEngine) -> None:
    show_left_behind(engine)
    step = {"position": 1, "of": 1, "kind": "array", "device": "array", "part": ""}
    engine.say(
        phase="running",
        message="Dismantling the array",
        step=step | {"part_number": 0, "parts": 0},
        progress={"label": "detaching the cache", "done_bytes": 0, "total_bytes": 0},
    )
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert isinstance(pilot.app.screen, RunPage)
        assert text_of(pilot, "#now") == "The array is dismantled\ndetaching the cache ..."
        engine.say(message="The array cannot be dismantled: sda: write error")
        await settle(pilot)
        assert text_of(pilot, "#message") == "The array cannot be dismantled: sda: write error"


async def test_half_an_array_says_which_drive_is_missing(engine: FakeEngine) -> None:
    engine.show_drives(HDD, arrays={HDD: OURS})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "t")
        assert "cache    NOT FOUND in this machine" in drawn(pilot)
        assert "Only the drive that is here" in drawn(pilot)


async def test_a_foreign_array_is_explained_and_left_alone(engine: FakeEngine) -> None:
    engine.show_drives(SSHD, arrays={SSHD: FOREIGN})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert "that was not made here" in text_of(pilot, "#details")
        assert "dismantle" not in text_of(pilot, "#keys")
        assert not pilot.app.screen.query_one("#dismantle").display
        await press(pilot, "t")
        assert text_of(pilot, "#message").startswith("Kaltstart did not make this array")
        assert engine.requests() == []


async def test_nothing_is_dismantled_in_a_campaign_or_without_an_array(
    engine: FakeEngine,
) -> None:
    engine.show_drives(SSHD, HDD, arrays={HDD: OURS})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "t")
        assert text_of(pilot, "#message") == "This drive is in no array."
        engine.say(phase="running", message="Campaign")
        await settle(pilot)
        await press(pilot, "1", "down", "t")
        assert text_of(pilot, "#message") == "A campaign is running: stop it first (page 3, s)."
        assert not pilot.app.screen.query_one("#dismantle").display
        engine.say(phase="refused")
        await settle(pilot)
        await press(pilot, "t")
        assert text_of(pilot, "#message") == "Nothing can be done now: see above."
        assert engine.requests() == []


async def test_a_release_says_that_a_drive_is_in_an_array(engine: FakeEngine) -> None:
    engine.show_drives(SSHD, arrays={SSHD: FOREIGN})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "2", "n", "space", "shift+tab", "enter")
        await finish(pilot, "check")
        assert "Array       cache drive of a bcache array" in drawn(pilot)


async def test_the_light_of_the_drive_under_the_cursor_blinks(engine: FakeEngine) -> None:
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "down", "b")
        await finish(pilot, "flow")
        (request,) = engine.requests()
        assert request.kind == "locate"
        assert request.read_payload() == {"device": "sdb", "identity": SSHD.serial}


async def test_where_a_drive_is_plugged_in_is_told(engine: FakeEngine) -> None:
    where = "slot 12, PCI 0000:03:00.0 (mpt3sas), SCSI 0:3:0"
    engine.show_drives(
        HDD, asked={HDD: DriveAnswers(details=replace(DISK_DETAILS, location=where))}
    )
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert f"Location: {where}" in text_of(pilot, "#details")


async def test_without_a_drive_to_test_no_key_says_that_it_inspects_one(
    engine: FakeEngine,
) -> None:
    engine.show_drives(STICK, looking=False)
    engine.say()
    async with KaltstartApp(engine.port()).run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "! No drive can be tested: plug one in" in text_of(pilot, "#next")
        assert "inspect" not in drawn(pilot)
        engine.show_drives(STICK, HDD, looking=False)
        await settle(pilot)
        assert "+ Ready." in text_of(pilot, "#next")
        assert "Enter inspect all" in text_of(pilot, "#keys")


async def test_the_panel_names_the_same_key_for_the_inspection_as_the_last_line(
    engine: FakeEngine,
) -> None:
    engine.say(plan=VALID_PLAN)
    async with KaltstartApp(engine.port()).run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "i inspect all" in text_of(pilot, "#keys")
        lines = text_of(pilot, "#next").splitlines()
        assert [line.split()[0] for line in lines if "inspect all drives" in line] == ["i"]
