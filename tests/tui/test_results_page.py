# SPDX-License-Identifier: Apache-2.0
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.drives.model import Drive
from appliance.store.tables.steps import insert_results, update_step_ended
from appliance.store.tables.verdicts import upsert_judging, upsert_judging_problem
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD, SSHD
from tests.tui.measured import FIO, SQL, add_array_steps, add_field_test, add_steps, scaled
from tests.tui.shelf_scenes import reject_one
from tests.tui.steps import drawn, finish, press, settle, shown, text_of
from tui.app import KaltstartApp
from tui.charset import drawable
from tui.figures.side_ratios import Comparison
from tui.model.campaigns import Campaign, Figure, Step
from tui.results import page as results_module
from tui.results.compare import list_measured
from tui.results.page import describe_steps

BOOTS = (
    "Boot s: minimum, quartiles, median, maximum\n"
    "WD-WX41A47H2291                                                   │┤  105.00\n"
    "W761CPRN         ▐│██████████▌────────┤                                28.00\n"
    "                 27.00                                        106.00\n\n"
    "Boot s by cycle: WD-WX41A47H2291        Boot s by cycle: W761CPRN\n"
    "120┤▄▄▄   ▄▄▄▄▄▄                        60┤▁▁▁         ███\n"
    "   │███   ██████                          │███         ███\n"
    "   │███   ██████                          │███▇▇▇▇▇▇▆▆▆███\n"
    "  0┤███···██████···                      0┤███████████████\n"
    "    #1           #5                        #1           #5"
)
SIDE_BY_SIDE = """\
sql side by side, shorter is better
 total
  WD-WX41A47H2291  ███████████████████▌                     231.4 s  partial
  W761CPRN         ███████████████████████████████████████  462.9 s  partial

fio side by side
 rand-read
  WD-WX41A47H2291  ███████████████████████████████   149 IOPS  cold unproven
  W761CPRN         ███████████████▌                 74.7 IOPS  cold unproven"""


async def test_the_boots_of_the_chosen_campaign_are_tabled_and_drawn(engine: FakeEngine) -> None:
    engine.add_campaign("old", state="done", cycles=1, boots={HDD: [99.5]})
    engine.add_campaign("new", boots={HDD: [106.2, 106.1, None], SSHD: [46.0, 28.0]})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "4")
        lines = text_of(pilot, "#results").splitlines()
        assert lines[0].split() == ["Seconds", "#1", "#2", "#3"]
        assert ["W761CPRN", "46.00", "28.00", "-"] in [line.split() for line in lines]
        assert [HDD.serial, "106.20", "106.10", "FAILED"] in [line.split() for line in lines]
        assert ["W761CPRN", "37.00", "28.00", "1.64", "2", "0"] in [line.split() for line in lines]
        begin = next(
            n for n, line in enumerate(lines) if line.startswith(f"{HDD.serial}  {HDD.model}")
        )
        bars = [line.count("█") for line in lines[begin:] if "█" in line]
        assert bars[0] == max(bars)
        assert bars[3] < bars[2] < bars[1]
        assert any("FAILED  did not come back within 3 attempts" in line for line in lines)
        await press(pilot, "down")
        assert "99.50" in text_of(pilot, "#results")


def test_of_twins_each_has_its_own_boots(engine: FakeEngine) -> None:
    """They have the same serial number, and are in the plan by their WWNs."""
    twins = [replace(HDD, wwn=f"0x500000000000000{number}") for number in (1, 2)]
    engine.add_campaign(
        "twins", state="done", boots={twins[0]: [20.0, 21.0, 22.0], twins[1]: [8.0, 9.0, 7.0]}
    )
    engine.say()
    (campaign,) = engine.port().read_snapshot().campaigns
    assert [drive.times_s for drive in campaign.drives] == [(20.0, 21.0, 22.0), (8.0, 9.0, 7.0)]


