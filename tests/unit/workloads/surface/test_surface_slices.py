# SPDX-License-Identifier: Apache-2.0
"""Where a surface scan reads, and what its answers add up to."""

import random
from itertools import pairwise

import pytest

from appliance.statistics.stats import find_share_shown
from appliance.workloads.surface.keys import ALIGNMENT_BYTES, SLICES
from appliance.workloads.surface.slices import (
    CHUNK_BYTES,
    REQUEST_BYTES,
    SLOW_FLOOR_S,
    WINDOW_BYTES,
    Piece,
    Tally,
    cut_requests,
    describe_sample,
    draw_chunks,
    find_percentile,
    make_slices,
    round_ns,
)

_SIZES = (SLICES * ALIGNMENT_BYTES, 256 << 20, (256 << 20) + 512, 500_107_862_016, 4 << 40)


@pytest.mark.parametrize("size_bytes", _SIZES)
def test_slices_make_up_the_drive_and_begin_at_blocks(size_bytes: int) -> None:
    slices = make_slices(size_bytes)
    assert len(slices) == SLICES
    assert slices[0].first_byte == 0
    assert slices[-1].end_byte == size_bytes
    for before, after in pairwise(slices):
        assert before.end_byte == after.first_byte
    assert not any(each.first_byte % ALIGNMENT_BYTES for each in slices)
    sizes = [each.size_bytes for each in slices]
    assert max(sizes) - min(sizes) <= 2 * ALIGNMENT_BYTES


def test_a_drive_of_fewer_blocks_than_slices_is_refused() -> None:
    with pytest.raises(ValueError, match="less than 100 slices"):
        make_slices(SLICES * ALIGNMENT_BYTES - 1)


def test_all_of_a_slice_is_read_in_requests() -> None:
    within = Piece(8 << 20, (3 << 20) + 512)
    chunks = draw_chunks(within, sample=1.0, seed="1")
    assert chunks == (within,)
    requests = list(cut_requests(chunks))
    assert [each.size_bytes for each in requests] == [REQUEST_BYTES] * 3 + [512]
    assert requests[-1].end_byte == within.end_byte


@pytest.mark.parametrize("sample", [0.001, 0.1, 0.33, 0.5, 0.97])
@pytest.mark.parametrize("size_bytes", [ALIGNMENT_BYTES, 2_700_000, 41 << 20, 10 << 30])
def test_chunks_lie_within_the_slice_in_order_and_apart(sample: float, size_bytes: int) -> None:
    within = Piece(1 << 30, size_bytes)
    for seed in range(20):
        chunks = draw_chunks(within, sample=sample, seed=str(seed))
        assert chunks
        assert not any(each.first_byte % ALIGNMENT_BYTES for each in chunks)
        assert chunks[0].first_byte >= within.first_byte
        assert chunks[-1].end_byte <= within.end_byte
        for before, after in pairwise(chunks):
            assert before.end_byte <= after.first_byte


def test_a_sample_is_as_large_as_asked_for_and_drawn_again_by_each_seed() -> None:
    within = Piece(0, 10 << 30)
    first = draw_chunks(within, sample=0.1, seed="1")
    assert sum(each.size_bytes for each in first) == pytest.approx(0.1 * (10 << 30), rel=0.01)
    assert {each.size_bytes for each in first} == {CHUNK_BYTES}
    assert draw_chunks(within, sample=0.1, seed="1") == first
    assert draw_chunks(within, sample=0.1, seed="2") != first
    small = draw_chunks(Piece(0, 2_621_440), sample=0.1, seed="1")
    assert sum(each.size_bytes for each in small) == pytest.approx(262_144, abs=ALIGNMENT_BYTES)


