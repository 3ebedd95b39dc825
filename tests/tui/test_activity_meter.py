# SPDX-License-Identifier: Apache-2.0
"""Counters of the kernel on their way to the page Run, and what the database knows of durations."""

import sqlite3
import textwrap
from dataclasses import replace

import pytest

from appliance.drives.model import Drive
from appliance.store.read import durations
from appliance.store.read.durations import WorkRow, select_work
from appliance.store.rows import read_rows
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD, SSHD
from tests.tui.measured import add_steps
from tests.tui.steps import settle, text_of
from tui.activity.rates import Activity
from tui.app import KaltstartApp
from tui.drives.texts import describe_history
from tui.model.io_history import Counters, Course
from tui.model.snapshot import Rate
from tui.run.charts import draw_activity, draw_course
from tui.run.lines import describe_drives
from tui.times.durations import make_durations


def test_what_went_away_is_left_out_and_counts_again() -> None:
    counters: dict[str, Counters] = {"sda": Counters(0.0, 0, 0, 0, 0)}
    activity = Activity(counters.get)
    assert activity.look([("Drive", "sda")], ()).rates == ()
    counters["sda"] = Counters(10.0, 10_000, 0, 100, 0, wait_s=0.5, busy_s=5.0)
    seen = activity.look([("Drive", "sda")], ())
    (rate,) = seen.rates
    assert (rate.name, rate.read_bytes_s, rate.busy) == ("Drive", 1000.0, 0.5)
    assert seen.course is not None
    assert seen.course.bytes_s == (1000.0, 1000.0)
    assert seen.course.latency_s == pytest.approx((0.005, 0.005))
    del counters["sda"]
    assert activity.look([("Drive", "sda")], ()).course is None
    counters["sda"] = Counters(20.0, 0, 0, 0, 0)
    assert activity.look([("Drive", "sda")], ()).course is None
    assert activity.look((), ()).rates == ()


@pytest.mark.parametrize("device", [HDD.serial, HDD.wwn])
def test_a_drive_has_its_rate_by_either_name(engine: FakeEngine, device: str) -> None:
    """A step is on what the plan calls the drive."""
    campaign_id = add_steps(engine)
    step = {"position": 6, "of": 7, "kind": "lottery", "device": device}
    engine.say(phase="running", campaign_id=campaign_id, step=step)
    port = engine.port()
    engine.count("sda", read_bytes=0, read_ios=0)
    port.read_snapshot()
    engine.clock_s += 2.0
    engine.count("sda", read_bytes=2_048_000, read_ios=400)
    assert [(rate.name, rate.read_bytes_s) for rate in port.read_snapshot().rates] == [
        ("Drive", 1_024_000.0)
    ]


def test_a_drive_that_the_plan_has_by_its_wwn_has_its_steps(engine: FakeEngine) -> None:
    """Its twin, of the same serial number, has none of them, and a verdict of its own."""
    twins = [replace(HDD, wwn=f"0x500000000000000{number}") for number in (1, 2)]
    boots: dict[Drive, list[float | None]] = {drive: [] for drive in twins}
    campaign_id = engine.add_campaign("twins", state="done", cycles=0, boots=boots)
    engine.add_step(campaign_id, "fio", twins[0], state="done")
    engine.connection.execute("UPDATE step SET device = ?", (twins[0].wwn,))
    engine.judge(campaign_id, twins[0], "accept", "", depth="surface read", read_percent=100.0)
    engine.judge(campaign_id, twins[1], "reject", "", depth="quick look", read_percent=0.0)
    engine.show_drives(*twins)
    engine.say()
    snapshot = engine.port().read_snapshot()
    lines = describe_drives(snapshot.campaigns[0], 80).splitlines()[1:]
    assert [line.split()[-3:] for line in lines] == [
        ["1/1", "-", "accept"],
        ["-", "-", "REJECT"],
    ]
    histories = [describe_history(row, snapshot.campaigns) for row in snapshot.drives]
    assert ["REJECT" in " ".join(history).upper() for history in histories] == [False, True]