def test_of_twins_each_is_called_by_its_wwn(engine: FakeEngine) -> None:
    """The same name is that of its steps, its verdict, its raw output, and what is compared."""
    twins = [replace(HDD, wwn=f"0x500000000000000{number}") for number in (1, 2)]
    wwns = [drive.wwn for drive in twins]
    times: dict[Drive, list[float | None]] = {twins[0]: [20.0], twins[1]: [8.0]}
    number = engine.add_campaign("twins", state="done", cycles=1, boots=times)
    for drive in twins:
        engine.judge(number, drive, "accept", "", depth="surface read", read_percent=100.0)
    engine.say()
    (campaign,) = engine.port().read_snapshot().campaigns
    assert [drive.booted for drive in campaign.drives] == wwns
    assert list_measured(campaign) == wwns
    text = results_module.describe_verdicts(campaign, 80)
    assert all(f"{wwn}  accept" in text for wwn in wwns)
    comparison = engine.port().read_comparison((number, wwns[0]), (number, wwns[1]))
    assert comparison != Comparison((), ())
    assert [each.owner for each in engine.port().list_raw(number)][:2] == [
        f"boot 1, {wwn}" for wwn in wwns
    ]


async def test_each_drive_has_its_verdict_with_reasons_and_its_field_tests(
    engine: FakeEngine,
) -> None:
    campaign_id = add_field_test(engine)
    async with KaltstartApp(engine.port()).run_test(size=(120, 50)) as pilot:
        await settle(pilot)
        await press(pilot, "4")
        await finish(pilot, "flow")
        results = text_of(pilot, "#results")
        verdicts, steps = results.split("\n\n")
        assert verdicts.splitlines() == [
            "Verdicts",
            "  × W761CPRN              REJECT, surface read",
            "    verify: 8,192 bytes came back wrong after a power-off, 0 allowed",
            "    surface: 4,096 unreadable bytes, 0 allowed",
            "  ! WD-WX41A47H2291       accept with remarks, surface read",
            "    crc_errors: 1203, more than 100",
            "  + eui.0025385b71b0a1c2  accept, surface read",
        ]
        found = [" ".join(line.split()) for line in steps.splitlines()]
        assert "mean speed 98.4 MB/s bypass" in found
        assert "slices read 41 of 100 bypass" in found
        cold = "97.9 MB/s 8 KiB WRONG 4 KiB UNREADABLE drive was off: proven"
        assert f"read-cold {cold} bypass" in found
        upsert_judging_problem(
            engine.connection, campaign_id, problem="policy.toml line 3: no such limit"
        )
        await settle(pilot)
        lines = text_of(pilot, "#results").splitlines()
        assert lines[1] == "    ! Not judged: policy.toml line 3: no such limit"
        problems = ("policy.toml line 3: no such limit", "policy.toml line 4: must be a number")
        upsert_judging_problem(engine.connection, campaign_id, problem="\n".join(problems))
        await settle(pilot)
        told = " ".join(text_of(pilot, "#results").split())
        assert f"! Not judged: {'; '.join(problems)}" in told


async def test_a_reason_stands_whole_on_lines_of_its_own(engine: FakeEngine) -> None:
    campaign_id = engine.add_campaign("boots", state="done", cycles=1, boots={HDD: [99.5]})
    reasons = (
        "Evidence: surface not read (no step read it; a sample (1 %) is none); Health: not"
        " measured (the drive has no such log)"
    )
    engine.judge(campaign_id, HDD, "accept with remarks", reasons)
    async with KaltstartApp(engine.port()).run_test(size=(120, 50)) as pilot:
        await settle(pilot)
        await press(pilot, "4")
        assert text_of(pilot, "#results").splitlines()[-2:] == [
            "    Evidence: surface not read (no step read it; a sample (1 %) is none)",
            "    Health: not measured (the drive has no such log)",
        ]


async def test_what_rejects_a_drive_is_told_from_remarks(engine: FakeEngine) -> None:
    reject_one(engine)
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, "4")
        assert text_of(pilot, "#results").split("\n\n")[0].splitlines()[1:6] == [
            "  × VK017919  REJECT, surface read  bay 2",
            "    reject: surface: unreadable: 1.23 MiB (1290240 B) (100 % of the drive",
            "      was read; 3 ranges)",
            "    reject: verify: lost with the power: 8 KiB",
            "    remark: power-on hours: 41200 h",
        ]
        engine.connection.execute("DELETE FROM verdict_limit WHERE outcome = 'remark'")
        await settle(pilot)
        assert "reject:" not in text_of(pilot, "#results"), "which one is missing is not known"


