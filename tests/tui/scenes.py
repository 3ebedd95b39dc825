# SPDX-License-Identifier: Apache-2.0
"""What the pages are shown with in pictures: each scene prepares an engine and presses keys."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from textual.pilot import Pilot

from tests.tui import scene_states as at
from tests.tui.database_scenes import (
    open_databases,
    open_offer,
    open_unusable,
    show_databases,
)
from tests.tui.fake import FakeEngine
from tests.tui.key_scenes import mistake_keys, open_keys, set_keys
from tests.tui.machine_scenes import (
    open_chapter,
    open_manual,
    show_machine,
    show_manual,
    show_poor_machine,
)
from tests.tui.raw_scenes import open_raw, open_raw_text, show_raw
from tests.tui.saved_plan_scenes import (
    adjust_saved,
    open_saved,
    refuse_longer,
    show_longer,
    show_saved,
)
from tests.tui.scene_steps import (
    Steps,
    compose_all_tests,
    compose_array,
    compose_field_tests,
    compose_mistakes,
    compose_only_reading,
    compose_template,
    do_nothing,
    leave_release,
    look_at_array_mistakes,
    look_at_more_settings_mistakes,
    look_at_results,
    make_array_mistakes,
    offer_inspection,
    open_array_settings,
    open_kernel_settings,
    open_templates,
    press_keys,
    read_array,
    read_for_minutes,
    release_wrongly,
    set_more_settings,
    show_times,
)
from tests.tui.shelf_scenes import (
    accept_shelf,
    judge_one,
    list_shelf,
    look_quickly,
    open_drive,
    read_shelf,
    reject_one,
    reject_some,
    run_large_shelf,
    run_shelf,
    run_shelf_alone,
    sort_shelf,
)
from tests.tui.spread_scenes import show_spreads
from tests.tui.steps import settle


@dataclass(frozen=True, slots=True)
class Scene:
    """An engine in some state, and what a person does then."""

    prepare: Callable[[FakeEngine], None]
    steps: Steps


SCENES = {
    "drives": Scene(at.idle, do_nothing),
    "drives-hostile": Scene(at.show_hostile, do_nothing),
    "drives-asked": Scene(at.show_asked, do_nothing),
    "drives-known": Scene(at.show_known, press_keys("down")),
    "drives-all-details": Scene(at.show_asked, press_keys("d")),
    "drives-inspect": Scene(at.idle, offer_inspection),
    "drives-refused": Scene(at.refuse, do_nothing),
    "drives-array": Scene(at.show_left_behind, do_nothing),
    "drives-array-foreign": Scene(at.show_left_behind, press_keys("down", "t")),
    "drives-array-confirm": Scene(at.show_left_behind, press_keys("t")),
    "help": Scene(at.idle, press_keys("f1")),
    "power": Scene(at.idle, press_keys("p")),
    "plan-absent": Scene(at.idle, press_keys("2")),
    "plan-valid": Scene(at.show_valid_plan, press_keys("2")),
    "plan-invalid": Scene(at.show_bad_plan, press_keys("2")),
    "plan-confirm": Scene(at.show_valid_plan, press_keys("2", "s")),
    "plan-templates": Scene(at.idle, open_templates),
    "plan-saved": Scene(show_saved, open_saved),
    "plan-saved-adjusted": Scene(show_saved, adjust_saved),
    "plan-saved-too-much": Scene(show_longer, refuse_longer),
    "compose-template": Scene(at.idle, compose_template),
    "compose-times": Scene(at.idle, show_times),
    "compose": Scene(at.idle, press_keys("2", "n", "space")),
    "compose-all-tests": Scene(at.idle, compose_all_tests),
    "compose-only-reading": Scene(at.idle, compose_only_reading),
    "compose-field-tests": Scene(at.idle, compose_field_tests),
    "compose-keys": Scene(at.idle, open_keys),
    "compose-keys-mistakes": Scene(at.idle, mistake_keys),
    "compose-keys-set": Scene(at.idle, set_keys),
    "compose-mistakes": Scene(at.idle, compose_mistakes),
    "compose-array": Scene(at.idle, compose_array),
    "compose-array-mistakes": Scene(at.idle, make_array_mistakes),
    "array": Scene(at.idle, open_array_settings),
    "array-kernel": Scene(at.idle, open_kernel_settings),
    "array-mistakes": Scene(at.idle, look_at_array_mistakes),
    "compose-more-settings-mistakes": Scene(at.idle, set_more_settings),
    "more-settings": Scene(at.idle, press_keys("2", "n", "space", "f5")),
    "more-settings-mistakes": Scene(at.idle, look_at_more_settings_mistakes),
    "release": Scene(at.idle, release_wrongly),
    "release-left": Scene(at.idle, leave_release),
    "run-running": Scene(at.run_campaign, do_nothing),
    "run-countdown": Scene(at.count_down, do_nothing),
    "run-preparing": Scene(at.prepare_drives, do_nothing),
    "run-paused": Scene(at.pause, press_keys("3")),
    "run-step": Scene(at.run_step, read_for_minutes),
    "run-side-by-side": Scene(at.run_steps_at_once, do_nothing),
    "run-skip": Scene(at.run_step, press_keys("k")),
    "run-pausing": Scene(at.run_step_to_pause, do_nothing),
    "run-step-prepared": Scene(at.prepare_step, do_nothing),
    "run-array": Scene(at.run_array_step, read_array),
    "run-array-made": Scene(at.make_array, do_nothing),
    "run-shelf": Scene(run_shelf, read_shelf),
    "run-shelf-sorted": Scene(run_large_shelf, sort_shelf),
    "run-shelf-drive": Scene(run_shelf, open_drive),
    "run-shelf-alone": Scene(run_shelf_alone, read_shelf),
    "drives-shelf": Scene(list_shelf, do_nothing),
    "drives-inspect-shelf": Scene(list_shelf, offer_inspection),
    "results-rejected-one": Scene(reject_one, press_keys("4")),
    "results-rejected": Scene(reject_some, press_keys("4")),
    "run-accepted": Scene(accept_shelf, press_keys("3")),
    "run-rejected": Scene(reject_some, press_keys("3")),
    "run-quick-look": Scene(look_quickly, press_keys("3")),
    "run-judged-one": Scene(judge_one, press_keys("3")),
    "run-rejected-one": Scene(reject_one, press_keys("3")),
    "results": Scene(at.run_campaign, press_keys("4")),
    "results-steps": Scene(at.show_steps, press_keys("4")),
    "results-steps-end": Scene(at.show_steps, press_keys("4", "tab", "end")),
    "results-field-test": Scene(at.show_field_test, look_at_results),
    "results-array": Scene(at.show_array_results, press_keys("4")),
    "results-array-end": Scene(at.show_array_results, press_keys("4", "tab", "end")),
    "results-array-boots": Scene(at.show_array_boots, press_keys("4")),
    "results-steps-and-boots": Scene(at.show_steps_and_boots, press_keys("4")),
    "results-spreads": Scene(show_spreads, press_keys("4", "tab", "end")),
    "results-raw": Scene(show_raw, open_raw),
    "results-raw-text": Scene(show_raw, open_raw_text),
    "results-databases": Scene(show_databases, open_databases),
    "results-take-over": Scene(show_databases, open_offer),
    "results-unusable": Scene(show_databases, open_unusable),
    "machine": Scene(show_machine, press_keys("5")),
    "machine-trouble": Scene(show_poor_machine, press_keys("5")),
    "machine-keyboard": Scene(show_machine, press_keys("5", "k", "down", "down")),
    "machine-time": Scene(show_machine, press_keys("5", "t")),
    "machine-shell": Scene(show_machine, press_keys("5", "x")),
    "manual": Scene(show_manual, open_manual),
    "manual-chapter": Scene(show_manual, open_chapter),
}


async def play(name: str, pilot: Pilot[Any], engine: FakeEngine) -> None:
    """Bring the scene on the screen."""
    await settle(pilot)
    await SCENES[name].steps(pilot, engine)
