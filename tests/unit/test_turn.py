# SPDX-License-Identifier: Apache-2.0
"""Of several threads one works at a time."""

import threading

import pytest

from appliance.turn import Turn

_PATIENCE_S = 300.0


def test_another_thread_works_while_the_turn_is_left_and_not_before() -> None:
    turn, done = Turn(), threading.Event()
    seen: list[str] = []

    def work() -> None:
        with turn:
            seen.append("other")
        done.set()

    with turn:
        other = threading.Thread(target=work)
        other.start()
        seen.append("first")
        with turn.left():
            assert done.wait(_PATIENCE_S)
        seen.append("first again")
    other.join()
    assert seen == ["first", "other", "first again"]


def test_a_thread_without_the_turn_leaves_it_to_no_one() -> None:
    turn = Turn()
    entered, seen = threading.Event(), []

    def work() -> None:
        # Within this thread's work, as what waits for a drive there does.
        with turn.left():
            seen.append("waited")
        turn.sleep(0)
        entered.set()

    with turn:
        other = threading.Thread(target=work)
        other.start()
        assert entered.wait(_PATIENCE_S)
        other.join()
        with turn.left():
            pass
    assert seen == ["waited"]


def test_leaving_it_in_the_middle_of_a_transaction_is_a_bug() -> None:
    turn = Turn()
    turn.is_bound = lambda: True
    with turn, pytest.raises(AssertionError, match="transaction"), turn.left():
        pass
