# SPDX-License-Identifier: Apache-2.0
"""A saved plan as the form of a composed campaign shows it. Pure data."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tui.model.draft import PlanTable
from tui.model.drives import DriveRow
from tui.model.more_settings import MoreSettings
from tui.model.templates import Template


@dataclass(frozen=True, slots=True)
class Outline:
    """What the form is filled in with."""

    template: Template
    name: str
    array: PlanTable | None
    on_finish: str
    further: MoreSettings
    drives: tuple[DriveRow, ...]
    """All that are here: those of the plan first, in its order."""
    obstacles: tuple[str, ...] = ()
    """Why it cannot be shown in the form at all; empty where nothing is known to be in the way."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Of the plan's drives, by raw identity."""