async def test_what_judged_no_drive_does_not_begin_with_verdicts(engine: FakeEngine) -> None:
    campaign_id = engine.add_campaign("boots", state="done", cycles=1, boots={HDD: [99.5]})
    engine.judge(
        campaign_id, HDD, "accept with remarks", "evidence: surface not read",
        depth="quick look", read_percent=0.0,
    )  # fmt: skip
    engine.connection.execute("UPDATE campaign_drive SET label = 'bay 3'")
    async with KaltstartApp(engine.port()).run_test(size=(120, 50)) as pilot:
        await settle(pilot)
        await press(pilot, "4")
        text = text_of(pilot, "#results")
        assert text.startswith("Seconds")
        assert text.split("\n\n")[-1].splitlines() == [
            "Verdicts, although no step that judges drives was run",
            f"  ¼ {HDD.serial}  accept with remarks, quick look, surface not read  bay 3",
            "    evidence: surface not read",
        ]
        engine.connection.execute("UPDATE verdict SET checksum = NULL, verdict = 'reject'")
        await settle(pilot)
        assert text_of(pilot, "#results").startswith("Verdicts\n")


async def test_a_verdict_that_the_stick_has_damaged_is_not_shown_as_one(engine: FakeEngine) -> None:
    campaign_id = engine.add_campaign("boots", state="done", cycles=1, boots={HDD: [99.5]})
    upsert_judging(engine.connection, campaign_id, policy="ours", origin="built-in", text="")
    engine.judge(campaign_id, HDD, "reject", "reallocated sectors: 5")
    engine.connection.execute("UPDATE verdict SET verdict = 'accept'")
    async with KaltstartApp(engine.port()).run_test(size=(120, 50)) as pilot:
        await settle(pilot)
        await press(pilot, "4")
        text = " ".join(text_of(pilot, "#results").split())
        assert f"Not judged: {HDD.serial}: its verdict is damaged on the stick" in text
        assert "accept" not in text


def _put_report(engine: FakeEngine, name: str, *, of_another: bool = False) -> Path:
    """The report of campaign 1, or of one from before the database was made again."""
    query = "SELECT created_at, plan_sha256 FROM campaign WHERE id = 1"
    row = engine.connection.execute(query).fetchone()
    folder = engine.run / "fat/reports" / name
    folder.mkdir(parents=True)
    (folder / "report.html").touch()
    campaign = dict(row) | ({"created_at": "2020-01-01T00:00:00.000Z"} if of_another else {})
    (folder / "results.json").write_text(json.dumps({"campaign": campaign}))
    return folder


async def test_the_report_of_another_campaign_of_that_name_is_not_shown_as_its(
    engine: FakeEngine,
) -> None:
    engine.add_campaign("rack 4", state="done", cycles=1, boots={HDD: [99.5]})
    _put_report(engine, "1-rack-4", of_another=True)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "4")
        assert text_of(pilot, "#report") == "Report: not written yet"
        await press(pilot, "d")
        assert "no report on KALTSTART" in text_of(pilot, "#message")
        _put_report(engine, "1-rack-4-2")
        engine.add_campaign("rack 5", state="done", cycles=1, boots={HDD: [99.5]})
        await settle(pilot)
        await press(pilot, "down")
        assert text_of(pilot, "#report") == "Report: KALTSTART: reports/1-rack-4-2/report.html"
        shutil.rmtree(engine.run / "fat/reports/1-rack-4")
        engine.add_campaign("rack 6", state="done", cycles=1, boots={HDD: [99.5]})
        await settle(pilot)
        assert text_of(pilot, "#report") == "Report: KALTSTART: reports/1-rack-4-2/report.html"


async def test_the_report_is_written_again_and_its_place_is_told(engine: FakeEngine) -> None:
    engine.add_campaign("rack 4", state="done", cycles=1, boots={HDD: [99.5]})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "4")
        assert text_of(pilot, "#report") == "Report: not written yet"
        await press(pilot, "w")
        await finish(pilot, "flow")
        (request,) = engine.requests()
        assert (request.kind, request.read_payload()) == ("report", {"campaign_id": 1})
        _put_report(engine, "1-rack-4")
        engine.answer("accepted", "written")
        await settle(pilot)
        assert text_of(pilot, "#report") == "Report: KALTSTART: reports/1-rack-4/report.html"
        assert text_of(pilot, "#message") == "Report accepted: written"


