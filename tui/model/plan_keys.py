# SPDX-License-Identifier: Apache-2.0
"""A plan key's allowed values by its declaration, and their texts. Pure."""

from dataclasses import dataclass
from typing import Literal

from tui.language import _
from tui.model.draft import PlanValue

_SECONDS = frozenset({"runtime", "idle_timeout"})

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
    in_row: bool = False
    """Whether the row of its table has it."""
    label: str = ""
    """Before it there, in English."""
    offered: str = ""
    """What it begins with there where it has no default."""
    turns: tuple[tuple[PlanValue, str], ...] = ()
    """The values that take turns there, each with its text in English; empty: it has a field."""


@dataclass(frozen=True, slots=True)
class PlanKind:
    """A kind of workload."""

    kind: str
    label: str
    does: str
    """Its name, and what it does in a few words; in English."""
    on_array: bool
    """Whether it can be about an array as a whole."""


def describe(key: PlanKey) -> str:
    """What it is about, in a few words."""
    words = _(key.words)
    return f"s, {words}" if key.name in _SECONDS else words


def explain(key: PlanKey, default: str) -> str:
    """All that a field of it takes, and what an empty one means, in a line or two."""
    may_be = ", ".join(key.choices)
    match key.shape:
        case "list" if key.choices:
            may_be = _("some of {words}, with commas").format(words=may_be)
        case "list" if key.name == "on":
            may_be = _("serial numbers or array, by commas")
        case "list":
            may_be = _("sizes with commas, such as 256M, 4G")
        case "table" if key.default:
            may_be = _("names and numbers, such as a=4, b=6")
        case "table":
            may_be = _("names and values, such as rw=randread, bs=8K")
        case "size":
            may_be = _("bytes, or with K M G T: {bounds}").format(bounds=key.bounds)
            may_be = f"{', '.join(key.choices)}; {may_be}" if key.choices else may_be
        case "number":
            may_be = key.bounds
    silent = _("default: {value}").format(value=default)
    return f"{key.name}: {may_be}\n{silent}"
