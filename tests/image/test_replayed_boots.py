# SPDX-License-Identifier: Apache-2.0
"""Replay mode: learning shows without a release, and nothing is ever written to a drive."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.samples.read_list import parse_trace
from tests.lab.campaign import Result, Trial, run_campaign
from tests.lab.demo import boots_by_drive, format_table
from tests.lab.drives import DEFAULT_DRIVES, ModelledDrive
from tests.lab.stick import get_data_tree, put_file
from tests.lab.timing import SeekCurve, Timing

_CYCLES = 2
_SET_BYTES = 8 << 20
_PLAN = f"""\
version = 1

[campaign]
name = "Replay"
autostart = true
on_finish = "poweroff"

[[drive]]
serial = "LAB-HDD-1"
role = "control"

[[drive]]
serial = "LAB-SSHD-1"

[[drive]]
serial = "LAB-SSD-1"
role = "control"

[boot]
mode = "replay"
cycles = {_CYCLES}
boot_set = "8M"
wake_margin = 60
"""


# The head of a real disk, in the time of the emulated processor (see tests.lab.demo). An SSD that
# took no time would be as slow as the host makes it.
_DRIVES = tuple(
    replace(
        each, curve=each.curve.quicker(2), timing=Timing(latency_s=0.005 * (each.model == "ssd"))
    )
    for each in DEFAULT_DRIVES
)


@pytest.mark.long
def test_a_replay_shows_the_hybrid_and_writes_nothing(out: Path) -> None:
    result = run_campaign(
        Trial(
            out=out,
            plan=_PLAN,
            drives=_DRIVES,
            icount_shift=0,
            from_start=True,
        )
    )

    assert result.ok, f"{result.outcome}: {result.reason}"
    boots = boots_by_drive(result.boot_times())
    print(format_table(boots))
    gain = {serial: seconds[0] / seconds[1] for serial, seconds in boots.items()}
    assert gain["LAB-SSHD-1"] > 2
    assert 0.9 < gain["LAB-HDD-1"] < 1.1
    assert 0.5 < gain["LAB-SSD-1"] < 2
    for row in result.boot_times():
        assert (row.power, row.cold_proof) == ("cold", "unproven")  # no power cycles are counted
        assert row.session_s is None
        assert row.read_bytes == _SET_BYTES

    # From outside: over the whole campaign.
    for name, stats in result.stats.items():
        assert all(one["write_bytes"] + one["trim_bytes"] == 0 for one in stats), name
        assert sum(one["read_bytes"] > _SET_BYTES for one in stats) == _CYCLES, name
    _check_reads(result)


_RECORDED = """\
version = 1
[campaign]
name = "Recorded"
autostart = true
on_finish = "poweroff"
[[drive]]
serial = "LAB-SSD-1"
erase = "LAB-SSD-1"
[boot]
cycles = 1
boot_set = "4M"
wake_margin = 60
"""
_TRACED = """\
version = 1
[campaign]
name = "Traced"
autostart = true
on_finish = "poweroff"
[[drive]]
serial = "LAB-SSD-1"
[boot]
mode = "replay"
trace = "boot.csv"
cycles = 2
wake_margin = 60
"""


@pytest.mark.long
def test_a_recorded_boot_is_replayed(out: Path) -> None:
    drive = ModelledDrive(serial="LAB-SSD-1", model="ssd", size_bytes=2 << 30)
    first = run_campaign(Trial(out=out / "recorded", plan=_RECORDED, drives=[drive]))
    assert first.ok, f"{first.outcome}: {first.reason}"
    (listed,) = get_data_tree(first.out / "stick.raw", "raw", out / "raw").rglob("reads.csv")
    text = listed.read_text()
    reads = parse_trace(text, name="reads.csv")
    (charted,) = (row for row in first.boot_times() if row.charted)
    # The kernel's own count until the session was read, and a little of what came before the stop.
    assert charted.read_bytes is not None
    assert 0.98 * charted.read_bytes < reads.size_bytes < 1.1 * charted.read_bytes
    print(f"{len(reads.extents)} reads, {reads.size_bytes} bytes of {charted.read_bytes}")

    second = run_campaign(
        Trial(
            out=out / "traced",
            plan=_TRACED,
            drives=[drive],
            prepare_stick=lambda stick: put_file(stick, "boot.csv", text),
            from_start=True,
        )
    )
    assert second.ok, f"{second.outcome}: {second.reason}"
    boots = [(row.cycle, row.read_bytes) for row in second.boot_times()]
    assert boots == [(1, reads.size_bytes), (2, reads.size_bytes)]
    for stats in second.stats.values():
        assert all(one["write_bytes"] + one["trim_bytes"] == 0 for one in stats)
        assert sum(one["read_bytes"] >= reads.size_bytes for one in stats) == 2


_COOLED = """\
version = 1
[campaign]
name = "Cooled"
autostart = true
on_finish = "poweroff"
[[drive]]
serial = "LAB-FORGETS"
[[drive]]
serial = "LAB-KEEPS"
[boot]
mode = "replay"
cycles = 2
boot_set = "8M"
wake_margin = 60
cool = "evict"
"""


@pytest.mark.long
def test_a_hybrid_is_made_to_forget_and_one_that_keeps_all_is_told(out: Path) -> None:
    # Each read costs the emulated processor its time: the smallest drives that a plan takes.
    hybrid = ModelledDrive(
        serial="LAB-FORGETS",
        model="sshd",
        size_bytes=768 << 20,
        nand_bytes=64 << 20,
        curve=SeekCurve().quicker(2),
    )
    drives = [hybrid, replace(hybrid, serial="LAB-KEEPS", nand_bytes=768 << 20)]
    result = run_campaign(Trial(out=out, plan=_COOLED, drives=drives, icount_shift=0))

    assert result.ok, f"{result.outcome}: {result.reason}"
    boots: dict[str, list[float]] = {}
    for row in result.boot_times():
        assert row.boot_s is not None
        boots.setdefault(row.drive_serial, []).append(row.boot_s)
    print(boots)
    forgets, keeps = (seconds[0] / seconds[1] for _, seconds in sorted(boots.items()))
    assert 0.8 < forgets < 1.25, "each boot is like the first"
    assert keeps > 2, "it has learned all the same"
    assert result.database is not None
    with closing(sqlite3.connect(result.database)) as connection:
        rows = connection.execute(
            "SELECT drive_serial, cycle, proof, remembered_before, remembered_after, rounds,"
            " read_bytes FROM coolings ORDER BY 1, 2"
        ).fetchall()
        print(rows)
        cooling = connection.execute("SELECT DISTINCT drive_serial, cooling FROM boot_times")
        assert dict(cooling.fetchall())["LAB-FORGETS"] == "proven"
    last = {row[0]: row[2:] for row in rows}
    assert last["LAB-FORGETS"][0] == "proven"
    assert last["LAB-FORGETS"][1] > 12
    assert last["LAB-FORGETS"][2] <= 4
    assert last["LAB-KEEPS"][0] == "unproven"
    assert last["LAB-KEEPS"][2] > 12
    for name, stats in result.stats.items():
        assert all(one["write_bytes"] + one["trim_bytes"] == 0 for one in stats), name


def _check_reads(result: Result) -> None:
    assert result.database is not None
    with closing(sqlite3.connect(result.database)) as connection:
        before = connection.execute(
            "SELECT drive_serial, cycle, before_read_ios, before_read_bytes FROM replays"
        ).fetchall()
        print(before)
        assert len(before) == 3 * _CYCLES
        # What udev and the kernel had read by then is stored, and is little.
        assert all(0 < row[3] < _SET_BYTES for row in before)
        reads = connection.execute(
            "SELECT drive_serial, cycle, sum(length_bytes), min(read_ns) FROM replay_reads"
            " GROUP BY 1, 2"
        ).fetchall()
        assert all(row[2] == _SET_BYTES and row[3] > 0 for row in reads)
        assert len(reads) == 3 * _CYCLES
