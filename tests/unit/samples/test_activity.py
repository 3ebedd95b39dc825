# SPDX-License-Identifier: Apache-2.0
"""The activity recorder, on files in the place of /sys/block/X/stat."""

from pathlib import Path

import pytest

from appliance.samples.activity import ActivityRecorder, peak_bytes
from appliance.samples.model import ActivitySample
from appliance.samples.recorder import next_tick_s


def write_stat(path: Path, *, reads: int, sectors: int, writes: int = 0, busy_ms: int = 0) -> Path:
    path.write_text(
        f"  {reads} 0 {sectors} 9 {writes} 0 {writes * 8} 9 0 {busy_ms} 9 0 0 0 0 0 0\n"
    )
    return path


@pytest.fixture
def stat(tmp_path: Path) -> Path:
    """A drive that has read a hundred times."""
    return write_stat(tmp_path / "stat", reads=100, sectors=800, writes=10, busy_ms=500)


def test_samples_are_what_happened_in_their_interval(stat: Path) -> None:
    recorder = ActivityRecorder({"sdb": stat}, start_s=100.0)
    with recorder:
        write_stat(stat, reads=103, sectors=824, writes=11, busy_ms=750)
        recorder.sample(0.25)
        assert recorder.take() == (ActivitySample("sdb", 100.25, 24 * 512, 8 * 512, 3, 1, 0.25),)
        assert recorder.take() == ()


def test_all_samples_add_up_to_what_the_counters_gained(stat: Path) -> None:
    samples: list[ActivitySample] = []
    with ActivityRecorder({"sdb": stat}) as recorder:
        for step in range(1, 4):
            write_stat(stat, reads=100 + step, sectors=800 + 8 * step, writes=10, busy_ms=500)
            recorder.sample(step / 100)
            samples += recorder.take()
        write_stat(stat, reads=200, sectors=9000, writes=20, busy_ms=900)
    samples += recorder.take()
    assert sum(sample.read_ios for sample in samples) == 100
    assert sum(sample.read_bytes for sample in samples) == 8200 * 512
    assert sum(sample.write_bytes or 0 for sample in samples) == 80 * 512
    assert sum(sample.busy_s for sample in samples) == pytest.approx(0.4)


def test_what_an_array_wrote_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "bcache0").mkdir()
    stat = write_stat(tmp_path / "bcache0" / "stat", reads=100, sectors=800, writes=10)
    recorder = ActivityRecorder({"array": stat})
    with recorder:
        write_stat(stat, reads=103, sectors=824, writes=11)
        recorder.sample(0.25)
        assert recorder.take() == (ActivitySample("array", 0.25, 24 * 512, None, 3, 1, 0.0),)


def test_the_thread_records_on_its_own(stat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("appliance.samples.recorder.TICK_S", 0.001)
    samples: list[ActivitySample] = []
    with ActivityRecorder({"sdb": stat}) as recorder:
        while recorder._thread.is_alive() and not samples:
            samples += recorder.take()
    assert samples[0].device == "sdb"
    assert samples[0].t_s > 0


def test_a_look_in_between_counts_nothing_twice(
    stat: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the thread looks as well."""
    monkeypatch.setattr("appliance.samples.recorder.TICK_S", 0.0001)
    samples: list[ActivitySample] = []
    with ActivityRecorder({"sdb": stat}) as recorder:
        for step in range(1, 101):
            new = write_stat(tmp_path / "new", reads=100 + step, sectors=800, writes=10)
            new.replace(stat)
            recorder.look_now()
            samples += recorder.take()
            assert sum(sample.read_ios for sample in samples) == step
    samples += recorder.take()
    times = [sample.t_s for sample in samples]
    assert times == sorted(set(times))


def test_a_device_that_vanishes_ends_its_own_series(stat: Path, tmp_path: Path) -> None:
    other = write_stat(tmp_path / "other", reads=0, sectors=0)
    with ActivityRecorder({"sdb": stat, "sdc": other, "sdd": tmp_path / "absent"}) as recorder:
        recorder.sample(0.1)
        assert [sample.device for sample in recorder.take()] == ["sdb", "sdc"]
        other.unlink()
        recorder.sample(0.2)
        write_stat(other, reads=5, sectors=5)  # it comes back: another life, other counters
        recorder.sample(0.3)
    assert [sample.device for sample in recorder.take()] == ["sdb"] * 3


def test_counters_of_a_successor_are_not_counted(stat: Path) -> None:
    with ActivityRecorder({"sdb": stat}) as recorder:
        write_stat(stat, reads=3, sectors=24)
        recorder.sample(0.1)
    assert recorder.take() == ()


def test_the_recorder_ends_with_its_block(stat: Path) -> None:
    recorder = ActivityRecorder({"sdb": stat})
    with pytest.raises(KeyboardInterrupt), recorder:
        raise KeyboardInterrupt
    assert not recorder._thread.is_alive()
    assert len(recorder.take()) == 1


@pytest.mark.parametrize(
    ("elapsed", "tick"), [(0.0, 1.0), (0.999, 1.0), (1.0, 2.0), (1.003, 2.0), (7.5, 8.0)]
)
def test_late_ticks_do_not_shift_the_next(elapsed: float, tick: float) -> None:
    assert next_tick_s(elapsed) == tick
    assert next_tick_s(10 * elapsed, 10.0) == 10 * tick


@pytest.mark.parametrize(
    ("moved", "peak"),
    [
        ((), 0),
        (((1.0, 5),), 5),
        (((1.0, 5), (2.0, 6), (3.0, 7)), 18),
        (((1.0, 50), (10.0, 6), (11.0, 7)), 50),
        (((1.0, 5), (2.0, 6), (4.0, 7), (6.0, 1)), 18),
    ],
)
def test_the_peak_is_the_most_within_a_window(
    moved: tuple[tuple[float, int], ...], peak: int
) -> None:
    assert peak_bytes(moved, window_s=3.0) == peak
