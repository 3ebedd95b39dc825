# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.lab.volatile_cache import SECTOR_BYTES, VolatileCache, Write

_OLD, _NEW = b"o" * 4096, b"n" * 4096


def after_cut(loses: str, *, seed: int, flushed: int, writes: int = 20) -> bytes:
    """A medium of one place per write, of which the first were flushed before the cut."""
    medium = bytearray(_OLD * writes)
    cache = VolatileCache(loses, seed=seed)
    for number in range(writes):
        offset = number * len(_NEW)
        cache.remember(Write(offset, bytes(medium[offset : offset + len(_NEW)]), _NEW))
        medium[offset : offset + len(_NEW)] = _NEW
        if number + 1 == flushed:
            cache.flush()
    assert cache.unflushed == writes - flushed
    for offset, content in cache.cut(1):
        medium[offset : offset + len(content)] = content
    assert cache.unflushed == 0
    return bytes(medium)


@pytest.mark.parametrize("loses", ["none", "all", "some", "torn"])
@pytest.mark.parametrize("seed", range(10))
def test_what_was_flushed_survives_each_way(loses: str, seed: int) -> None:
    assert after_cut(loses, seed=seed, flushed=5).startswith(_NEW * 5)


def test_all_loses_all_that_was_not_flushed() -> None:
    assert after_cut("all", seed=1, flushed=5) == _NEW * 5 + _OLD * 15


def test_some_keeps_whole_writes_out_of_order() -> None:
    survived = [
        after_cut("some", seed=1, flushed=0)[at : at + 4096] for at in range(0, 80 << 10, 4096)
    ]
    assert set(survived) == {_OLD, _NEW}
    # A later one survived an earlier one: a journal's commit may be there without what it commits.
    assert _OLD in survived[: survived.index(_NEW, survived.index(_OLD))]


def test_torn_keeps_sectors_and_parts_of_them() -> None:
    left = after_cut("torn", seed=3, flushed=0, writes=100)
    sectors = [left[at : at + SECTOR_BYTES] for at in range(0, len(left), SECTOR_BYTES)]
    whole = {_OLD[:SECTOR_BYTES], _NEW[:SECTOR_BYTES]}
    assert whole < set(sectors)
    torn = [sector for sector in sectors if sector not in whole]
    assert torn
    # New at its start, old at its end.
    assert all(sector == bytes(sorted(sector)) for sector in torn)


@pytest.mark.parametrize("loses", ["some", "torn"])
def test_a_seed_repeats_a_cut_and_another_does_not(loses: str) -> None:
    first = after_cut(loses, seed=7, flushed=0)
    assert after_cut(loses, seed=7, flushed=0) == first
    assert after_cut(loses, seed=8, flushed=0) != first


def test_a_place_written_twice_shows_the_later_write_or_the_earlier_or_what_was_there() -> None:
    seen = set()
    for seed in range(40):
        medium = bytearray(b"0")
        cache = VolatileCache("some", seed=seed)
        for new in (b"1", b"2"):
            cache.remember(Write(0, bytes(medium), new))
            medium[:] = new
        for _, content in cache.cut(1):
            medium[:] = content
        seen.add(bytes(medium))
    assert seen == {b"0", b"1", b"2"}


def test_nothing_is_remembered_where_nothing_is_lost() -> None:
    assert not VolatileCache("none", seed=1).remembers
    assert VolatileCache("all", seed=1).remembers


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(ValueError, match="none of none, all"):
        VolatileCache("half", seed=1)
