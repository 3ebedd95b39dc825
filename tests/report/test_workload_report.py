# SPDX-License-Identifier: Apache-2.0
"""The figures of workloads in a report: each with its caches, none from what does not count."""

import csv
import json
import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from appliance.report.boots.findings import Finding
from appliance.report.charts.activity import Interval, make_intervals, thin
from appliance.report.figures import group_workloads
from appliance.report.workload_findings import find_workload_findings
from appliance.samples.model import ActivitySample, PageCache, Result, Ticket
from appliance.store.read.campaign import select_campaign
from appliance.store.read.workloads import TicketRow
from appliance.store.rows import list_columns
from appliance.store.tables import steps as store
from appliance.workloads.fio import report as fio
from appliance.workloads.lottery import report as lottery
from tests.databases import seal
from tests.report.database import Disk, make_database
from tests.report.pages_read import export, find_charts, read_page, words_of
from tests.report.states import BYPASS, COLD, NOT_DROPPED
from tests.report.test_page import HOSTILE
from tests.report.workloads import (
    MB,
    add_results,
    add_step,
    end_step,
    make_results,
)


@pytest.fixture
def one(tmp_path: Path) -> sqlite3.Connection:
    """A campaign with one drive and nothing measured."""
    return make_database(tmp_path / "one.sqlite", disks=[Disk("A", "disk")])


def test_page_is_well_formed_and_needs_nothing(workloads: Path) -> None:
    text = (workloads / "report.html").read_text(encoding="utf-8")
    page = read_page(text)
    assert len(page.ids) == len(set(page.ids))
    assert page.tags.isdisjoint({"script", "link", "iframe", "object", "img", "base", "form"})
    assert not re.search(r"https?:|//[a-z]|url\(|@import", text)
    charts = find_charts(text)
    assert len(charts) > 10
    for chart in charts:
        ET.fromstring(chart)  # noqa: S314 - our own


def test_a_campaign_without_boots_speaks_of_none(workloads: Path) -> None:
    words = words_of(workloads)
    assert "Boot time over cycle" not in words
    assert "no valid timed boot" not in words
    assert "14 of 15 steps done, 1 failed" in words


def test_every_kind_has_its_section_and_figure(workloads: Path) -> None:
    text = (workloads / "report.html").read_text(encoding="utf-8")
    for title in ("Lottery", "fio", "Matrix", "Working-set sweep", "SQL", "Steps"):
        assert f"<h2>{title}</h2>" in text
    charts = set(re.findall(r'id="chart-([a-z]+-[a-z]*)', text))
    assert {
        "lottery-drives",
        "lottery-reads",
        "lottery-nth",
        "fio-sequential",
        "fio-random",
    } <= charts
    assert {"matrix-boxes", "sweep-", "sql-", "activity-"} <= charts
    assert 'class="heat-8 ram"' in text
    assert "LAB-SSD-1, randommap (reference)" in text


def test_the_hybrid_gains_in_the_direct_pass_only(workloads: Path) -> None:
    text = (workloads / "report.html").read_text(encoding="utf-8")
    gains = re.findall(r'<li class="gain">(.*)</li>', text)
    assert len(gains) == 1
    assert gains[0].startswith(
        "<strong>LAB-SSHD-1</strong>: in the lottery&#39;s direct pass repeats were 3.0 times"
    )
    # The trap: the page cache makes every drive look that fast. Its figures are of mixed states.
    told = re.findall(r"cold pass repeats were [\d.]+ times as fast as first touches", text)
    assert len(told) == 3
    assert text.count("reads); the pass began cold, proven; RAM answered 100 % of the repeats") == 3
    assert text.count("RAM answered 100 % of the repeats, so this does not show the drive.") == 3
    assert "warm pass repeats" not in text


