# SPDX-License-Identifier: Apache-2.0
"""The recorder of dirty bytes, asked by hand."""

import threading

import pytest

from appliance.arrays.model import ArrayStuckError
from appliance.errors import StepFailedError
from appliance.samples.model import DirtySample
from appliance.samples.recorder import DirtyRecorder


def test_samples_are_taken_once_and_go_on_from_the_start() -> None:
    left = iter([7, 5])
    recorder = DirtyRecorder(lambda: next(left), start_s=100.0)
    recorder.sample(1.0)
    recorder.sample(2.0)
    assert recorder.take() == (DirtySample(101.0, 7), DirtySample(102.0, 5))
    assert recorder.take() == ()


@pytest.mark.parametrize(
    "error",
    [
        StepFailedError("gone"),
        ArrayStuckError("held"),
        OSError(19, "No such device"),
        ValueError("x"),
    ],
    ids=repr,
)
def test_an_array_that_cannot_be_asked_leaves_a_gap(error: Exception) -> None:
    answers: list[int | Exception] = [1, error, 2]

    def read() -> int:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    recorder = DirtyRecorder(read)
    for second in (1.0, 2.0, 3.0):
        recorder.sample(second)
    assert recorder.take() == (DirtySample(1.0, 1), DirtySample(3.0, 2))


def test_the_last_state_is_recorded_at_the_end_whatever_ended_it() -> None:
    recorder = DirtyRecorder(lambda: 42, start_s=10.0)
    with pytest.raises(KeyboardInterrupt), recorder:
        raise KeyboardInterrupt
    *_, last = recorder.take()
    assert last.dirty_bytes == 42
    assert last.t_s >= 10.0


def test_the_thread_asks_on_its_own_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("appliance.samples.recorder.TICK_S", 0.001)
    asked = threading.Event()

    def read() -> int:
        asked.set()
        return 1

    with DirtyRecorder(read) as recorder:
        assert asked.wait(60)
    times = [sample.t_s for sample in recorder.take()]
    assert times == sorted(set(times))
    assert "dirty" not in {thread.name for thread in threading.enumerate()}
