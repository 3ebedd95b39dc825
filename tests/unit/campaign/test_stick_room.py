# SPDX-License-Identifier: Apache-2.0
"""Room on the stick: refused, told, or nothing said."""

from dataclasses import replace

import pytest

from appliance.campaign.stick_room import StickRoom, judge_room
from appliance.campaign.storage_estimate import StorageEstimate

_MB = 1_000_000
_WANTED = StorageEstimate(
    rows_bytes=100 * _MB,
    raw_bytes=10 * _MB,
    least_bytes=40 * _MB,
    report_bytes=30 * _MB,
    copied_bytes=100 * _MB,
)
_PLENTY = StickRoom(data_bytes=8000 * _MB, database_bytes=50 * _MB, fat_bytes=310 * _MB)


def test_where_all_fits_nothing_is_said() -> None:
    found = judge_room(_WANTED, _PLENTY)
    assert (found.refusal, found.warnings) == ("", ())


def test_what_cannot_fit_is_refused_with_what_to_do() -> None:
    found = judge_room(_WANTED, replace(_PLENTY, data_bytes=48 * _MB))
    assert found.refusal == (
        "the stick's partition kaltstart-data has no room for it: at least 48 MB would be stored"
        " there, 48 MB are free; take a larger stick, delete the raw output of old campaigns"
        " there, or leave out what takes longest: each second that a step works on a drive is a row"
    )


@pytest.mark.parametrize(
    ("room", "said"),
    [
        (
            replace(_PLENTY, data_bytes=49 * _MB),
            "kaltstart-data may become full: about 318 MB with two copies of the database, 49 MB a",
        ),
        (
            replace(_PLENTY, fat_bytes=29 * _MB),
            "KALTSTART has no room for the report: it takes about 30 MB, 29 MB are free; copy",
        ),
        (
            replace(_PLENTY, fat_bytes=279 * _MB),
            "with them it takes about 280 MB, 279 MB are free; its pages and tables fit; copy",
        ),
    ],
)
def test_what_may_not_fit_is_told(room: StickRoom, said: str) -> None:
    found = judge_room(_WANTED, room)
    assert found.refusal == ""
    (warning,) = found.warnings
    assert said in warning