def add_pass(
    connection: sqlite3.Connection,
    step: int,
    name: str,
    *repetitions: Sequence[float],
    files: str = "hgfedcba",
    file_bytes: int = 1 << 30,
) -> None:
    """Files that the drive serves each time, so many seconds at the nth read, for each repetition.

    Each is read again two files later: first reads lie between repeats, as in a draw.
    """
    states: dict[str, PageCache] = {"direct": "bypass", "mmap": "cold"}
    tickets: list[Ticket] = []
    for number, seconds in enumerate(repetitions, start=1):
        rate = file_bytes * len(seconds) / sum(seconds)
        suffix = "" if number == 1 else f"/{number}"
        for file in files:
            variant = f"{name}/{file}{suffix}"
            add_results(connection, step, make_results(variant, BYPASS, rate_bytes_s=rate))
        before = (number - 1) * len(seconds)
        draws = sorted(
            (place + 2 * nth, nth, file)
            for place, file in enumerate(files)
            for nth in range(len(seconds))
        )
        tickets += [
            Ticket(
                name,
                states[name],
                seq,
                file,
                before + nth + 1,
                file_bytes,
                seconds[nth],
                0,
                file_bytes,
                0,
            )
            for seq, (_, nth, file) in enumerate(draws, start=len(tickets) + 1)
        ]
    store.insert_tickets(connection, step, tickets)


def find_lottery_findings(connection: sqlite3.Connection) -> list[Finding]:
    found = find_workload_findings(group_workloads(select_campaign(connection, campaign_id=1)))
    return [finding for finding in found if "lottery" in finding.text]


def test_a_direct_pass_behind_another_is_no_witness_against_the_drive(
    one: sqlite3.Connection,
) -> None:
    step = add_step(one, "lottery", "A", position=0)
    # A hybrid: its first read from the platters, all others from flash.
    add_pass(one, step, "mmap", (10.0, 1.0))
    add_pass(one, step, "direct", (1.0, 1.0))
    first, second = find_lottery_findings(one)
    assert (first.kind, second.kind) == ("gain", "flat")
    assert "mmap pass repeats were 10.0 times as fast" in first.text
    assert "The drive had served 100 % of the files before" in second.text
    assert "they were 10.0 times as fast as those of the mmap pass" in second.text
    assert 'with "direct" as the first pass' in second.text


def test_a_pass_through_memory_tells_its_faults(one: sqlite3.Connection) -> None:
    step = add_step(one, "lottery", "A", position=0)
    add_results(one, step, make_results("mmap/a", COLD, app=4096.0, hit=0.5, rate_bytes_s=2048.0))
    add_results(one, step, make_results("mmap/b", COLD, app=4096.0, hit=0.5, rate_bytes_s=2048.0))
    # Each file is read twice: from the drive, then from RAM, where nothing is missing any more.
    store.insert_tickets(
        one,
        step,
        [
            Ticket("mmap", "cold", 1, "a", 1, 2048, 1.0, 8, 2048, 0),
            Ticket("mmap", "cold", 2, "b", 1, 2048, 1.0, 7, 2048, 0),
            Ticket("mmap", "warm", 3, "a", 2, 2048, 0.1, 0, 0, 2048),
            Ticket("mmap", "warm", 4, "b", 2, 2048, 0.1, 0, 0, 2048),
        ],
    )
    told = " ".join(finding.text for finding in find_lottery_findings(one))
    assert "RAM answered 100 % of the repeats" in told
    assert "(15 major page faults at the first touches, 0 later)" in told


def test_a_drive_that_learns_late_gains_in_the_second_repetition(one: sqlite3.Connection) -> None:
    step = add_step(one, "lottery", "A", position=0)
    add_pass(one, step, "direct", (4.0, 4.0), (1.0, 1.0))
    gain, flat = find_lottery_findings(one)
    assert (gain.kind, flat.kind) == ("gain", "flat")
    assert "they were 4.0 times as fast as those of the direct pass" in gain.text
    assert flat.text.endswith("RAM answered 0 % of the repeats: this is the drive's, and no gain.")


def test_a_slow_moment_in_an_earlier_pass_is_nothing_learned_since(
    one: sqlite3.Connection,
) -> None:
    """Only its first touches were slow, and that they are slow because they are first is open."""
    step = add_step(one, "lottery", "A", position=0)
    add_pass(one, step, "direct", (4.0, 1.0, 1.0), (1.0, 1.0, 1.0))
    within, between = find_lottery_findings(one)
    assert ", and not decided: most first touches come early" in within.text
    assert "they were 4.0 times as fast as those of the direct pass" in between.text
    assert between.kind == "flat"
    assert between.text.endswith("chance does as much in 100 % of all orders of these reads.")


