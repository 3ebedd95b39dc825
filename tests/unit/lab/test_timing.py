# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.lab.flash import Learning
from tests.lab.solid_state import FastCells, Heat
from tests.lab.timing import Access, Clockwork, SeekCurve, Timing, Zones, read_timing, write_timing

MIB = 1 << 20
GIB = 1 << 30
CURVE = SeekCurve()


def _disk(timing: Timing | None = None) -> Clockwork:
    return Clockwork(size_bytes=4 * GIB, curve=CURVE, timing=timing)


def _hybrid(timing: Timing | None = None) -> Clockwork:
    return Clockwork(size_bytes=4 * GIB, curve=CURVE, flash_bytes=MIB, timing=timing)


def _ssd(timing: Timing | None = None) -> Clockwork:
    return Clockwork(size_bytes=GIB, timing=timing)


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


def test_disk_pays_again_for_every_far_read() -> None:
    disk = _disk()
    disk.read(0, 4096)
    first = disk.read(GIB, 4096)
    disk.read(0, 4096)
    again = disk.read(GIB, 4096)
    assert first.seconds == pytest.approx(again.seconds, rel=1e-3)
    assert first.seconds > 0.05
    assert not again.from_flash


def test_disk_reads_on_for_nothing() -> None:
    disk = _disk()
    disk.read(GIB, MIB)
    assert disk.read(GIB + MIB, MIB) == Access(0.0)


def test_hybrid_learns_what_it_read_and_leaves_its_head_alone() -> None:
    hybrid = _hybrid()
    assert hybrid.read(GIB, 4096).seconds > 0
    hybrid.read(0, 4096)
    assert hybrid.read(GIB, 4096) == Access(0.0, from_flash=True)
    assert hybrid.read(4096, 4096) == Access(0.0)  # the head still stands near 0
    assert hybrid.promoted_bytes == 3 * 4096


def test_hybrid_is_not_warmed_by_writes() -> None:
    hybrid = _hybrid()
    hybrid.read(GIB, 8192)
    hybrid.write(GIB, 4096)
    hybrid.read(0, 4096)
    again = hybrid.read(GIB, 4096)
    assert again.seconds > 0
    assert not again.from_flash


def test_write_costs_less_than_any_seek() -> None:
    disk = _disk()
    assert 0 < disk.write(3 * GIB, 4096).seconds < CURVE.min_s
    assert disk.write(3 * GIB + 4096, 4096).seconds == 0