@pytest.mark.parametrize("sample", [0.02, 0.25, 0.3, 0.9])
def test_a_sample_of_a_small_drive_is_as_large_as_asked_for(sample: float) -> None:
    within = Piece(0, (2 << 30) // SLICES)  # 1.28 chunks at 0.25
    chunks = draw_chunks(within, sample=sample, seed="1")
    assert sum(each.size_bytes for each in chunks) == pytest.approx(
        sample * within.size_bytes, rel=0.01
    )
    assert max(each.size_bytes for each in chunks) <= CHUNK_BYTES


def test_every_block_of_a_slice_can_be_drawn() -> None:
    within = Piece(0, 16 * ALIGNMENT_BYTES)
    met = {
        chunk.first_byte // ALIGNMENT_BYTES
        for seed in range(500)
        for chunk in draw_chunks(within, sample=1 / 16, seed=str(seed))
    }
    assert met == set(range(16))


@pytest.mark.parametrize(
    ("chunks", "share"),
    # Three divided by n, the rule of three, is close from 30 on.
    [(1, 0.95), (10, 0.2589), (100, 0.02951), (1000, 0.002991), (0, 1.0)],
)
def test_a_sample_shows_what_the_formula_says(chunks: int, share: float) -> None:
    assert find_share_shown(chunks) == pytest.approx(share, rel=1e-3)


def test_the_formula_holds_for_draws() -> None:
    numbers = random.Random(1)
    share = find_share_shown(50)
    met = sum(any(numbers.random() < share for _ in range(50)) for _ in range(4000))
    assert met / 4000 == pytest.approx(0.95, abs=0.015)


def test_a_sample_says_how_little_it_says() -> None:
    text = describe_sample(300, read_bytes=1 << 30, size_bytes=10 << 30)
    assert text.startswith("a sample: 10.0 % of the drive was read, in 300 places")
    assert "95 % probability if 0.99 % of all such places are" in text
    assert "defects lie together" in text


def _make_tally(seconds: list[float]) -> Tally:
    tally = Tally()
    for number, each in enumerate(seconds):
        tally.add(Piece(number * REQUEST_BYTES, REQUEST_BYTES), each, each)
    return tally


def test_rates_are_over_windows_and_over_all() -> None:
    per_window = WINDOW_BYTES // REQUEST_BYTES
    tally = _make_tally([0.01] * per_window + [0.02] * per_window + [0.04] * per_window)
    rates = tally.find_rates()
    assert rates.highest == pytest.approx(REQUEST_BYTES / 0.01)
    assert rates.lowest == pytest.approx(REQUEST_BYTES / 0.04)
    assert rates.mean == pytest.approx(3 * REQUEST_BYTES / 0.07)


def test_less_than_a_window_is_one_window() -> None:
    rates = _make_tally([0.01, 0.03]).find_rates()
    assert rates.lowest == rates.highest == rates.mean == pytest.approx(REQUEST_BYTES / 0.02)
    assert Tally().find_rates().mean == 0


def test_windows_leave_nothing_out() -> None:
    # One request more than a window: too little for another one of its own.
    tally = _make_tally([0.01] * (WINDOW_BYTES // REQUEST_BYTES) + [1.0])
    rates = tally.find_rates()
    assert rates.lowest == rates.mean == pytest.approx(tally.bytes / tally.total_s)


@pytest.mark.parametrize(
    ("usual_s", "odd_s", "slow"),
    [
        (0.005, SLOW_FLOOR_S, False),  # ten times and more, but a busy bus could do it
        (0.005, 0.11, True),
        (0.05, 0.4, False),  # a slow stick
        (0.05, 0.6, True),
    ],
)
def test_an_outlier_is_far_from_its_slice_and_long(
    usual_s: float, odd_s: float, *, slow: bool
) -> None:
    found = _make_tally([usual_s, usual_s, odd_s, usual_s]).find_slow()
    assert found == (((Piece(2 * REQUEST_BYTES, REQUEST_BYTES), odd_s),) if slow else ())


def test_a_read_that_others_overtook_is_an_outlier_and_slows_no_rate() -> None:
    tally = _make_tally([0.008] * 40)
    odd = Piece(40 * REQUEST_BYTES, REQUEST_BYTES)
    tally.add(odd, 0.008, 0.69)
    assert tally.find_slow() == ((odd, 0.69),)
    assert find_percentile(tally.count_latencies(), 1.0) == pytest.approx(0.69e9, rel=0.01)
    assert tally.find_rates().lowest == pytest.approx(REQUEST_BYTES / 0.008)


@pytest.mark.parametrize("seconds", [0.0, 1e-9, 1.27e-7, 0.000_084, 0.0123, 0.5, 33.3])
def test_latencies_are_kept_within_a_hundredth(seconds: float) -> None:
    assert round_ns(seconds) == pytest.approx(seconds * 1e9, rel=0.01)


def test_percentiles_are_by_nearest_rank() -> None:
    latencies = {10: 50, 20: 49, 1000: 1}
    assert find_percentile(latencies, 0.5) == 10
    assert find_percentile(latencies, 0.51) == 20
    assert find_percentile(latencies, 0.99) == 20
    assert find_percentile(latencies, 1.0) == 1000
    assert find_percentile({}, 0.5) is None
