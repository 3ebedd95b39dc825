# SPDX-License-Identifier: Apache-2.0
"""Who holds whom up: drives behind a narrow link are named, and drives with room are not."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.lab.campaign import Trial, run_campaign
from tests.lab.drives import ModelledDrive
from tests.lab.timing import Timing

_RATE = 10_000_000
_LINK = 15_000_000
_SHARING = ("LAB-SHARE-1", "LAB-SHARE-2", "LAB-SHARE-3")
_OWN = ("LAB-OWN-1", "LAB-OWN-2")
_PLAN = (
    """\
version = 1
[campaign]
name = "who holds whom up"
autostart = true
on_finish = "poweroff"
"""
    + "".join(f'[[drive]]\nserial = "{serial}"\n' for serial in (*_SHARING, *_OWN))
    + f"""\
[[workload]]
kind = "contention"
on = {[*_SHARING, _OWN[0]]}
rounds = 3
[[workload]]
kind = "contention"
on = {[*_OWN]}
rounds = 3
""".replace("'", '"')
)


def _make_drive(serial: str) -> ModelledDrive:
    shares = serial in _SHARING
    return ModelledDrive(
        serial=serial,
        name=serial,
        bus="scsi" if shares else "sata",
        size_bytes=2 << 30,
        timing=Timing(rate_bytes_s=_RATE),
        link_bytes_s=_LINK if shares else 0,
    )


def test_drives_behind_a_narrow_link_are_named_and_the_others_are_not(out: Path) -> None:
    drives = [_make_drive(serial) for serial in (*_SHARING, *_OWN)]
    result = run_campaign(Trial(out=out, plan=_PLAN, drives=drives, processors=2))
    assert result.ok, f"{result.outcome}: {result.reason}"
    assert not any(result.written_bytes(drive.name) for drive in drives)
    assert result.database is not None
    with closing(sqlite3.connect(result.database)) as database:
        rows = database.execute(
            "SELECT drive_serial, variant, beside, page_cache, page_cache_proof, value FROM results"
            " WHERE metric = 'bw_bytes_s' AND workload = 'contention'"
        ).fetchall()
    assert len(rows) == 6 * (4 + 2)
    assert {(cache, proof) for *_, cache, proof, _ in rows} == {("bypass", "proven")}
    together = {beside for _, variant, beside, *_ in rows if variant.startswith("together")}
    alone = {beside for _, variant, beside, *_ in rows if variant.startswith("alone")}
    assert (alone, together) == ({0}, {1, 3})

    assert result.report is not None
    page = (result.report / "report.html").read_text()
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
    said = re.findall(r"3 drives behind PCI \S+ \(virtio-pci\)[^;]* share ([\d.]+) MB/s;", text)
    assert said, "the narrow link is not named"
    assert abs(float(said[0]) / (_LINK / 1e6) - 1) < 0.25, said
    assert "no drive is slowed down by the others: 2 drives were read alone" in text
    assert "falls behind when all drives work" not in text