def test_ssd_takes_no_time() -> None:
    ssd = _ssd()
    assert ssd.read(GIB // 2, 4096) == ssd.write(0, 4096) == Access(0.0)


def test_a_disk_is_quicker_at_its_rim() -> None:
    disk = _disk(Timing(zones=Zones(20 * MIB, 10 * MIB)))
    times = []
    for start in (0, 2 * GIB, 4 * GIB - MIB):
        disk.read(start, 0x1000)
        times.append(disk.read(start + 0x1000, MIB).seconds)
    assert times[0] == pytest.approx(1 / 20)
    assert times[1] == pytest.approx(1 / 15.81, rel=1e-3)
    assert times[2] == pytest.approx(1 / 10, rel=1e-3)
    # What is written passes the same head.
    assert disk.write(4 * GIB - MIB, MIB).seconds > 1 / 10


def test_nothing_passes_the_cable_more_quickly_than_its_rate() -> None:
    slow = Timing(rate_bytes_s=20 * MIB)
    for drive in (_ssd(slow), _disk(slow), _hybrid(slow)):
        drive.read(0, 4096)
        assert drive.read(4096, MIB).seconds == pytest.approx(1 / 20)
        assert drive.write(4096, MIB).seconds == pytest.approx(1 / 20)
    # A seek that takes longer is not added to.
    assert _disk(slow).read(2 * GIB, 4096).seconds == pytest.approx(0.2)


def test_what_flash_answers_takes_its_latency() -> None:
    ssd, hybrid = (make(Timing(latency_s=0.001)) for make in (_ssd, _hybrid))
    assert ssd.read(0, 4096).seconds == ssd.write(0, 4096).seconds == 0.001
    hybrid.read(GIB, 4096)
    assert hybrid.read(GIB, 4096) == Access(0.001, from_flash=True)


def test_a_hybrid_that_learns_at_rest_has_not_learned_before() -> None:
    hybrid = _hybrid(Timing(learning=Learning(idle_s=5)))
    hybrid.read(GIB, 4096, now_s=10)
    hybrid.read(0, 4096, now_s=14)
    assert not hybrid.read(GIB, 4096, now_s=18).from_flash
    assert hybrid.read(GIB, 4096, now_s=24).from_flash


def test_its_rest_begins_when_it_has_answered() -> None:
    hybrid = _hybrid(Timing(learning=Learning(idle_s=0.2)))
    hybrid.read(2 * GIB, 4096, now_s=1.0)  # which takes 0.2 s
    hybrid.read(0, 4096, now_s=1.3)
    assert not hybrid.read(2 * GIB, 4096, now_s=1.3).from_flash
    assert hybrid.read(2 * GIB, 4096, now_s=1.71).from_flash


def test_a_hybrid_that_forgets_has_what_it_learned_until_the_power_goes() -> None:
    for keeps in (True, False):
        hybrid = _hybrid(Timing(learning=Learning(keeps=keeps)))
        hybrid.read(GIB, 4096)
        assert hybrid.read(GIB, 4096).from_flash
        hybrid.power_on()
        assert hybrid.promoted_bytes == 0
        assert hybrid.read(GIB, 4096).from_flash == keeps


def test_a_hybrid_may_take_writes_into_flash() -> None:
    hybrid = _hybrid(Timing(learning=Learning(write_buffer_bytes=8192, write_buffer_idle_s=3)))
    assert hybrid.write(GIB, 8192, now_s=1) == Access(0.0, from_flash=True)
    assert not hybrid.write(2 * GIB, 4096, now_s=1).from_flash  # it is full
    assert hybrid.read(GIB, 8192, now_s=2).from_flash
    assert not hybrid.read(GIB, 8192, now_s=5.1).from_flash


def test_an_ssd_falls_off_its_cliff_and_recovers_at_rest() -> None:
    cells = FastCells(2 * MIB, 10 * MIB, 100 * MIB, idle_s=2, refill_bytes_s=MIB)
    ssd = _ssd(Timing(cells=cells))
    assert ssd.write(0, MIB, now_s=0) == Access(0.01)
    # Half of it still finds room.
    assert ssd.write(0, 2 * MIB, now_s=0) == Access(0.01 + 0.1, slowed_bytes=MIB)
    assert ssd.write(0, MIB, now_s=1) == Access(0.1, slowed_bytes=MIB)
    assert ssd.read(0, MIB, now_s=1).seconds == 0
    # Rests from 1.1 on, of which two seconds do nothing.
    again = ssd.write(0, MIB, now_s=4.1)
    assert again.seconds == pytest.approx(0.01)
    assert again.slowed_bytes == 0


def test_what_is_trimmed_fills_no_cells() -> None:
    ssd = _ssd(Timing(cells=FastCells(MIB, 10 * MIB)))
    assert ssd.discard(0, GIB) == Access(0.0)
    assert ssd.write(0, MIB).slowed_bytes == 0


@pytest.mark.parametrize("heat", [Heat(10 * MIB, after_bytes=MIB), Heat(10 * MIB, after_s=3)])
def test_a_hot_drive_is_slow_until_it_has_rested(heat: Heat) -> None:
    ssd = _ssd(Timing(latency_s=0.001, heat=heat))
    assert ssd.read(0, MIB, now_s=1) == Access(0.001)
    assert ssd.write(0, MIB, now_s=4) == Access(0.1, slowed_bytes=MIB)
    assert ssd.read(0, 4096, now_s=30).slowed_bytes == 4096
    assert ssd.read(0, 4096, now_s=61) == Access(0.001)


def test_what_was_written_down_is_read_back() -> None:
    for timing in (
        Timing(),
        Timing(
            rate_bytes_s=1,
            latency_s=0.5,
            zones=Zones(3, 2),
            learning=Learning(promote_after=0, keeps=False),
            cells=FastCells(1, 2),
            heat=Heat(5, after_s=1.5),
        ),
    ):
        assert read_timing(write_timing(timing)) == timing


def test_a_clock_is_only_looked_at_by_those_that_rest() -> None:
    assert not Timing(rate_bytes_s=1, learning=Learning(promote_after=2)).takes_time
    assert Timing(learning=Learning(delay_s=1)).takes_time
    assert Timing(learning=Learning(write_buffer_bytes=4096)).takes_time
    assert Timing(cells=FastCells(1, 2)).takes_time
    assert Timing(heat=Heat(1, after_bytes=1)).takes_time
