# SPDX-License-Identifier: Apache-2.0
"""The duration of a plan, from the database's history and the plan's defaults."""

import tomllib
from collections.abc import Sequence
from pathlib import Path

from appliance.plan.model import DEFAULTS
from appliance.store.read.durations import select_work
from appliance.units import parse_size
from tui.language import _
from tui.model.drives import DriveRow
from tui.port.stored import opened
from tui.times.durations import make_durations
from tui.times.step_times import Basis, StepTime, find_step_times


def estimate_plan(database: Path, toml: str, drives: Sequence[DriveRow]) -> tuple[StepTime, ...]:
    """Each step of a plan without mistakes. Raises KaltstartError."""
    with opened(database, _("past steps cannot be read: {reason}")) as connection:
        past = make_durations(select_work(connection)).past
    basis = Basis(past, DEFAULTS, parse_size)
    return find_step_times(tomllib.loads(toml), drives, basis)
