# SPDX-License-Identifier: Apache-2.0
"""A bcache array of a modelled disk and a small SSD beside its parts, as in the articles."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.lab.campaign import Cut, Result, Trial, run_campaign
from tests.lab.drives import ModelledDrive
from tests.lab.requestlog import parse_traffic
from tests.lab.timing import SeekCurve

# By its own clock the processor is ten times as quick as on most hosts; a disk at its usual pace
# then takes most of the time, as a real one does beside a real processor.
_ICOUNT_SHIFT = 0
_DISK = ModelledDrive(serial="LAB-DISK-1", model="hdd", size_bytes=1 << 30)
_FLASH = ModelledDrive(serial="LAB-FLASH-1", model="ssd", size_bytes=512 << 20)
# Neither in the plan nor released.
_OTHER = ModelledDrive(serial="LAB-OTHER-1", model="ssd", size_bytes=64 << 20)
_ARRAY = """\
[[drive]]
serial = "LAB-DISK-1"
role = "backing"
erase = "LAB-DISK-1"
[[drive]]
serial = "LAB-FLASH-1"
role = "cache"
erase = "LAB-FLASH-1"
[array]
kind = "bcache"
cache_mode = "writeback"
bucket = "64K"
"""
_CAMPAIGN = """\
version = 1
[campaign]
name = "disk, flash and array"
autostart = true
on_finish = "poweroff"
"""
_SQL = f"""\
{_CAMPAIGN}
{_ARRAY}
[[workload]]
kind = "sql"
on = ["LAB-FLASH-1", "LAB-DISK-1", "array"]
data_size = "16M"
free_ram = "1700M"  # so much that nothing has to be filled first
filesystem = "ext4"
"""

# On the array itself: a file system would fill half of so small a cache before the first set. Of
# each pair the first part, which asks for each block once, brings in what the second one meets.
_SWEEP = f"{_CAMPAIGN}{_ARRAY}" + "".join(
    f"""\
[[workload]]
kind = "sweep"
on = "array"
filesystem = "none"
set_sizes = ["{size}"]
tests = ["rand-read"]
runtime = {runtime_s}
idle_timeout = 30
"""
    for size, runtime_s in (("16M", 12), ("80M", 40))
)

_STOPPED = "lab-stopped"
# Stops the engine in the middle of making the array, and of dismantling it once it was made: both
# are still under way, however late the power is cut. At the former the cache's journal of 64
# buckets is being cleared; at the latter the array has been assembled for it.
_STOP = f"""\
engine=$(systemctl show --value --property=MainPID kaltstart-engine)
flash=$(lsblk --nodeps --noheadings --output NAME,SERIAL | while read -r name serial; do
  [ "$serial" != LAB-FLASH-1 ] || echo "$name"
done)
pause() {{ read -r -t 0.01 -u 9; }}
stop() {{ kill -STOP "$engine"; echo '<2>kaltstart: {_STOPPED}' > /dev/kmsg; }}
written() {{ read -r -a counts < "/sys/block/$flash/stat"; sectors=${{counts[6]}}; }}
mkfifo /run/wait; exec 9<> /run/wait
before=
while read -r line; do
  [[ $line =~ 'kaltstart: array '.*state=([a-z]+) ]] || continue
  case $before:${{BASH_REMATCH[1]}} in
    :making)
      written; enough=$((sectors + (4 << 11)))
      until written; [ "$sectors" -ge "$enough" ]; do pause; done
      stop;;
    made:parting)
      until compgen -G '/sys/block/bcache*/bcache/cache_mode' > /dev/null; do pause; done
      stop;;
  esac
  before=${{BASH_REMATCH[1]}}
