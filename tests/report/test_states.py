# SPDX-License-Identifier: Apache-2.0
"""The databases that pages are tested on hold no cache state which the engine would not store."""

import sqlite3
from itertools import groupby

import pytest

from appliance.caches.judge import judge_reads
from appliance.samples.model import PageCache

_REQUESTED: tuple[PageCache, ...] = ("cold", "warm", "bypass", "bounded")


def _find_impossible(connection: sqlite3.Connection) -> list[str]:
    """Figures whose state no request and no proof gives for the bytes that are stored beside it."""
    rows = connection.execute(
        "SELECT step_id, variant, metric, value, page_cache, page_cache_proof, began_cold"
        " FROM result ORDER BY step_id, variant, page_cache, page_cache_proof, began_cold"
    ).fetchall()
    found = []
    for (step, variant, *stored), own in groupby(
        rows, key=lambda row: (row[0], row[1], row[4], row[5], row[6])
    ):
        values = {row[2]: row[3] for row in own}
        if not {"app_read_bytes", "device_read_bytes"} <= values.keys():
            continue
        possible = [
            judge_reads(
                requested=requested,
                proven_before=proven,
                reason="",
                app_read_bytes=int(values["app_read_bytes"]),
                device_read_bytes=int(values["device_read_bytes"]),
            )
            for requested in _REQUESTED
            for proven in (True, False)
        ]
        if stored not in [[each.page_cache, each.proof, each.began_cold] for each in possible]:
            found.append(f"{step} {variant} {stored}")
    return found


@pytest.mark.parametrize("name", ["steps", "hybrid"])
def test_every_state_is_one_that_the_engine_makes(
    name: str, request: pytest.FixtureRequest
) -> None:
    connection: sqlite3.Connection = request.getfixturevalue(name)
    assert _find_impossible(connection) == []
    # The same check finds what was put in by hand.
    connection.execute(
        "UPDATE result SET page_cache = 'cold', page_cache_proof = 'proven', began_cold = 'proven'"
    )
    connection.execute("UPDATE result SET value = 0.9 * value WHERE metric = 'device_read_bytes'")
    assert _find_impossible(connection)
