# SPDX-License-Identifier: Apache-2.0
import socket
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.lab import machine_clock
from tests.lab.machine_clock import MachineClock
from tests.lab.qmp import QmpError

_HZ = 3_579_545


@dataclass
class _Times:
    """The host's time, and a machine's that passes `pace` times as quickly."""

    pace: float
    host_s: float = 100.0
    machine_s: float = 4.5  # the timer wraps at 4.687 s

    def sleep(self, seconds: float) -> None:
        self.host_s += seconds
        self.machine_s += seconds * self.pace

    def monotonic(self) -> float:
        return self.host_s

    def execute(self, command: str, **arguments: object) -> str:
        assert (command, arguments) == ("human-monitor-command", {"command-line": "i /w 0x608"})
        return f"portw[0x0608] = {int(self.machine_s * _HZ) % (1 << 24):#010x}\r\n"

    def close(self) -> None:
        pass


def _clock(monkeypatch: pytest.MonkeyPatch, times: _Times, *, is_there: bool) -> MachineClock:
    monkeypatch.setattr(machine_clock, "time", times)
    monkeypatch.setattr(machine_clock, "Qmp", lambda *_, **__: times)
    return MachineClock(Path("/" if is_there else "/nowhere/0.clock"))


@pytest.mark.parametrize("pace", [1.0, 0.5, 0.05])
def test_it_waits_by_the_machines_time(monkeypatch: pytest.MonkeyPatch, pace: float) -> None:
    times = _Times(pace)
    _clock(monkeypatch, times, is_there=True).wait(0.4)
    assert times.machine_s == pytest.approx(4.9, abs=0.001)


def test_without_such_a_machine_it_waits_by_the_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    times = _Times(pace=0.1)
    _clock(monkeypatch, times, is_there=False).wait(0.4)
    assert times.host_s == pytest.approx(100.4)


@pytest.mark.parametrize("pace", [1.0, 0.2])
def test_it_says_how_long_it_waited(monkeypatch: pytest.MonkeyPatch, pace: float) -> None:
    times = _Times(pace)
    machine_s = times.machine_s
    waited_s = _clock(monkeypatch, times, is_there=True).wait(0.03)
    assert waited_s == pytest.approx(times.machine_s - machine_s, abs=1e-6)
    assert _clock(monkeypatch, times, is_there=False).wait(0.03) == pytest.approx(0.03)


@pytest.mark.parametrize("is_there", [True, False])
def test_it_counts_the_time_in_which_there_is_power(
    monkeypatch: pytest.MonkeyPatch, *, is_there: bool
) -> None:
    times = _Times(pace=0.5)
    clock = _clock(monkeypatch, times, is_there=is_there)
    passed_s = 10.0 if is_there else 20.0
    for power_on in (1, 2):
        clock.power_on()
        clock.tick()
        for _ in range(20):
            times.sleep(1)
            clock.tick()
        assert clock.now_s() == pytest.approx(power_on * passed_s, abs=1e-3)
        clock.power_off()
        times.sleep(100)
        clock.tick()


def test_a_timer_without_a_place_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    times = _Times(pace=1)
    clock = _clock(monkeypatch, times, is_there=True)
    clock.power_on()
    clock.tick()
    monkeypatch.setattr(times, "execute", lambda *_, **__: "portw[0x0608] = 0xffffffff\r\n")
    clock.tick()
    assert clock.now_s() == 0
    assert clock.wait(0.25) == pytest.approx(0.25)


def test_a_machine_that_is_too_busy_to_greet_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(machine_clock, "_CONNECT_S", 0.01)
    path = tmp_path / "0.clock"
    with socket.socket(socket.AF_UNIX) as busy:
        busy.bind(str(path))
        busy.listen()
        clock = MachineClock(path)
        clock.power_on()
        clock.tick()
        assert clock.wait(0.001) >= 0.001, "by the host's time"


def test_it_does_not_wait_for_a_machine_that_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    times = _Times(pace=0)
    _clock(monkeypatch, times, is_there=True).wait(0.4)
    assert times.host_s < 104


def test_a_machine_that_ends_meanwhile_is_waited_for_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = _Times(pace=0.1)
    clock = _clock(monkeypatch, times, is_there=True)

    def end(*_: object, **__: object) -> str:
        raise QmpError("QEMU closed the connection")

    monkeypatch.setattr(times, "execute", end)
    clock.wait(0.4)
    assert times.host_s == pytest.approx(100.4)