def test_a_drive_that_warms_up_between_two_passes_has_not_learned(one: sqlite3.Connection) -> None:
    step = add_step(one, "lottery", "A", position=0)
    add_pass(one, step, "direct", (1.2, 1.2, 1.2), (1.0, 1.0, 1.0))
    _, between = find_lottery_findings(one)
    assert between.kind == "flat"
    assert between.text.endswith(
        ", and not decided: against all reads of that pass it is 1.20 times, and a drive or a"
        " machine that warms up may do as much from one pass to the next."
    )


def test_a_gain_takes_more_than_chance(one: sqlite3.Connection) -> None:
    step = add_step(one, "lottery", "A", position=0)
    # Each of four orders of its reads has the slow one first, and of two files that is one in 16.
    add_pass(one, step, "direct", (2.0, 1.0, 1.0, 1.0), files="ab")
    (finding,) = find_lottery_findings(one)
    assert finding.kind == "flat"
    assert "direct pass repeats were 2.0 times as fast as first touches" in finding.text
    assert finding.text.endswith(
        "this is the drive's, and not decided: with so few reads chance may do as much. More files"
        " or tickets would tell."
    )


@pytest.mark.parametrize(
    ("seconds", "end"),
    [
        # Four files: one of 256 orders has all slow reads first; but they are the pass's first too.
        (
            (2.0, 1.0, 1.0, 1.0),
            "of all draws of these tickets. Another seed, or more files or tickets, would tell.",
        ),
        # As many reads are slow as the second of each: 70 of 10,000 orders, 66 of 256.
        (
            (2.0, 2.0, *(1.0,) * 8),
            "no proof of a gain: chance does as much in 0.7 % of all orders of these reads.",
        ),
        (
            (9.0, 9.0, *(1.0,) * 8),
            "chance does as much in 0.7 % of all orders of these reads. More would tell.",
        ),
        (
            (2.0, 2.0, 1.0, 1.0),
            "no proof of a gain: chance does as much in 26 % of all orders of these reads.",
        ),
    ],
)
def test_how_often_chance_does_as_much_is_told(
    one: sqlite3.Connection, seconds: tuple[float, ...], end: str
) -> None:
    add_pass(one, add_step(one, "lottery", "A", position=0), "direct", seconds, files="dcba")
    (finding,) = find_lottery_findings(one)
    assert finding.text.endswith(end)


def test_a_lottery_without_repeats_says_that_it_shows_nothing(one: sqlite3.Connection) -> None:
    add_pass(one, add_step(one, "lottery", "A", position=0), "direct", (2.0,))
    (finding,) = find_lottery_findings(one)
    assert finding.kind == "remark"
    assert finding.text.startswith("the lottery's direct pass shows nothing: no file was read")


def test_all_that_gain_are_in_the_answer(tmp_path: Path) -> None:
    disks = [Disk(name, "disk") for name in "ABC"]
    three = make_database(tmp_path / "three.sqlite", disks=disks)
    for place, repeats_s in enumerate((1.0, 0.2, 2.0)):
        step = add_step(three, "lottery", "ABC"[place], position=place)
        add_pass(three, step, "direct", (2.0, *(repeats_s,) * 3))
    words = words_of(export(three, tmp_path))
    told = "in the lottery's direct pass repeats were 2.0 times as fast as first touches."
    assert f"A: {told} Also faster: B. RAM answered" in words


def test_few_bytes_may_lie_in_the_drives_own_ram(one: sqlite3.Connection) -> None:
    step = add_step(one, "lottery", "A", position=0)
    add_pass(one, step, "direct", (2.0, 1.0, 1.0, 1.0), file_bytes=10 << 20)
    (finding,) = find_lottery_findings(one)
    assert finding.kind == "gain"
    assert finding.text.endswith(
        "this is the drive's, though its own RAM may hold the 80 MiB that were read."
    )