def test_twins_in_an_array_are_the_one_and_the_other(engine: FakeEngine) -> None:
    """They have the same serial number, and are in the plan by their WWNs."""
    backing = replace(HDD, wwn="0x5000000000000001")
    cache = replace(SSHD, serial=HDD.serial, wwn="0x5000000000000002")
    roles = {backing: "backing", cache: "cache"}
    campaign_id = engine.add_campaign(
        "twins", cycles=0, boots={backing: [], cache: []}, roles=roles
    )
    engine.show_drives(cache, backing)
    step = {"position": 1, "of": 1, "kind": "fio", "device": "array"}
    engine.say(phase="running", campaign_id=campaign_id, step=step)
    port = engine.port()
    snapshots = []
    for kibibytes in (0, 2000):
        for device, share in (("bcache0", 4), ("sda", 1), ("sdb", 3)):
            engine.count(device, read_bytes=share * kibibytes << 10, read_ios=kibibytes)
        snapshots.append(port.read_snapshot())
        engine.clock_s += 2.0
    assert {rate.name: rate.read_bytes_s / 1024 for rate in snapshots[1].rates} == {
        "Array": 4000.0, "Backing": 1000.0, "Cache": 3000.0
    }  # fmt: skip


async def test_charts_and_all_drives_are_shown_beside_a_step(engine: FakeEngine) -> None:
    campaign_id = add_steps(engine)
    step = {"position": 6, "of": 7, "kind": "lottery", "device": SSHD.serial}
    step |= {"part": "direct", "part_number": 3, "parts": 5}
    engine.say(phase="running", campaign_id=campaign_id, step=step)
    engine.count("sdb", read_bytes=0, read_ios=0)
    engine.count("sda", read_bytes=0, read_ios=0)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        assert text_of(pilot, "#course") == ""
        for number in range(1, 11):
            engine.clock_s += 2.0
            engine.count("sdb", read_bytes=number * 200_000_000, read_ios=number * 400)
            engine.count("sda", read_bytes=0, read_ios=0)
            await settle(pilot)
        course = text_of(pilot, "#course").splitlines()
        assert course[0].split() == [
            "MB/s,",
            "mean",
            "of",
            "5",
            "s",
            *["Latency", "ms,", "mean", "of", "5", "s"],
        ]
        assert course[1].startswith("100┤████ ")
        assert course[-1].split() == ["-20", "s", "now", "-20", "s", "now"]
        activity = [line.split() for line in text_of(pilot, "#activity").splitlines()]
        assert [HDD.serial, "sda", "0.0", "0.0", "0", "%"] in activity
        assert [SSHD.serial, "sdb", "100.0", "0.0", "0", "%"] in activity
        assert text_of(pilot, "#left").startswith("Time left: unknown")
        engine.say()
        await settle(pilot)
        assert text_of(pilot, "#course") == text_of(pilot, "#activity") == ""


COURSE = Course(5.0, (None, 0.0, 99e6, 4.2e9), (None, None, 0.0042, 0.0003))


def test_charts_stand_below_each_other_where_there_is_no_room_beside() -> None:
    text = draw_course(COURSE, width=60, screen_height=24)
    assert text == textwrap.dedent("""\
        MB/s, mean of 5 s
        5,000┤   ▃
             │   █
             │   █
            0┤· ▁█
              -20 s  now
        Latency ms, mean of 5 s
        5┤  ▃
         │  █
         │  █
        0┤··█▂
          -20 s  now""")
    assert len(draw_course(COURSE, width=76, screen_height=24).splitlines()) == 6
    assert len(draw_course(COURSE, width=116, screen_height=40).splitlines()) == 9


def test_a_busy_drive_has_a_bar_and_a_long_name_leaves_room_for_it() -> None:
    rates = [
        Rate("S" * 40 + " nvme10n1", 1.5e9, 0.0, 1.0, 0.0, busy=1.0),
        Rate("W1 sda", 0.0, 2e6, 0.0, 1.0, busy=0.004),
    ]
    head, first, second = draw_activity(rates, 76).splitlines()
    assert head.split() == ["All", "drives", "now", *["Read", "MB/s", "Write", "MB/s", "Busy"]]
    assert len(first) == 76
    assert first.split()[1:] == ["1500.0", "0.0", "100", "%", "█" * 12]
    assert second.split() == ["W1", "sda", "0.0", "2.0", "0", "%", "▏"]


PLAN = """\
version = 1
[boot]
cycles = {cycles}
boot_set = "64M"
[[workload]]
kind = "surface"
on = "{on}"
[[workload]]
kind = "fio"
"""


