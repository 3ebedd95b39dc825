import pytest

from tests.lab.timing import NAND_BLOCK_BYTES, Clockwork, Nand, SeekCurve

GIB = 1 << 30
CURVE = SeekCurve()


@pytest.mark.parametrize(("share", "seconds"), [(0.5, 0.2), (1.0, 0.5)])
def test_seek_curve_meets_its_points(share: float, seconds: float) -> None:
    assert CURVE.seconds(int(4 * GIB * share), size_bytes=4 * GIB) == pytest.approx(seconds)


def test_seek_to_the_neighbourhood_is_free_and_the_next_track_is_not() -> None:
    assert CURVE.seconds(CURVE.near_bytes, size_bytes=GIB) == 0
    assert CURVE.seconds(CURVE.near_bytes + 1, size_bytes=GIB) == pytest.approx(
        CURVE.min_s, rel=0.01
    )


def test_seek_grows_with_the_distance() -> None:
    times = [CURVE.seconds(GIB * part // 16, size_bytes=GIB) for part in range(17)]
    assert times == sorted(times)


def test_nand_forgets_the_least_recently_used_block() -> None:
    nand = Nand(capacity_bytes=2 * NAND_BLOCK_BYTES)
    nand.learn(0, 4096)
    nand.learn(4096, 4096)
    assert nand.holds(0, 4096)  # now block 1 is the older one
    nand.learn(8192, 4096)
    assert nand.holds(0, 4096)
    assert not nand.holds(4096, 4096)
    assert len(nand) == 2


def test_nand_holds_a_range_only_as_a_whole() -> None:
    nand = Nand(capacity_bytes=1 << 20)
    nand.learn(0, 8192)
    assert nand.holds(512, 4096)
    assert not nand.holds(4096, 8192)


def test_nand_of_no_size_learns_nothing() -> None:
    nand = Nand(capacity_bytes=0)
    nand.learn(0, 8192)
    assert not nand.holds(0, 512)


def test_disk_pays_again_for_every_far_read() -> None:
    disk = Clockwork(size_bytes=4 * GIB, curve=CURVE, nand=None)
    disk.read(0, 4096)
    first, _ = disk.read(GIB, 4096)
    disk.read(0, 4096)
    again, from_nand = disk.read(GIB, 4096)
    assert first == pytest.approx(again, rel=1e-3)
    assert first > 0.05
    assert not from_nand


def test_disk_reads_on_for_nothing() -> None:
    disk = Clockwork(size_bytes=4 * GIB, curve=CURVE, nand=None)
    disk.read(GIB, 1 << 20)
    assert disk.read(GIB + (1 << 20), 1 << 20) == (0.0, False)


def test_hybrid_learns_what_it_read_and_leaves_its_head_alone() -> None:
    hybrid = Clockwork(size_bytes=4 * GIB, curve=CURVE, nand=Nand(capacity_bytes=1 << 20))
    assert hybrid.read(GIB, 4096)[0] > 0
    hybrid.read(0, 4096)
    assert hybrid.read(GIB, 4096) == (0.0, True)
    assert hybrid.read(4096, 4096) == (0.0, False)  # the head still stands near 0


def test_hybrid_is_not_warmed_by_writes() -> None:
    hybrid = Clockwork(size_bytes=4 * GIB, curve=CURVE, nand=Nand(capacity_bytes=1 << 20))
    hybrid.read(GIB, 8192)
    hybrid.write(GIB, 4096)
    hybrid.read(0, 4096)
    seconds, from_nand = hybrid.read(GIB, 4096)
    assert seconds > 0
    assert not from_nand


def test_write_costs_less_than_any_seek() -> None:
    disk = Clockwork(size_bytes=4 * GIB, curve=CURVE, nand=None)
    assert 0 < disk.write(3 * GIB, 4096) < CURVE.min_s
    assert disk.write(3 * GIB + 4096, 4096) == 0


def test_ssd_takes_no_time() -> None:
    ssd = Clockwork(size_bytes=GIB, curve=None, nand=None)
    assert ssd.read(GIB // 2, 4096) == (0.0, False)
    assert ssd.write(0, 4096) == 0