def test_what_is_read_often_may_lie_at_a_better_place(one: sqlite3.Connection) -> None:
    """A disk that learns nothing: file a is at its rim, and is on most of the tickets."""
    step = add_step(one, "lottery", "A", position=0)
    seconds = dict.fromkeys("abcdef", 2.0) | {"a": 1.0}
    for file, each_s in seconds.items():
        results = make_results(f"direct/{file}", BYPASS, rate_bytes_s=1e9 / each_s)
        add_results(one, step, results)
    draws = "abcdef" + "acad" * 10
    tickets = [
        Ticket("direct", "bypass", seq, file, draws[:seq].count(file), 1 << 30, s, 0, 1 << 30, 0)
        for seq, file in enumerate(draws, start=1)
        for s in (seconds[file],)
    ]
    store.insert_tickets(one, step, tickets)
    (finding,) = find_lottery_findings(one)
    assert "repeats were 1.0 times as fast as first touches" in finding.text
    assert finding.text.endswith("this is the drive's, and no gain.")


def test_a_file_that_was_read_right_before_is_not_counted(one: sqlite3.Connection) -> None:
    """A disk whose head is already there when the same file is read again."""
    step = add_step(one, "lottery", "A", position=0)
    for file in "ab":
        add_results(one, step, make_results(f"direct/{file}", BYPASS, rate_bytes_s=1.0))
    draws = (("a", 2.0), ("a", 1.0), ("b", 2.0), ("b", 1.0), ("a", 2.0), ("a", 1.0), ("b", 2.0))
    tickets = [
        Ticket("direct", "bypass", seq, file, seq, 1 << 30, s, 0, 1 << 30, 0)
        for seq, (file, s) in enumerate(draws, start=1)
    ]
    store.insert_tickets(one, step, tickets)
    (finding,) = find_lottery_findings(one)
    assert "1.0 times as fast" in finding.text
    assert "n = 2 and 1 reads" in finding.text


def test_each_line_has_its_caches(workloads: Path) -> None:
    words = words_of(workloads)
    assert re.search(r"bypass proven \d 0 %", words)
    assert re.search(r"partial unproven \d 30 %", words)
    assert re.search(r"cold proven \d 2 % 3 GiB first step on it", words)
    for reason in (
        "O_DIRECT; the device served 1000000000 of 1000000000 bytes read",
        "a cold cache was requested, but RAM answered a part: the device served 70000000 of",
        "1 of 3 files and devices kept pages in RAM: /mnt/fio.dat",
        "cachestat: no page of 3 files and devices in RAM",
    ):
        assert reason in words


def test_the_total_of_sql_speaks_where_all_phases_began_cold_and_says_what_ram_answered(
    workloads: Path,
) -> None:
    words = words_of(workloads)
    assert "SQL, all phases : LAB-HDD-1: 200.0 s (3 min 20 s), LAB-SSHD-1: 181.8 s" in words
    assert "(3 min 2 s); page cache began cold, proven; RAM answered 30 %." in words
    assert "sql: of " not in words
    # Both facts are in the table as well.
    assert re.search(r"began cold \(proven\), then partial unproven \d 30 % 3 GiB", words)


def test_all_bars_of_sql_have_one_scale(one: sqlite3.Connection, tmp_path: Path) -> None:
    for position, seconds in enumerate((20.0, 80.0)):
        step = add_step(one, "sql", "A", position=position, index=position)
        add_results(one, step, make_results("recovery", BYPASS, seconds=seconds))
    page = (export(one, tmp_path) / "report.html").read_text(encoding="utf-8")
    charts = [chart for chart in find_charts(page) if 'id="chart-sql-' in chart]
    widths = re.findall(r'<rect x="0%" width="([\d.]+)%"', "".join(charts))
    assert widths == ["25", "100"]


def test_failed_steps_and_their_reasons_are_told(workloads: Path) -> None:
    words = words_of(workloads)
    assert "LAB-SSD-1 : sql failed: the drive answered with an I/O error." in words
    assert "failed the drive answered with an I/O error" in words


def test_raw_output_is_named_where_it_is_and_not_copied(workloads: Path) -> None:
    words = words_of(workloads)
    assert "raw/1/" in words
    assert "raw/2/" not in words
    assert not (workloads / "raw").exists()