async def test_a_report_is_deleted_after_a_question_that_names_the_campaign(
    engine: FakeEngine,
) -> None:
    engine.add_campaign("rack 4", state="done", cycles=1, boots={HDD: [99.5]})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "4", "d")
        assert "no report on KALTSTART" in text_of(pilot, "#message")
        folder = _put_report(engine, "1-rack-4")
        engine.add_campaign("rack 5", state="done", cycles=1, boots={HDD: [99.5]})
        await settle(pilot)
        await press(pilot, "down")
        for last in ("escape", "enter"):
            await press(pilot, "d")
            await shown(pilot, "#delete")
            assert "Delete the report of campaign 1, rack 4, from KALTSTART?" in drawn(pilot)
            assert engine.requests() == []
            await press(pilot, "tab", last)
            await finish(pilot, "reports")
        (request,) = engine.requests()
        assert (request.kind, request.read_payload()) == ("delete-report", {"campaign_id": 1})
        assert (folder / "report.html").exists(), "the engine alone deletes it"


async def test_each_step_stands_with_its_figures_and_their_cache_states(
    engine: FakeEngine,
) -> None:
    add_steps(engine)
    async with KaltstartApp(engine.port()).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, "4")
        lines = [line.split() for line in text_of(pilot, "#results").splitlines()]
        assert lines[1] == ["1.", "lottery", "on", HDD.serial + ":", "done"]
        assert ["direct", "129.5", "MB/s", "repeat/first", "1.70", "bypass"] in lines
        assert ["rand-read", "0.6", "MB/s", "149", "IOPS", "cold", "unproven"] in lines
        assert ["total", "231.4", "s", "partial"] in lines
        assert "5. sql on WD-WX41A47H2291: FAILED: sda: read error" in text_of(pilot, "#results")
        assert ["7.", "sql", "on", SSHD.serial + ":", "planned"] in lines
        assert all(len(line) <= 76 for line in text_of(pilot, "#results").splitlines())


async def test_figures_appear_as_a_step_goes_on(engine: FakeEngine) -> None:
    campaign_id = engine.add_campaign("new", cycles=0, boots={HDD: []})
    step_id = engine.add_step(campaign_id, "fio", HDD, state="running")
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "4")
        assert text_of(pilot, "#results").endswith(": RUNNING")
        insert_results(engine.connection, step_id, HDD.serial, FIO[:3])
        await settle(pilot)
        assert "rand-read" in text_of(pilot, "#results")
        insert_results(engine.connection, step_id, HDD.serial, FIO[3:])
        update_step_ended(engine.connection, step_id, "done")
        await settle(pilot)
        assert text_of(pilot, "#results").splitlines()[1].endswith(": done")
        assert "seq-write" in text_of(pilot, "#results")


def test_a_cache_state_that_does_not_fit_gets_a_line_of_its_own() -> None:
    figure = Figure("rand-read/norandommap/zipf", "x" * 34, "cold+partial unproven", valid=False)
    step = Step(1, 1, 1, "sweep", 1, "W", "done", "", 1, 0, figures=(figure,))
    lines = describe_steps((step,), 76).splitlines()
    assert lines[2].split() == ["rand-read/norandommap/zipf", f"({'x' * 34})"]
    assert lines[3] == f"{'cold+partial unproven':>76}"


def test_an_arrays_note_is_wrapped_as_it_is_drawn() -> None:
    note = " ".join(["\x1b[31m中文" * 3] * 8)
    step = Step(1, 1, 1, "sweep", 1, "W", "done", "", 1, 0, array=(note,))
    lines = describe_steps((step,), 76).splitlines()
    assert len(lines) == 5
    assert all(drawable(line) == line and len(line) <= 76 for line in lines)


async def test_an_array_stands_beside_its_drives_and_says_what_it_did(engine: FakeEngine) -> None:
    add_array_steps(engine, boots=[61.4, 28.3])
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "4")
        text = text_of(pilot, "#results")
        lines = [line.split() for line in text.splitlines()]
        head = ["fio", "cache", "drive", "backing", "drive", "array", "Page", "cache"]
        at = lines.index(head)
        rand = ["rand-read", "627", "IOPS", "149", "IOPS", "463", "IOPS", "cold", "unproven"]
        assert rand in lines[at + 1 : at + 5]
        assert ["total", "55.1", "s", "231.4", "s", "74.7", "s", "partial"] in lines
        assert "writeback, hit ratio 87.3 %, bypassed 0 B, dirty at end 11.7 MiB" in text
        assert [f"array ({HDD.serial})".split()[0], f"({HDD.serial})", "61.40", "28.30"] in lines
        assert "warm-up rounds: writethrough 2, writeback 3, writearound 4 NOT SETTLED" in text
        assert all(len(line) <= 76 for line in text.splitlines())


