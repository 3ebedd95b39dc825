# SPDX-License-Identifier: Apache-2.0
"""Reads that are answered in their turn, together, and long after others that came later."""

import pytest

from appliance.caches.queue_times import QueueTimes


def test_what_is_answered_in_its_turn_takes_the_time_since_the_answer_before() -> None:
    times = QueueTimes(2)
    times.ask(0, 10.0)
    times.ask(1, 10.0)
    assert times.answer([0], 10.25) == [(0.25, 0.25)]
    times.ask(0, 10.25)
    assert times.answer([1], 10.5) == [(0.25, 0.25)]
    assert times.answer([0], 10.75) == [(0.25, 0.25)]
    times.ask(0, 20.0)
    assert times.answer([0], 20.5) == [(0.5, 0.5)]


def test_answers_that_are_found_together_share_their_time() -> None:
    times = QueueTimes(2)
    times.ask(0, 10.0)
    times.ask(1, 10.0)
    assert times.answer([0, 1], 10.5) == [(0.25, 0.25), (0.25, 0.25)]
    assert times.answer([], 11.0) == []


def test_a_read_that_others_overtake_has_all_its_waiting() -> None:
    times = QueueTimes(4)
    for place in range(4):
        times.ask(place, 10.0)
    now_s = 10.0
    for number in range(80):
        now_s += 0.008
        place = 1 + number % 3
        assert times.answer([place], now_s) == [pytest.approx((0.008, 0.008))]
        times.ask(place, now_s)
    assert times.answer([0], now_s + 0.008) == [pytest.approx((0.008, 0.648))]


def test_a_read_may_be_overtaken_by_one_that_is_found_with_it() -> None:
    times = QueueTimes(2)
    times.ask(0, 10.0)
    times.ask(1, 10.0)
    assert times.answer([1, 0], 11.0) == [(0.5, 0.5), (0.5, 1.0)]


def test_an_empty_look_does_not_hide_how_long_a_read_took() -> None:
    times = QueueTimes(1)
    times.ask(0, 10.0)
    assert times.answer([], 10.5) == []
    assert times.answer([0], 11.0) == [(1.0, 1.0)]