def test_csv_has_each_figure_with_its_caches(workloads: Path, steps: sqlite3.Connection) -> None:
    rows = list(csv.DictReader((workloads / "results.csv").read_text().splitlines()))
    found = [dict(row) for row in steps.execute("SELECT * FROM results ORDER BY rowid")]
    assert len(rows) == len(found)
    for row, wanted in zip(rows, found, strict=True):
        assert {name: row[name] for name in wanted} == {
            name: "" if value is None else str(value) for name, value in wanted.items()
        }
        assert row["proof_reason"]
        assert row["cycle"] == ""
    for name, view in (("tickets", "tickets"), ("activity", "activity"), ("steps", "step")):
        (count,) = steps.execute(f"SELECT count(*) FROM {view}").fetchone()  # noqa: S608
        with (workloads / f"{name}.csv").open(newline="") as file:
            assert len(list(csv.DictReader(file))) == count


def test_json_has_steps_results_and_tickets(workloads: Path) -> None:
    found = json.loads((workloads / "results.json").read_text())
    assert [step["kind"] for step in found["steps"][::3]] == [
        "lottery",
        "fio",
        "matrix",
        "sweep",
        "sql",
    ]
    assert found["results"][0]["proof_reason"].startswith(BYPASS.reason)
    assert list(found["tickets"][0]) == list(list_columns(TicketRow))
    assert "activity" not in found


def test_what_is_invalid_is_shown_with_its_reason_and_in_no_figure(
    one: sqlite3.Connection, tmp_path: Path
) -> None:
    step = add_step(one, "fio", "A", position=0)
    add_results(
        one, step, [Result("seq-read", "bw_bytes_s", 77.7 * MB, BYPASS.read(), valid=False)]
    )
    words = words_of(export(one, tmp_path))
    assert "fio: 1 of 1 figure is invalid and left out of every mean." in words
    assert "invalid: O_DIRECT; the device served" in words
    # Struck out among all figures, and nowhere else.
    assert words.count("77.7") == 1
    assert "fio, seq-read :" not in words


def test_one_figure_that_was_taken_beside_other_drives_is_one(
    one: sqlite3.Connection, tmp_path: Path
) -> None:
    step = add_step(one, "selftest", "A", position=0)
    add_results(one, step, [Result("short", "selftest_passed", 1, BYPASS.read())])
    one.execute("UPDATE result SET beside = 1, checksum = NULL WHERE step_id = ?", (step,))
    seal(one, "result")
    assert "selftest: 1 of 1 figure was taken while other drives were tested" in words_of(
        export(one, tmp_path)
    )


def test_no_sentence_is_built_on_what_is_not_proven(
    one: sqlite3.Connection, tmp_path: Path
) -> None:
    step = add_step(one, "fio", "A", position=0)
    add_results(one, step, make_results("seq-read", NOT_DROPPED, bw_bytes_s=77.7 * MB))
    words = words_of(export(one, tmp_path))
    findings = words[: words.index("The rules behind")]
    assert "77.7" not in findings
    assert (
        "for 1 of 1 figure, neither the state of the page cache nor a cold beginning is proven"
        in findings
    )


def test_invalid_rounds_are_in_no_mean(one: sqlite3.Connection) -> None:
    step = add_step(one, "fio", "A", position=0)
    for number, iops in enumerate((900.0, 100.0, 110.0, 120.0, 130.0, 999.0), start=1):
        valid = iops < 999.0
        add_results(
            one, step, [Result(f"rand-read/round-{number}", "iops", iops, BYPASS.read(), valid)]
        )
    (workload,) = group_workloads(select_campaign(one, campaign_id=1))
    (test,) = fio.find_tests(workload.steps[0])
    assert len(test.rounds) == 6
    # The window is the last five rounds; one of them does not count.
    assert test.get("iops") == pytest.approx(115.0)


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ([50.0, 40.0, 40.0, 40.0, 40.0, 40.0], "40.0 MB/s (last 5 of 6 rounds)"),
        (
            [50.0, 40.0, 30.0, 30.0, 20.0, 20.0],
            "28.0 MB/s (not steady after 6 rounds; mean of the last 5; the first was 1.8 times",
        ),
        ([50.0], "50.0 MB/s (not steady after 1 round)"),
    ],
)
def test_a_sentence_says_where_a_drive_did_not_get_steady(
    one: sqlite3.Connection, tmp_path: Path, rates: list[float], said: str
) -> None:
    step = add_step(one, "fio", "A", position=0)
    for number, rate in enumerate(rates, start=1):
        row = make_results(f"seq-write/round-{number}", BYPASS, bw_bytes_s=rate * MB)
        add_results(one, step, row)
    mean = sum(rates[-5:]) / len(rates[-5:])
    add_results(one, step, make_results("seq-write", BYPASS, bw_bytes_s=mean * MB))
    assert said in words_of(export(one, tmp_path))


