# SPDX-License-Identifier: Apache-2.0
"""Waiting until a drive is idle, on a clock that moves only during a sleep."""

from dataclasses import replace
from pathlib import Path

import pytest

from appliance.samples.diskstats import DiskStats
from appliance.workloads import idle_wait
from appliance.workloads.base import Bench
from appliance.workloads.idle_wait import wait_idle


class FakeTime:
    """A clock that moves only during a sleep."""

    now_s = 0.0

    def monotonic(self) -> float:
        """As time.monotonic."""
        return self.now_s

    def sleep(self, seconds: float) -> None:
        """As time.sleep."""
        self.now_s += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    made = FakeTime()
    monkeypatch.setattr(idle_wait, "time", made)
    monkeypatch.setattr(idle_wait, "flush", lambda _: None)
    return made


def make_bench(clock: FakeTime, *, busy_until_s: float, in_flight_until_s: float = 0) -> Bench:
    def counters() -> DiskStats:
        written = int(min(clock.now_s, busy_until_s) * 1000)
        return DiskStats(0, 0, 0, written, in_flight=int(clock.now_s < in_flight_until_s))

    return Bench(
        device="/dev/sdb",
        folder=None,
        writable=False,
        raw=Path(),
        size_bytes=0,
        progress=lambda *_told: None,
        read_counters=counters,
        drive_state="",
    )


def test_a_drive_at_rest_is_idle_after_the_quiet_time(clock: FakeTime) -> None:
    rest = wait_idle(make_bench(clock, busy_until_s=0), timeout_s=60, quiet_s=5)
    assert rest.idle
    assert rest.waited_s == pytest.approx(5, abs=0.3)
    assert str(rest) == "idle"


def test_the_quiet_time_begins_after_the_last_io(clock: FakeTime) -> None:
    rest = wait_idle(make_bench(clock, busy_until_s=20), timeout_s=60, quiet_s=5)
    assert rest.idle
    assert rest.waited_s == pytest.approx(25, abs=0.5)


def test_a_request_under_way_is_not_rest(clock: FakeTime) -> None:
    bench = make_bench(clock, busy_until_s=0, in_flight_until_s=10)
    assert wait_idle(bench, timeout_s=60, quiet_s=5).waited_s == pytest.approx(15, abs=0.5)


def test_a_drive_that_never_rests_times_out_and_says_so(clock: FakeTime) -> None:
    rest = wait_idle(make_bench(clock, busy_until_s=1000), timeout_s=30, quiet_s=5)
    assert not rest.idle
    assert str(rest) == "not idle after 30 s"


def test_a_stop_is_not_delayed(clock: FakeTime) -> None:
    def stop(label: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    bench = replace(make_bench(clock, busy_until_s=1000), progress=stop)
    with pytest.raises(KeyboardInterrupt):
        wait_idle(bench, timeout_s=30)
    assert clock.now_s == 0
