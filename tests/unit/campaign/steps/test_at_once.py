# SPDX-License-Identifier: Apache-2.0
"""How many drives a machine carries."""

import pytest

from appliance.campaign.steps.at_once import DRIVE_BYTES, count_at_once, find_carried

_GIB = 1 << 30


@pytest.mark.parametrize(
    ("processors", "available_bytes", "carried"),
    [
        (1, 8 * _GIB, 16),
        (4, 8 * _GIB, 64),
        (4, 1 * _GIB, 21),
        (64, 0, 1),
        (2, 4 * DRIVE_BYTES, 2),
    ],
)
def test_processors_and_free_ram_decide(
    processors: int, available_bytes: int, carried: int
) -> None:
    assert find_carried(processors=processors, available_bytes=available_bytes) == carried


def test_the_plan_decides_where_it_says_so() -> None:
    assert count_at_once(7) == 7
    assert count_at_once(None) >= 1
