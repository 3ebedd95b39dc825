"""Replay mode: learning shows without a release, and nothing is ever written to a drive."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.lab.campaign import Result, Trial, run_campaign
from tests.lab.demo import boots_by_drive, format_table
from tests.lab.drives import DEFAULT_DRIVES

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


@pytest.mark.long
def test_a_replay_shows_the_hybrid_and_writes_nothing(out: Path) -> None:
    result = run_campaign(
        Trial(
            out=out,
            plan=_PLAN,
            # The head of a real disk, in the time of the emulated processor (see tests.lab.demo).
            drives=tuple(replace(each, curve=each.curve.quicker(2)) for each in DEFAULT_DRIVES),
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
