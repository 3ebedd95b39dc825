# SPDX-License-Identifier: Apache-2.0
"""Page and verdict of a campaign call the same boots settled, though boots between them failed."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from appliance.report.series import make_series
from appliance.store.read.campaign import select_campaign
from appliance.verdict.gather import gather_evidence
from tests.report.database import Boot, Disk, make_database


@pytest.mark.parametrize(
    ("cycles", "boot_s", "settled_s"),
    [
        ((1, 2, 3, 4, 5, 6, 7), (20.0, 20.1, 19.9, 20.0, 20.2, 20.0, 19.9), 20.0),
        ((1, 3, 5, 7, 9, 10, 11, 12), (21.0, 18.8, 20.5, 20.4, 20.8, 19.8, 19.6, 20.2), None),
        ((2, 3, 4, 6, 7), (20.2, 19.3, 20.1, 20.0, 19.6), 20.0),
    ],
)
def test_failed_boots_leave_a_gap_for_both(
    tmp_path: Path, cycles: Sequence[int], boot_s: Sequence[float], settled_s: float | None
) -> None:
    times = dict(zip(cycles, boot_s, strict=True))
    boots = [Boot(cycle, times.get(cycle)) for cycle in range(1, max(cycles) + 1)]
    connection = make_database(tmp_path / "a.sqlite", disks=[Disk("A", "disk", boots=boots)])
    rows = select_campaign(connection, campaign_id=1)
    (series,) = make_series(rows.drives[0], rows.boots)
    (evidence,) = gather_evidence(connection, 1)
    assert series.settled_s == settled_s
    assert evidence.figures["boot_median_s"].value == settled_s
    connection.close()