done < <(dmesg --follow)
"""


def test_an_array_lies_between_its_disk_and_its_ssd(out: Path) -> None:
    """Also: power may go while the array is made, and while it is dismantled."""
    cuts = [Cut(event=_STOPPED, nth=1), Cut(event=_STOPPED, nth=2)]
    trial = Trial(
        out=out,
        plan=_SQL,
        drives=(_DISK, _FLASH, _OTHER),
        cuts=cuts,
        agent=_STOP,
        icount_shift=_ICOUNT_SHIFT,
    )
    result = run_campaign(trial)
    assert result.cuts_made == 2
    assert [line.fields["state"] for line in result.lines_of("array")] == [
        "making",  # cut
        "parting", "apart", "making", "made", "parting",  # cut
        "parting", "apart",
    ]  # fmt: skip
    with _database_of(result) as database:
        _check_sql(database)
        _check_devices(database)
    _check_nothing_is_left(result)


@pytest.mark.long
def test_a_working_set_twice_the_cache_is_not_answered_by_it(out: Path) -> None:
    """D2 and D4. The disk is quick, so that 40 s are enough to read most of the set once."""
    disk = replace(_DISK, curve=SeekCurve(min_s=0.0015, half_s=0.002, max_s=0.0025))
    flash = replace(_FLASH, size_bytes=42 << 20)
    result = run_campaign(Trial(out=out, plan=_SWEEP, drives=(disk, flash, _OTHER)))
    with _database_of(result) as database:
        _check_sweep(database)
        _check_devices(database)
    _check_nothing_is_left(result)


@contextmanager
def _database_of(result: Result) -> Iterator[sqlite3.Connection]:
    """What a campaign that ended well has stored."""
    assert result.ok, f"{result.outcome}: {result.reason}"
    assert result.database is not None
    with closing(sqlite3.connect(result.database)) as database:
        database.row_factory = sqlite3.Row
        states = [row["state"] for row in database.execute("SELECT state FROM array_made")]
        assert set(states) == {"apart"}
        yield database


def _check_sql(database: sqlite3.Connection) -> None:
    """C2: the array is far from its disk and near its SSD."""
    total_s = {
        row["device"]: row["value"]
        for row in database.execute(
            "SELECT device, value FROM results WHERE workload = 'sql' AND variant = 'total'"
            " AND metric = 'seconds'"
        )
    }
    print(total_s)
    assert total_s["array"] < 0.7 * total_s["LAB-DISK-1"]
    # The modelled SSD takes no time at all: only what bcache adds, some percent, lies between them.
    assert total_s["LAB-FLASH-1"] < 1.2 * total_s["array"]


def _check_sweep(database: sqlite3.Connection) -> None:
    """A set that fits is answered by the cache; of one twice as big, some; and the pair differs.

    Without norandommap no block is read twice, and each miss drives out one that is still to come.
    """
    hits, iops = (
        dict(
            database.execute(
                "SELECT replace(variant, 'array/', ''), value FROM results WHERE workload = 'sweep'"
                " AND metric = ? AND variant LIKE ?",
                where,
            ).fetchall()
        )
        for where in (("hit_ratio", "array/%"), ("iops", "%"))
    )
    print(hits, iops)
    fits = "16M/rand-read/norandommap"
    once, again = "80M/rand-read/randommap", "80M/rand-read/norandommap"
    assert hits[fits] > 0.9
    assert 0.1 < hits[once] + 0.1 < hits[again] < 0.75
    assert iops[fits] > 1.5 * iops[again]


def _check_devices(database: sqlite3.Connection) -> None:
    """C4: the three devices at once; each figure carries the array's mode and dirty bytes."""
    rows = database.execute(
        "SELECT DISTINCT activity.device FROM activity JOIN step ON step.id = step_id"
        " WHERE step.device = 'array'"
    ).fetchall()
    assert {row["device"] for row in rows} == {"array", "LAB-DISK-1", "LAB-FLASH-1"}
    modes = database.execute(
        "SELECT DISTINCT array_mode, array_dirty_bytes IS NULL AS unknown FROM results"
        " WHERE device = 'array'"
    ).fetchall()
    assert [tuple(row) for row in modes] == [("writeback", 0)]
    alone = database.execute("SELECT count(*) FROM results WHERE device != 'array' AND array_mode")
    assert alone.fetchone()[0] == 0
    assert database.execute("SELECT count(*) FROM array_dirty").fetchone()[0] > 0


def _check_nothing_is_left(result: Result) -> None:
    """No superblock on the members, nothing written to the bystander."""
    for name in ("LAB-DISK-1", "LAB-FLASH-1"):
        head = (result.out / "drives" / f"{name}.raw").read_bytes()[: 64 << 10]
        assert _MAGIC not in head, name
    assert parse_traffic((result.out / "drives/LAB-OTHER-1.log").read_text()).write_bytes == 0


# uuid of bcache's superblock (include/uapi/linux/bcache.h: bcache_magic).
_MAGIC = bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81")
