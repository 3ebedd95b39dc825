# SPDX-License-Identifier: Apache-2.0
"""Shelves of twelve and of sixty drives: at work, and judged."""

from dataclasses import replace
from typing import Any

from textual.pilot import Pilot

from appliance.drives.model import Drive
from appliance.phrases import N_, Phrase
from appliance.store.tables.verdicts import Depth, LimitRow
from tests.tui.fake import FakeEngine
from tests.tui.fake_drives import HDD
from tests.tui.steps import press, settle

_PLAN = '[[workload]]\nkind = "selftest"\n[[workload]]\nkind = "surface"\n'
_SLICES = 101
_STEP_BYTES = 8_001_563_222_016 // 100


def make_drives(count: int) -> list[Drive]:
    """Disks of one model, as a shelf has them."""
    return [
        replace(
            HDD,
            path=f"/dev/{name_device(number)}",
            serial=f"VK0{number * 7919 % 90000 + 10000}",
            wwn="",
            model="HGST HUS728T8TAL5204",
            size_bytes=8_001_563_222_016,
            transport="sas",
            partition_labels=(),
        )
        for number in range(count)
    ]


def list_shelf(engine: FakeEngine) -> None:
    """Drives and nothing else."""
    engine.show_drives(*make_drives(60), looking=False)
    engine.say()


