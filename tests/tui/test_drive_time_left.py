# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.tui.fake import FakeEngine
from tests.tui.scenes import SCENES
from tests.tui.steps import app_of, finish, press, settle, text_of
from tui.app import KaltstartApp
from tui.terminal.refresh_rate import UNATTENDED_S, read_every_s


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


def test_where_no_one_presses_keys_it_may_rest_for_half_a_minute() -> None:
    assert (
        read_every_s(hurried=False, typing=False, beside_step=True, cost_s=2, unattended=True) == 30
    )


def test_a_countdown_is_seen_whatever_a_text_says(engine: FakeEngine) -> None:
    port = engine.port()
    assert not port.glance().is_counting
    engine.say(message='"countdown": null')
    assert not port.glance().is_counting
    engine.count_down()
    assert port.glance().is_counting
    engine.say(
        message='"countdown": null', countdown={"purpose": "autostart", "remaining_s": 9}, next=""
    )
    assert port.glance().is_counting
    engine.say()
    assert not port.glance().is_counting


def test_the_end_of_a_step_is_seen_at_a_glance(engine: FakeEngine) -> None:
    port = engine.port()
    assert not port.glance().has_step
    SCENES["run-step"].prepare(engine)
    assert port.glance().has_step
    engine.say(message='"step": {}')
    assert not port.glance().has_step


async def test_it_rests_beside_a_step_while_nobody_is_at_the_keys(engine: FakeEngine) -> None:
    SCENES["run-step"].prepare(engine)
    async with KaltstartApp(engine.port()).run_test() as pilot:
        await settle(pilot)
        app = app_of(pilot)

        def rests() -> bool:
            return app._rests

        app._read_if_due()
        await finish(pilot, "read")
        assert not rests(), "it has only just begun"
        app._begun_s -= UNATTENDED_S
        app._read_if_due()
        await finish(pilot, "read")
        assert rests()
        await press(pilot, "1")
        assert not rests()
        app._last_key_s -= UNATTENDED_S
        app._read_if_due()
        assert rests()
        engine.say()
        app._live()
        await finish(pilot, "read")
        assert "idle" in text_of(pilot, "#header"), "the slower timer sees the step's end"
        app._read_if_due()
        assert not rests()
