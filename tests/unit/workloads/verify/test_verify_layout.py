# SPDX-License-Identifier: Apache-2.0
"""Where verify writes: all of a drive, or pieces over all of it."""

from itertools import pairwise

import pytest

from appliance.workloads.verify.layout import (
    BLOCK_BYTES,
    STRETCHES,
    cut_stretch,
    plan_last_blocks,
    plan_pieces,
    stretch_bytes,
)
from appliance.workloads.verify.pattern import CHUNK_BYTES, Extent

GIB = 1 << 30


def _requests(pieces: tuple[Extent, ...]) -> list[Extent]:
    return [request for n in range(STRETCHES) for request in cut_stretch(pieces, n)]


@pytest.mark.parametrize("drive", [8 * GIB, 8 * GIB + 512, 256 << 20, (3 << 20) + 512, 4096])
def test_all_of_a_drive_is_every_byte_once(drive: int) -> None:
    requests = _requests(plan_pieces(drive, 0, seed=1))
    assert requests[0].first_byte == 0
    assert requests[-1].end_byte == drive
    assert all(one.end_byte == other.first_byte for one, other in pairwise(requests))


def test_as_much_as_the_drive_has_is_all_of_it() -> None:
    assert plan_pieces(GIB, GIB, seed=1) == plan_pieces(GIB, 0, seed=1)


@pytest.mark.parametrize("size", [4096, 1 << 20, 64 << 20, 2 * GIB])
@pytest.mark.parametrize("drive", [8 * GIB, 7 * GIB + 123 * 512])
def test_a_sample_has_both_ends_and_the_powers_of_two(drive: int, size: int) -> None:
    pieces = plan_pieces(drive, size, seed=1)
    starts = {piece.first_byte for piece in pieces}

    def is_covered(byte: int) -> bool:
        return any(piece.first_byte <= byte < piece.end_byte for piece in pieces)

    assert 0 in starts
    assert pieces[-1].end_byte == drive
    assert all(is_covered(1 << n) for n in range(17, 33) if 1 << n < drive)
    # No more than the pieces that must be there on top of what was asked for.
    total = sum(piece.size_bytes for piece in pieces)
    assert size * 0.9 - BLOCK_BYTES <= total <= size + 40 * pieces[0].size_bytes
    assert all(one.end_byte <= other.first_byte for one, other in pairwise(pieces))
    assert all(piece.first_byte % BLOCK_BYTES == 0 for piece in pieces)


def test_a_sample_is_spread_over_the_whole_drive() -> None:
    pieces = plan_pieces(64 * GIB, GIB, seed=1)
    tenths = {piece.first_byte * 10 // (64 * GIB) for piece in pieces}
    assert tenths == set(range(10))


def test_the_same_seed_gives_the_same_places_and_another_one_others() -> None:
    assert plan_pieces(8 * GIB, 1 << 26, seed=1) == plan_pieces(8 * GIB, 1 << 26, seed=1)
    assert plan_pieces(8 * GIB, 1 << 26, seed=1) != plan_pieces(8 * GIB, 1 << 26, seed=2)


@pytest.mark.parametrize("size", [0, 1 << 26, 1 << 20])
def test_no_request_crosses_a_chunk_and_stretches_add_up(size: int) -> None:
    pieces = plan_pieces(GIB + 512, size, seed=1)
    for request in _requests(pieces):
        last = request.end_byte - 1
        assert request.first_byte // CHUNK_BYTES == last // CHUNK_BYTES
    total = sum(piece.size_bytes for piece in pieces)
    assert sum(stretch_bytes(pieces, n) for n in range(STRETCHES)) == total


@pytest.mark.parametrize("size", [0, 1 << 26, 4096])
def test_the_last_blocks_lie_within_what_was_written(size: int) -> None:
    pieces = plan_pieces(GIB, size, seed=1)
    blocks = plan_last_blocks(pieces, seed=1)
    assert blocks
    assert blocks == plan_last_blocks(pieces, seed=1)
    for block in blocks:
        assert any(
            piece.first_byte <= block.first_byte and block.end_byte <= piece.end_byte
            for piece in pieces
        )