def name_device(number: int) -> str:
    """`sda` to `sdz`, `sdaa`."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return (
        f"sd{letters[number]}"
        if number < 26
        else f"sd{letters[number // 26 - 1]}{letters[number % 26]}"
    )


def add_shelf(engine: FakeEngine, count: int, *, state: str = "running") -> list[Drive]:
    """A self-test and a surface of each drive, in a campaign."""
    drives = make_drives(count)
    engine.show_drives(*drives, looking=False)
    engine.add_campaign(
        "incoming, rack 4", state=state, cycles=0, boots={drive: [] for drive in drives}
    )
    engine.plan_campaign(1, _PLAN)
    for number in range(count):
        engine.connection.execute(
            "UPDATE campaign_drive SET label = ? WHERE slot = ?", (f"bay {number + 1}", number)
        )
    return drives


def _add_steps(engine: FakeEngine, drives: list[Drive], *, surface: str) -> None:
    for drive in drives:
        engine.add_step(1, "selftest", drive)
    for drive in drives:
        engine.add_step(1, "surface", drive, state=surface, workload_index=1)


def _tell_steps(engine: FakeEngine, drives: list[Drive], **more: object) -> None:
    """One drive has failed its self-test, one is paused, one is silent, one is still to begin."""
    count = len(drives)
    steps = []
    for number, drive in enumerate(drives):
        if number in {2, 4, count - 1}:
            continue
        label: str = Phrase(N_("surface: slice {number} of {count}"), number=34, count=100)
        done, part = number * _STEP_BYTES // count, 20 + number % 50
        if number == 6:
            label = "surface: slice 26 of 100: no answer from the drive; seconds"
            done = 47
        steps.append(
            {
                "position": count + number + 1,
                "of": 2 * count,
                "step_id": count + number + 1,
                "kind": "surface",
                "device": drive.serial,
                "part": f"{part:03}",
                "part_number": part + 1,
                "parts": _SLICES,
                "left_s": None if number == 6 else 40_000.0 + 9_600.0 * (number % 17),
                "progress": {"label": label, "done_bytes": done, "total_bytes": _STEP_BYTES},
            }
        )
    engine.connection.execute(
        "UPDATE step SET state = 'failed', reason = 'the drive says that it"
        " has failed: read failure, first at LBA 123456' WHERE id = 3"
    )
    engine.connection.execute(
        "UPDATE step SET state = 'planned' WHERE id IN (?, ?, ?)", (count + 3, count + 5, 2 * count)
    )
    engine.connection.execute("UPDATE campaign_drive SET paused = 'after its part' WHERE slot = 4")
    engine.add_event("drive-pause-asked", drive=drives[4].serial)
    engine.say(
        phase="running",
        message=Phrase(N_("{count} drives are tested"), count=len(steps)),
        campaign_id=1,
        step={key: value for key, value in steps[0].items() if key != "progress"},
        steps=steps,
        progress=steps[0]["progress"],
        temperatures={
            drive.serial: 34.0 + number * 7 % 19
            for number, drive in enumerate(drives)
            if number not in {6, 2}
        },
        **more,
    )


def run_shelf(engine: FakeEngine) -> None:
    drives = add_shelf(engine, 12)
    _add_steps(engine, drives, surface="running")
    _tell_steps(engine, drives)


def run_large_shelf(engine: FakeEngine) -> None:
    drives = add_shelf(engine, 60)
    _add_steps(engine, drives, surface="running")
    _tell_steps(engine, drives)


def run_shelf_alone(engine: FakeEngine) -> None:
    """A step that has the machine for itself."""
    drives = add_shelf(engine, 12)
    for number, drive in enumerate(drives):
        state = "done" if number < 4 else "running" if number == 4 else "planned"
        engine.add_step(1, "fio", drive, state=state)
    engine.say(
        phase="running",
        message=Phrase(N_("{kind} on {device}: {what}"), kind="fio", device="x", what="seq-read"),
        campaign_id=1,
        step={
            "position": 5, "of": 12, "step_id": 5, "kind": "fio", "device": drives[4].serial,
            "part": "seq-read", "part_number": 1, "parts": 4,
        },
        progress={"label": "seq-read", "done_bytes": 20, "total_bytes": 60},
        temperatures={drives[4].serial: 41.0},
    )  # fmt: skip


def _judge(engine: FakeEngine, drives: list[Drive], depth: Depth, percent: float) -> None:
    _add_steps(engine, drives, surface="done")
    for drive in drives:
        engine.judge(1, drive, "accept", "", depth=depth, read_percent=percent)
    engine.say(phase="idle")


def accept_shelf(engine: FakeEngine) -> None:
    _judge(engine, add_shelf(engine, 12, state="done"), "surface read", 100.0)


def look_quickly(engine: FakeEngine) -> None:
    _judge(engine, add_shelf(engine, 12, state="done"), "quick look", 2.0)


def reject_some(engine: FakeEngine) -> None:
    drives = add_shelf(engine, 14, state="done")
    _judge(engine, drives[:11], "surface read", 100.0)
    reasons = "surface: unreadable: 4 KiB (100 % of the drive was read)"
    engine.judge(1, drives[11], "reject", reasons)
    engine.judge(1, drives[12], "accept with remarks", "power_on_hours 41,200 is above 40,000")


def judge_one(engine: FakeEngine) -> None:
    _judge(engine, add_shelf(engine, 1, state="done"), "written and read back", 100.0)


def reject_one(engine: FakeEngine) -> None:
    """One of two drives, as few as have no shelf."""
    drives = add_shelf(engine, 2, state="done")
    _judge(engine, drives[:1], "surface read", 100.0)
    engine.add_step(1, "surface", drives[1], workload_index=1)
    reasons = (
        "surface: unreadable: 1.23 MiB (1290240 B) (100 % of the drive was read; 3 ranges);"
        " verify: lost with the power: 8 KiB; power-on hours: 41200 h"
    )
    limits = [
        LimitRow("power_on_hours", "remark", "41200 h", "", ""),
        LimitRow("surface_unreadable_bytes", "reject", "1290240 B", "", ""),
        LimitRow("surface_slow_ranges", "kept", "0", "", ""),
        LimitRow("verify_lost_bytes", "reject", "8192 B", "", ""),
    ]
    engine.judge(1, drives[1], "reject", reasons, limits=limits)


async def read_shelf(pilot: Pilot[Any], engine: FakeEngine) -> None:
    """Each drive at its own rate."""
    await _read(pilot, engine, 12)


async def _read(pilot: Pilot[Any], engine: FakeEngine, count: int) -> None:
    for number in range(count):
        engine.count(name_device(number), read_bytes=0, read_ios=0)
    await settle(pilot)
    engine.clock_s += 2.0
    for number in range(count):
        rate = 0 if number in {2, 4, 6} else 180 + number * 13 % 60
        engine.count(name_device(number), read_bytes=2 * rate << 20, read_ios=rate, busy_ms=1990)
    await settle(pilot)


async def sort_shelf(pilot: Pilot[Any], engine: FakeEngine) -> None:
    """By what needs the user, and down the list."""
    await _read(pilot, engine, 60)
    await press(pilot, "o", "o", *["down"] * 14)


async def open_drive(pilot: Pilot[Any], engine: FakeEngine) -> None:
    await read_shelf(pilot, engine)
    await press(pilot, "down", "enter")
