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
