"""A saved plan as the form of a composed campaign shows it. Pure data."""

from dataclasses import dataclass

from tui.composed import PlanTable
from tui.drive_facts import DriveRow
from tui.further import Further
from tui.templates import Template


@dataclass(frozen=True, slots=True)
class Outline:
    """What the form is filled in with."""

    template: Template
    name: str
    array: PlanTable | None
    on_finish: str
    further: Further
    drives: tuple[DriveRow, ...]
    """All that are here: those of the plan first, in its order."""
    obstacles: tuple[str, ...] = ()
    """Why it cannot be shown in the form at all; empty where nothing is known to be in the way."""
