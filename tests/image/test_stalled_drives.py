# SPDX-License-Identifier: Apache-2.0
"""A drive that no longer answers blocks no other: its own work fails, all else is done.

The kernel of the machine never abandons such a drive (virtio's SCSI). It is set to try for half a
second only, as a user in a hurry may do: so the engine waits 20 s and not 20 minutes.
"""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from tests.lab.campaign import Cut, Limits, Result, Trial, run_campaign
from tests.lab.drives import ModelledDrive
from tests.lab.faults import parse_faults

_SILENT = "LAB-SILENT-1"
_SIZE = 128 << 20
_HURRY = """\
for each in /sys/block/sd*; do
  case $(readlink -f "$each") in */virtio*) echo 500 > "$each/queue/io_timeout";; esac
done
"""
_HEAD = """\
version = 1
[campaign]
name = "one falls silent"
at_once = 1
autostart = true
on_finish = "poweroff"
"""
_READ = """\
[[drive]]
serial = "LAB-FIRST-1"
[[drive]]
serial = "LAB-SILENT-1"
[[drive]]
serial = "LAB-LAST-1"
"""
_ERASE = "".join(
    f'[[drive]]\nserial = "{serial}"\nerase = "{serial}"\n'
    for serial in ("LAB-FIRST-1", _SILENT, "LAB-LAST-1")
)


def _drives(size_bytes: int = _SIZE, *, silent: str = "stall@99999s") -> list[ModelledDrive]:
    return [
        ModelledDrive(serial="LAB-FIRST-1", size_bytes=size_bytes),
        ModelledDrive(
            serial=_SILENT,
            bus="scsi",
            size_bytes=size_bytes,
            # By default never of itself within these tests.
            faults=parse_faults([silent]),
        ),
        ModelledDrive(serial="LAB-LAST-1", size_bytes=size_bytes),
    ]


def _check(result: Result, *, states: list[str], what: str = "") -> None:
    """The steps in their order; the silent drive's have failed by it, and all is judged."""
    assert result.outcome == "done", f"{result.outcome}: {result.reason}"
    assert result.database is not None
    assert result.report is not None
    assert (result.report / "report.html").exists()
    with closing(sqlite3.connect(result.database)) as database:
        steps = database.execute(
            "SELECT device, state, blame, reason FROM step ORDER BY position"
        ).fetchall()
        assert [state for _, state, _, _ in steps] == states, steps
        failed = [each for each in steps if each[1] == "failed"]
        assert {(device, blame) for device, _, blame, _ in failed} == {(_SILENT, "drive")}
        first, *further = [reason for *_, reason in failed]
        assert first.startswith(f"drive {_SILENT} has not answered for "), first
        assert what in first
        assert all(" does not answer since " in reason for reason in further), further
        verdicts = dict(database.execute("SELECT drive_serial, verdict FROM verdicts").fetchall())
    assert verdicts.keys() == {"LAB-FIRST-1", _SILENT, "LAB-LAST-1"}
    assert verdicts[_SILENT] == "reject"


def test_a_drive_that_falls_silent_holds_up_no_other(out: Path) -> None:
    """In the middle of a read; its second workload is not even begun."""
    again = f'[[workload]]\nkind = "surface"\non = "{_SILENT}"\nsample = 0.1\n'
    plan = f'{_HEAD}{_READ}[[workload]]\nkind = "surface"\n{again}'
    trial = Trial(out=out, plan=plan, drives=_drives(silent="stall@after32M"), agent=_HURRY)
    result = run_campaign(trial)
    _check(result, states=["done", "failed", "done", "failed"], what="surface: slice")
    assert result.written_bytes(_SILENT) == 0
    with closing(sqlite3.connect(result.database or "")) as database:
        (slices,) = database.execute(
            "SELECT count(*) FROM slices JOIN step ON step.id = step_id WHERE device = ?",
            (_SILENT,),
        ).fetchone()
    assert slices > 0, "what was stored of it before is there"


