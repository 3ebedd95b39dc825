# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.tui.fake import FakeEngine
from tui.terminal.refresh_rate import read_every_s


def test_a_countdown_is_followed_closely_whatever_it_costs() -> None:
    assert read_every_s(hurried=True, typing=True, beside_step=True, cost_s=5) == 0.5


def test_a_fast_machine_shows_every_second() -> None:
    assert read_every_s(hurried=False, typing=False, beside_step=True, cost_s=0.005) == 1
    assert read_every_s(hurried=False, typing=False, beside_step=False, cost_s=5) == 1


def test_beside_a_workload_drawing_takes_a_hundredth_of_a_processor() -> None:
    assert read_every_s(hurried=False, typing=False, beside_step=True, cost_s=0.03) == 3


def test_while_the_user_types_it_is_read_less_often() -> None:
    assert read_every_s(hurried=False, typing=True, beside_step=False, cost_s=0.005) == 3
    assert read_every_s(hurried=False, typing=True, beside_step=True, cost_s=0.005) == 3
    assert read_every_s(hurried=False, typing=True, beside_step=True, cost_s=0.05) == 5


def test_even_the_slowest_machine_shows_something() -> None:
    assert read_every_s(hurried=False, typing=False, beside_step=True, cost_s=2) == 10


def test_where_no_one_presses_keys_it_takes_a_third_of_that() -> None:
    assert read_every_s(
        hurried=False, typing=False, beside_step=True, cost_s=0.015, unattended=True
    ) == pytest.approx(5)
    assert read_every_s(hurried=True, typing=False, beside_step=True, cost_s=5, unattended=True) < 1
    assert (
        read_every_s(hurried=False, typing=False, beside_step=False, cost_s=5, unattended=True) == 1
    )


def test_a_countdown_is_seen_whatever_a_text_says(engine: FakeEngine) -> None:
    port = engine.port()
    assert not port.is_counting()
    engine.say(message='"countdown": null')
    assert not port.is_counting()
    engine.count_down()
    assert port.is_counting()
    engine.say(
        message='"countdown": null', countdown={"purpose": "autostart", "remaining_s": 9}, next=""
    )
    assert port.is_counting()
    engine.say()
    assert not port.is_counting()
