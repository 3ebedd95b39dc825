# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.lab.flash import BLOCK_BYTES, Flash, Learning, Nand


def _flash(learning: Learning | None = None, *, blocks: int = 256) -> Flash:
    return Flash(capacity_bytes=blocks * BLOCK_BYTES, learning=learning or Learning())


def _read(flash: Flash, block: int, *, now_s: float = 0.0) -> bool:
    return flash.read(block * BLOCK_BYTES, BLOCK_BYTES, now_s=now_s)


def test_nand_forgets_the_least_recently_used_block() -> None:
    nand = Nand(capacity_bytes=2 * BLOCK_BYTES)
    nand.take([0, 1])
    assert nand.use([0, 3]) == [3]  # now block 1 is the older one
    nand.take([2])
    assert 0 in nand
    assert 1 not in nand
    assert len(nand) == 2


def test_it_has_a_range_only_as_a_whole() -> None:
    flash = _flash()
    flash.read(0, 8192, now_s=0)
    assert flash.read(512, 4096, now_s=0)
    assert not flash.read(4096, 8192, now_s=0)


def test_flash_of_no_size_learns_nothing() -> None:
    flash = _flash(blocks=0)
    assert not any(_read(flash, 0) for _ in range(3))


@pytest.mark.parametrize("nth", [1, 2, 4])
def test_a_block_is_promoted_with_its_nth_read(nth: int) -> None:
    flash = _flash(Learning(promote_after=nth))
    assert [_read(flash, 7) for _ in range(nth + 2)] == [False] * nth + [True, True]


def test_it_may_never_learn() -> None:
    flash = _flash(Learning(promote_after=0))
    assert not any(_read(flash, 7) for _ in range(20))
    assert flash.promoted_bytes == 0


def test_a_block_that_was_pushed_out_has_to_be_read_as_often_again() -> None:
    flash = _flash(Learning(promote_after=2), blocks=1)
    assert [_read(flash, block) for block in (0, 0, 1, 1)] == [False] * 4
    assert [_read(flash, 0) for _ in range(3)] == [False, False, True]


def test_it_learns_late() -> None:
    flash = _flash(Learning(delay_s=10))
    assert not _read(flash, 0, now_s=1)
    flash.rest(0, now_s=10.9)
    assert not _read(flash, 0, now_s=10.9)
    flash.rest(0, now_s=11)
    assert _read(flash, 0, now_s=11)


def test_it_learns_in_a_pause() -> None:
    flash = _flash(Learning(idle_s=5))
    assert not _read(flash, 0, now_s=1)
    flash.rest(4.9, now_s=10)
    assert not _read(flash, 0, now_s=10)
    flash.rest(5, now_s=20)
    assert _read(flash, 0, now_s=20)


def test_what_a_power_on_has_no_room_for_waits_for_the_next() -> None:
    flash = _flash(Learning(limit_bytes=2 * BLOCK_BYTES))
    for block in range(5):
        _read(flash, block)
    assert flash.promoted_bytes == 2 * BLOCK_BYTES
    assert [_read(flash, block) for block in range(5)] == [True, True, False, False, False]
    for known in (4, 5):
        flash.power_on()
        flash.rest(0, now_s=0)
        assert [_read(flash, block) for block in range(5)] == [True] * known + [False] * (5 - known)


def test_a_write_makes_it_forget() -> None:
    flash = _flash(Learning(promote_after=2))
    for _ in range(2):
        _read(flash, 0)
        _read(flash, 1)
    assert not flash.write(0, BLOCK_BYTES)
    assert not _read(flash, 0)
    assert _read(flash, 1)
    flash.discard(BLOCK_BYTES, BLOCK_BYTES)
    assert not _read(flash, 1)


def test_writes_are_kept_until_it_rests_and_are_not_learned() -> None:
    learning = Learning(promote_after=0, write_buffer_bytes=2 * BLOCK_BYTES, write_buffer_idle_s=5)
    flash = _flash(learning)
    assert flash.write(0, 2 * BLOCK_BYTES)
    assert not flash.write(4 * BLOCK_BYTES, BLOCK_BYTES)  # there is no room
    assert flash.write(0, BLOCK_BYTES)  # where it stands there is
    assert _read(flash, 0)
    flash.power_on()  # what was written is not lost
    assert _read(flash, 0)
    flash.rest(4, now_s=10)
    assert _read(flash, 0)
    flash.rest(5, now_s=20)
    assert not _read(flash, 0)


def test_the_write_buffer_is_a_part_of_the_flash() -> None:
    flash = _flash(Learning(write_buffer_bytes=255 * BLOCK_BYTES))
    _read(flash, 0)
    _read(flash, 1)
    assert not _read(flash, 0)
