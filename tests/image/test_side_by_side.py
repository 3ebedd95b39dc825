# SPDX-License-Identifier: Apache-2.0
"""Surfaces of several drives at the same time: one drive fails, one vanishes, power is cut."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.lab.campaign import Trial, run_campaign
from tests.lab.drives import ModelledDrive
from tests.lab.faults import parse_faults
from tests.lab.timing import Timing

_MIB = 1 << 20
_SERIALS = ("LAB-EVEN-1", "LAB-EVEN-2", "LAB-BAD-1", "LAB-GONE-1")
_PLAN = (
    """\
version = 1
[campaign]
name = "shelf"
autostart = true
on_finish = "poweroff"
"""
    + "".join(f'[[drive]]\nserial = "{serial}"\n' for serial in _SERIALS)
    + """\
[[workload]]
kind = "surface"
"""
)
_FAULTS = {
    # With all of them busy.
    "LAB-EVEN-1": ["cut@boot1+16M"],
    "LAB-BAD-1": ["read-error@20M+64K"],
    "LAB-GONE-1": ["vanish@after40M"],
}


def test_drives_are_read_at_once_and_none_holds_up_another(out: Path) -> None:
    drives = [
        ModelledDrive(
            serial=serial,
            name=serial,
            bus="scsi",
            size_bytes=128 * _MIB,
            timing=Timing(rate_bytes_s=2 * _MIB),
            faults=parse_faults(_FAULTS.get(serial, [])),
        )
        for serial in _SERIALS
    ]
    result = run_campaign(Trial(out=out, plan=_PLAN, drives=drives))
    assert result.cuts_made == 1
    assert result.outcome == "done", result.reason
    assert result.lines_of("campaign-done")[-1].fields["failed"] == "1"
    assert result.database is not None
    with closing(sqlite3.connect(result.database)) as database:
        steps = database.execute(
            "SELECT device, state, started_at, finished_at FROM step ORDER BY position"
        ).fetchall()
        assert [(device, state) for device, state, *_ in steps] == [
            ("LAB-EVEN-1", "done"),
            ("LAB-EVEN-2", "done"),
            ("LAB-BAD-1", "done"),
            ("LAB-GONE-1", "failed"),
        ]
        last_begun = max(begun for *_, begun, _ in steps)
        assert last_begun < min(ended for *_, ended in steps), "one waited for another one's end"
        slices = database.execute(
            "SELECT t.device, count(DISTINCT s.slice), count(*), sum(s.read_bytes)"
            " FROM surface_slice s JOIN step t ON t.id = s.step_id GROUP BY t.device"
        ).fetchall()
        counted = {device: rest for device, *rest in slices}
        assert counted["LAB-EVEN-1"] == counted["LAB-EVEN-2"] == [100, 100, 128 * _MIB]
        assert counted["LAB-BAD-1"] == [100, 100, 128 * _MIB - 65536]
        assert 0 < counted["LAB-GONE-1"][0] < 100
        beside = dict(
            database.execute(
                "SELECT drive_serial, max(beside) FROM results WHERE metric = 'bw_bytes_s'"
                " GROUP BY drive_serial"
            ).fetchall()
        )
        assert beside == dict.fromkeys(_SERIALS, 3)
        # The sum of a scan was taken beside as many drives as any of its slices.
        wholes = database.execute(
            "SELECT DISTINCT beside FROM results WHERE variant = 'whole'"
        ).fetchall()
        assert wholes == [(3,)]
    for drive in drives:
        assert result.written_bytes(drive.name) == 0, f"{drive.name} was written to"