def test_the_workloads_own_sum_over_rounds_counts(one: sqlite3.Connection) -> None:
    step = add_step(one, "fio", "A", position=0)
    for variant, iops in (("own/round-1", 10.0), ("own/round-1/read", 7.0), ("own", 8.0)):
        add_results(one, step, make_results(variant, BYPASS, iops=iops))
    add_results(one, step, make_results("precondition/pass-1", BYPASS, iops=1.0))
    (workload,) = group_workloads(select_campaign(one, campaign_id=1))
    tests = {test.name: test for test in fio.find_tests(workload.steps[0])}
    assert {name: test.get("iops") for name, test in tests.items()} == {"own": 8.0, "own/read": 7.0}
    assert len(tests["own"].rounds) == 1
    # Of a job that reads and writes the whole is judged, as in its rounds.
    assert tests["own"].steady is tests["own/read"].steady is False


def test_repetitions_of_a_pass_are_told_apart(one: sqlite3.Connection) -> None:
    step = add_step(one, "lottery", "A", position=0)
    add_pass(one, step, "direct", (4.0, 1.0), (2.0, 1.0))
    add_results(one, step, make_results("direct/2", BYPASS, touch_ratio=1.0))
    (workload,) = group_workloads(select_campaign(one, campaign_id=1))
    passes = lottery.find_passes(workload.steps[0])
    assert [one.label for one in passes] == ["direct", "direct, repetition 2"]
    ratios = [touches.ratio for one in passes if (touches := one.find_touches())]
    assert ratios == [4.0, 2.0]


def test_thinning_keeps_every_byte_and_second() -> None:
    intervals = tuple(Interval(float(t), 1.0, t * 10, t) for t in range(1, 1001))
    thinned = thin(intervals)
    assert len(thinned) <= 300
    assert sum(one.read_bytes for one in thinned) == sum(one.read_bytes for one in intervals)
    assert sum(one.seconds for one in thinned) == 1000.0
    assert thinned[-1].end_s == 1000.0


def test_what_thinning_averaged_is_told(one: sqlite3.Connection, tmp_path: Path) -> None:
    step = add_step(one, "fio", "A", position=0)
    add_results(one, step, make_results("seq-read", BYPASS, bw_bytes_s=MB))
    samples = [
        ActivitySample("A", float(t), 90_000_000 if t == 500 else 0, 0, 0, 0, 0.0)
        for t in range(1, 901)
    ]
    store.insert_activity(one, step, samples)
    words = words_of(export(one, tmp_path))
    assert "each point is the mean of 3 recorded intervals (about 3 s), 900 in all" in words
    assert "highest single interval 90.0 MB/s (175781 sectors a second) read" in words


def test_a_request_that_ends_in_a_short_interval_is_no_peak(
    one: sqlite3.Connection, tmp_path: Path
) -> None:
    """A drive of 2 MB/s whose recording was ended 2 ms after a look, and went on after a start."""
    step = add_step(one, "fio", "A", position=0)
    add_results(one, step, make_results("seq-read", BYPASS, bw_bytes_s=2 * MB))
    samples = [
        ActivitySample("A", t_s, int(read_bytes), 0, 2, 0, 0.5)
        for t_s, read_bytes in ((1.0, 2 * MB), (1.002, MB), (2.002, 2 * MB), (2.004, MB))
    ]
    store.insert_activity(one, step, samples)
    words = words_of(export(one, tmp_path))
    assert "highest single interval 2.99 MB/s" in words
    (workload,) = group_workloads(select_campaign(one, campaign_id=1))
    intervals = make_intervals(workload.steps[0].activity)
    assert [(one.end_s, one.read_bytes, one.busy_s) for one in intervals] == [
        (1.002, 3 * MB, 1.0),
        (2.004, 3 * MB, 1.0),
    ]