def test_durations_are_what_was_recorded_and_the_plan_tells_the_same_work(
    engine: FakeEngine,
) -> None:
    old = engine.add_campaign("old", state="done", cycles=2, boots={HDD: [60.0, 61.0]})
    new = engine.add_campaign("new", cycles=3, boots={HDD: []})
    for campaign_id, cycles in ((old, 2), (new, 3)):
        engine.connection.execute(
            "UPDATE campaign SET plan_toml = ? WHERE id = ?",
            (PLAN.format(cycles=cycles, on=campaign_id), campaign_id),
        )
    done = engine.add_step(old, "surface", HDD)
    running = engine.add_step(new, "surface", HDD, state="running")
    engine.add_step(new, "fio", HDD, state="planned", workload_index=1)
    for step_id, seconds in ((done, 1000.0), (running, 300.0)):
        engine.connection.execute(
            "INSERT INTO activity_sample VALUES (?, ?, ?, 0, 0, 0, 0, 0, NULL)",
            (step_id, HDD.serial, seconds),
        )
    engine.connection.execute(
        "UPDATE boot_sample SET at = '2026-11-21T03:40:00.000Z' WHERE rowid = 2"
    )
    engine.connection.execute(
        "INSERT INTO part VALUES (?, 'first', 1, '2026-11-22T01:00:00.000Z')", (running,)
    )
    found = make_durations(select_work(engine.connection))
    left, drives = found.find_time_left(new, now="2026-11-22T01:01:40.000Z", own_left_s={})
    assert left is not None
    assert left.step_s == pytest.approx(1000.0 - 300.0 - 100.0)
    assert left.campaign_s == pytest.approx(600.0 + 3 * 600.0)
    assert (left.unknown, left.learned_from) == (1, 2)
    assert [(each.identity, each.unknown) for each in drives] == [(HDD.serial, 1)]
    told, _ = found.find_time_left(
        new, now="2026-11-22T01:01:40.000Z", own_left_s={running: 9_009.0}
    )
    assert told is not None
    assert told.step_s == pytest.approx(9_000.0), "what the drive's own rate tells comes first"
    late, _ = found.find_time_left(new, now="2020-01-01T00:00:00.000Z", own_left_s={})
    assert late is not None
    assert late.step_s == pytest.approx(700.0), "a clock that was set takes nothing off"
    nothing = found.find_time_left(old, now="2026-11-22T01:01:40.000Z", own_left_s={})
    assert nothing == (None, ())


def test_a_campaign_that_begins_meanwhile_is_no_bug(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []

    def read(
        connection: sqlite3.Connection, make: type[WorkRow], query: str, *parameters: object
    ) -> list[WorkRow]:
        rows = list(read_rows(connection, make, query, *parameters))
        begun.append(engine.add_campaign("new", cycles=3, boots={HDD: []}))
        engine.add_step(begun[-1], "fio", HDD, state="planned")
        return rows

    monkeypatch.setattr(durations, "read_rows", read)
    planned = make_durations(select_work(engine.connection)).planned
    assert {campaign_id for campaign_id, _ in planned} <= set(begun)


@pytest.mark.parametrize("event", ["campaign-paused", "campaign-resumed", "attempt-failed"])
def test_a_night_between_two_boots_is_no_boot(event: str, engine: FakeEngine) -> None:
    campaign_id = engine.add_campaign("old", cycles=4, boots={HDD: [60.0, 61.0, 62.0, 63.0]})
    engine.connection.execute("UPDATE campaign SET plan_toml = '[boot]\ncycles = 4\n'")
    for number, at in enumerate(("20:00", "20:10", "20:20", "07:00"), 1):
        day = 22 if at < "12" else 21
        engine.connection.execute(
            "UPDATE boot_sample SET at = ? WHERE cycle_id = ?",
            (f"2026-11-{day}T{at}:00.000Z", number),
        )
    for of, at in ((campaign_id, "21T20:25"), (None, "21T20:15")):
        engine.connection.execute(
            "INSERT INTO event (campaign_id, at, monotonic_s, boot_id, level, event, detail)"
            " VALUES (?, ?, 1.0, 'b', 'info', ?, '')",
            (of, f"2026-11-{at}:00.000Z", event),
        )
    past = make_durations(select_work(engine.connection)).past
    assert [each.seconds for each in past] == [600.0, 600.0]
