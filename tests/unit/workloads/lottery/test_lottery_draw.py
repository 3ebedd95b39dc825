# SPDX-License-Identifier: Apache-2.0
"""The draw: the same for ever for one seed, and computed without any database."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from appliance.caches.cachestat import Extent
from appliance.workloads.lottery.draw import (
    LotteryFile,
    draw_tickets,
    list_parts,
    spread_regions,
)
from appliance.workloads.lottery.keys import ALIGNMENT_BYTES, LotteryPlan

TICKETS = tuple(zip("abcdefghij", (4, 6, 8, 10, 12, 24, 18, 10, 6, 2), strict=True))

# Committed, so that a run can be repeated with the same seed on any later version.
SEED_1 = (
    "ggahfgfacgfdiihegeegbhfdceiehifdghfffgffcedeefbcdh"
    "hcbbchageffefgbbfjgjdhgffggaideffgidgedcffdcfghgff"
)


def make_plan(*, passes: tuple[str, ...] = ("cold", "direct"), repeat: int = 1) -> LotteryPlan:
    return LotteryPlan(
        on=(),
        filesystem="",
        file_size_bytes=100 << 20,
        tickets=TICKETS,
        passes=passes,  # type: ignore[arg-type]  # literals by parameter
        repeat=repeat,
        seed=1,
    )


def test_every_ticket_is_drawn_once() -> None:
    draws = draw_tickets(TICKETS, seed=7, repetition=1)

    assert Counter(draw.file for draw in draws) == dict(TICKETS)
    assert [draw.seq for draw in draws] == list(range(1, 101))


def test_the_order_of_a_seed_stays_what_it_was() -> None:
    assert "".join(draw.file for draw in draw_tickets(TICKETS, seed=1, repetition=1)) == SEED_1


def test_seeds_and_repetitions_draw_differently() -> None:
    orders = {
        tuple(draw.file for draw in draw_tickets(TICKETS, seed=seed, repetition=repetition))
        for seed in (1, 2)
        for repetition in (1, 2)
    }

    assert len(orders) == 4


def test_seq_and_nth_run_on_over_repetitions() -> None:
    second = draw_tickets(TICKETS, seed=1, repetition=2)
    own = [draw for draw in second if draw.file == "a"]

    assert [draw.seq for draw in second] == list(range(101, 201))
    assert [draw.nth for draw in own] == [5, 6, 7, 8]


def test_parts_and_the_names_of_their_rows() -> None:
    assert [part.name for part in list_parts(make_plan())] == ["cold", "direct"]

    parts = list_parts(make_plan(repeat=2))

    assert [part.name for part in parts] == ["cold/1", "direct/1", "cold/2", "direct/2"]
    assert [part.variant("f") for part in parts] == ["cold/f", "direct/f", "cold/f/2", "direct/f/2"]
    assert [part.variant() for part in parts] == ["cold", "direct", "cold/2", "direct/2"]


@pytest.mark.parametrize("device_bytes", [10 << 20, 1_000_204_886_016, 15_931_539_456])
def test_regions_lie_apart_aligned_and_over_the_whole_drive(device_bytes: int) -> None:
    regions = spread_regions(
        "abcdefghij", device=Path("/dev/sdx"), file_bytes=1 << 20, device_bytes=device_bytes
    )

    assert all(region.offset % ALIGNMENT_BYTES == 0 for region in regions)
    assert regions[0].offset == 0
    assert device_bytes - 2 * ALIGNMENT_BYTES < regions[-1].offset + regions[-1].length
    assert regions[-1].offset + regions[-1].length <= device_bytes
    for one, next_one in pairwise(regions):
        assert one.offset + one.length <= next_one.offset
    assert regions[3].target == Extent(Path("/dev/sdx"), regions[3].offset, 1 << 20)


def test_regions_are_whole_pages() -> None:
    (region,) = spread_regions("a", device=Path("/x"), file_bytes=5000, device_bytes=1 << 20)

    assert region == LotteryFile("a", Path("/x"), 8192, is_region=True)


def test_a_drive_that_is_too_small() -> None:
    with pytest.raises(ValueError, match="10 regions of 2097152 bytes in 20971519 bytes"):
        spread_regions(
            "abcdefghij", device=Path("/x"), file_bytes=(1 << 20) + 1, device_bytes=(20 << 20) - 1
        )
