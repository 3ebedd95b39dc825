"""What a key of a plan may be, as it is declared. Pure data."""

from dataclasses import dataclass
from typing import Literal

from tui.composed import PlanValue

type Shape = Literal["text", "size", "number", "choice", "list", "table"]


@dataclass(frozen=True, slots=True)
class PlanKey:
    """A key of one of its tables."""

    name: str
    shape: Shape
    default: PlanValue = ""
    """What the plan means where it is silent; empty: that it is not said."""
    choices: tuple[str, ...] = ()
    """All that a choice may be, or an element of a list; empty: anything of its kind."""
    bounds: str = ""
    """From where to where a number or a size goes, as a plan writes it; empty: not said."""
    is_whole: bool = False
    """Of a number: without a fraction."""
    words: str = ""
    """What it is about, in a few words, in English."""