@pytest.mark.long
@pytest.mark.parametrize(
    ("workload", "silent", "silences"),
    [
        # While it is unlocked, cleared and given a file system.
        (
            'kind = "lottery"\nfilesystem = "ext4"\nfile_size = "2M"\n',
            "stall@99999s",
            {_SILENT: Cut(event="step-done")},
        ),
        # Files are laid out, each with an fsync.
        ('kind = "lottery"\nfilesystem = "xfs"\nfile_size = "8M"\n', "stall@after96M", {}),
        # A pattern is written past the page cache.
        ('kind = "verify"\nsize = "64M"\n', "stall@after24M", {}),
        # By a program.
        (
            'kind = "fio"\nfilesystem = "btrfs"\nsize = "64M"\ntests = ["seq-write"]\n',
            "stall@after32M",
            {},
        ),
    ],
    ids=["clearing", "fsync", "pattern", "fio"],
)
def test_wherever_a_drive_falls_silent_the_others_are_measured(
    out: Path, workload: str, silent: str, silences: Mapping[str, Cut]
) -> None:
    trial = Trial(
        out=out,
        plan=f"{_HEAD}{_ERASE}[[workload]]\n{workload}[[workload]]\n{workload}",
        drives=_drives(512 << 20, silent=silent),
        agent=_HURRY,
        silences=silences,
        await_off=True,
        limits=Limits(off_after_done_s=900),
    )
    result = run_campaign(trial)
    _check(result, states=["done", "failed", "done"] * 2)
    assert "power cut" not in (out / "serial.log").read_text(), "it did not go off on its own"


@pytest.mark.long
def test_a_drive_that_is_silent_before_its_boots_costs_only_them(out: Path) -> None:
    """It hangs while the reference OS is written to it."""
    plan = (
        f'{_HEAD}{_ERASE}[boot]\ncycles = 1\ncharts = "none"\nboot_set = "8M"\nwake_margin = 60\n'
    )
    trial = Trial(
        out=out,
        plan=plan,
        drives=_drives(2 << 30, silent="stall@after64M"),
        agent=_HURRY,
    )
    result = run_campaign(trial)
    assert result.outcome == "done", f"{result.outcome}: {result.reason}"
    assert {boot.drive_serial for boot in result.boot_times() if boot.boot_s} == {
        "LAB-FIRST-1",
        "LAB-LAST-1",
    }
    assert result.database is not None
    with closing(sqlite3.connect(result.database)) as database:
        rows = database.execute(
            "SELECT serial, failed_reason FROM campaign_drive JOIN drive ON drive.id = drive_id"
            " WHERE failed_reason != ''"
        ).fetchall()
    ((serial, reason),) = rows
    assert serial == _SILENT
    assert reason.startswith(f"drive {_SILENT} has not answered for ")


# What the interface does when a key is pressed: it stores a request, and the engine answers.
_STOP = (
    _HURRY
    + """\
until grep -qs 'no answer from the drive' /run/kaltstart/status.json; do sleep 1; done
python3 -c '
from appliance.stick.partitions import DATABASE
from appliance.store.connect import open_database
from appliance.store.tables.requests import insert_request
insert_request(open_database(DATABASE), "stop", {}, at="2026-11-21T03:20:00.000Z", boot_id="")'
"""
)


@pytest.mark.long
def test_a_key_is_heard_while_a_drive_does_not_answer(out: Path) -> None:
    trial = Trial(
        out=out,
        plan=f'{_HEAD}{_READ}[[workload]]\nkind = "surface"\n',
        drives=_drives(silent="stall@after32M"),
        # Of its own it would be waited for for ten minutes.
        agent=_STOP.replace("500", "15000"),
    )
    result = run_campaign(trial)
    assert (result.outcome, result.reason) == ("paused", "stopped by a key or a command")
    assert result.database is not None
    with closing(sqlite3.connect(result.database)) as database:
        states = database.execute("SELECT state FROM step ORDER BY position").fetchall()
    assert [state for (state,) in states] == ["done", "planned", "planned"]