async def test_an_array_alone_is_compared_with_nothing(engine: FakeEngine) -> None:
    campaign_id = engine.add_campaign("alone", cycles=0, boots={HDD: []}, roles={HDD: "backing"})
    engine.add_step(campaign_id, "fio", None, results=FIO)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "4")
        assert text_of(pilot, "#results").startswith("Steps")


async def test_boots_have_a_box_from_five_on_one_axis_and_a_column_per_cycle(
    engine: FakeEngine,
) -> None:
    engine.add_campaign(
        "new",
        cycles=5,
        boots={HDD: [106.0, None, 104.0, 105.0, None], SSHD: [46.0, 28.0, 28.0, 27.0, 60.0]},
    )
    async with KaltstartApp(engine.port()).run_test(size=(80, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "4")
        text = text_of(pilot, "#results")
        assert BOOTS in text


async def test_what_ran_on_several_drives_is_set_side_by_side(engine: FakeEngine) -> None:
    campaign_id = engine.add_campaign("two", cycles=0, boots={HDD: [], SSHD: []})
    for drive, factor in ((HDD, 1.0), (SSHD, 0.5)):
        engine.add_step(campaign_id, "sql", drive, results=scaled(SQL[5:], factor))
        engine.add_step(
            campaign_id, "fio", drive, results=scaled(FIO[:3], factor), workload_index=1
        )
    async with KaltstartApp(engine.port()).run_test(size=(80, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "4")
        assert text_of(pilot, "#results").endswith(f"\n\n{SIDE_BY_SIDE}")


async def test_a_campaign_whose_results_cannot_be_drawn_is_told_and_others_can_be_chosen(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def draw(campaign: Campaign, *_: object) -> str:
        return f"{campaign.name} {1 // (campaign.id - 1)}"

    engine.add_campaign("bad", state="done", cycles=1, boots={HDD: [99.5]})
    engine.add_campaign("good", state="done", cycles=1, boots={HDD: [99.5]})
    monkeypatch.setattr(results_module, "describe_results", draw)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "4")
        assert text_of(pilot, "#results") == "good 1"
        await press(pilot, "down")
        assert "Internal error on this page: ZeroDivisionError" in text_of(pilot, "#message")
        await press(pilot, "up")
        assert text_of(pilot, "#results") == "good 1"


@pytest.mark.parametrize(
    ("phase", "said"), [("running", "stop it first"), ("refused", "see above")]
)
async def test_no_report_is_asked_for_where_none_can_be_written(
    phase: str, said: str, engine: FakeEngine
) -> None:
    engine.add_campaign("rack 4", state="done", cycles=1, boots={HDD: [99.5]})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "4")
        assert "w write report" in text_of(pilot, "#keys")
        engine.say(phase=phase)
        await settle(pilot)
        await press(pilot, "4")
        assert "w write report" not in text_of(pilot, "#keys")
        await press(pilot, "w")
        assert said in text_of(pilot, "#message")
        assert engine.requests() == []


async def test_the_last_line_says_where_tab_goes(engine: FakeEngine) -> None:
    engine.add_campaign("new", boots={HDD: [106.2]})
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        await press(pilot, "4")
        assert text_of(pilot, "#keys").startswith("Tab results")
        await press(pilot, "tab")
        assert text_of(pilot, "#keys").startswith("Tab campaigns")
        await press(pilot, "shift+tab")
        assert text_of(pilot, "#keys").startswith("Tab results")
        engine.say(phase="running")
        await settle(pilot)
        await press(pilot, "4", "tab")
        assert text_of(pilot, "#keys").startswith("Up/Down scroll  Tab campaigns")
        engine.say()
        engine.show_machine(language="de")
        await settle(pilot)
        keys = text_of(pilot, "#keys")
        assert keys.startswith("Tab Kampagnen")
        assert len(keys) <= 80