def test_an_interval_without_length_has_no_rate(one: sqlite3.Connection, tmp_path: Path) -> None:
    step = add_step(one, "fio", "A", position=0)
    add_results(one, step, make_results("seq-read", BYPASS, bw_bytes_s=2 * MB))
    samples = [ActivitySample("A", t_s, int(MB), 0, 2, 0, 0.5) for t_s in (0.0, 1.0)]
    store.insert_activity(one, step, samples)
    assert "highest single interval 1.00 MB/s" in words_of(export(one, tmp_path))


def test_an_idle_device_can_be_drawn(one: sqlite3.Connection, tmp_path: Path) -> None:
    step = add_step(one, "fio", "A", position=0)
    add_results(one, step, make_results("seq-read", BYPASS, bw_bytes_s=0.0))
    store.insert_activity(one, step, [ActivitySample("A", 1.0, 0, 0, 0, 0, 0.0)])
    assert "chart-activity-" in (export(one, tmp_path) / "report.html").read_text()


def test_a_chart_of_activity_leaves_out_what_was_read_as_a_load(
    one: sqlite3.Connection, tmp_path: Path
) -> None:
    step = add_step(one, "contention", "A", position=0)
    add_results(one, step, make_results("together-1", BYPASS, bw_bytes_s=MB))
    samples = [
        ActivitySample(device, float(t), int(MB), 0, 2, 0, 0.5)
        for device in ("0-LOAD", "A")
        for t in (1, 2)
    ]
    store.insert_activity(one, step, samples)
    folder = export(one, tmp_path)
    assert "A: every interval as recorded" in words_of(folder)
    assert "0-LOAD" not in (folder / "report.html").read_text()
    assert "0-LOAD" in (folder / "activity.csv").read_text()


def test_hostile_words_are_shown_not_run(tmp_path: Path) -> None:
    connection = make_database(tmp_path / "h.sqlite", disks=[Disk(HOSTILE, HOSTILE)])
    step = add_step(connection, "lottery", HOSTILE, position=0)
    add_results(connection, step, make_results(f"direct/{HOSTILE}", BYPASS, rate_bytes_s=1.0))
    store.insert_tickets(
        connection, step, [Ticket(HOSTILE, "bypass", 1, HOSTILE, 1, 1, 1.0, 0, 1, 0)]
    )
    store.insert_activity(connection, step, [ActivitySample(HOSTILE, 1.0, 9, 9, 1, 1, 0.1)])
    end_step(connection, step, "failed", HOSTILE)
    connection.execute(
        "UPDATE result SET proof_reason = ?, drive_state = ?, checksum = NULL", (HOSTILE, HOSTILE)
    )
    folder = export(connection, tmp_path)
    connection.close()
    text = (folder / "report.html").read_text(encoding="utf-8")
    read_page(text)
    assert "<script" not in text.lower()
    assert not [c for c in text if ord(c) < 32 and c != "\n"]


def test_an_unknown_kind_is_a_plain_table(one: sqlite3.Connection, tmp_path: Path) -> None:
    step = add_step(one, "other-kind", "A", position=0)
    add_results(one, step, make_results("all", BYPASS, unreadable_bytes=4096.0))
    assert "unreadable" in words_of(export(one, tmp_path))
    assert "4 KiB" in words_of(export(one, tmp_path))


def test_a_step_without_figures_is_in_the_table_of_steps(
    one: sqlite3.Connection, tmp_path: Path
) -> None:
    end_step(one, add_step(one, "sql", "A", position=0), "skipped", "the drive is not released")
    words = words_of(export(one, tmp_path))
    assert "skipped the drive is not released" in words
    assert "0 of 1 steps done, 1 skipped" in words
