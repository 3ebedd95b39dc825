# SPDX-License-Identifier: Apache-2.0
"""A workload on several devices side by side: as a table and as bars. Pure text.

No figure is shown without the cache state that it was taken under.
"""

from collections.abc import Sequence

from tui.charset import shorten, shorten_name
from tui.language import _
from tui.model.campaigns import Campaign, Figure, Step
from tui.model.engine_words import name_device, name_role
from tui.model.status import ARRAY
from tui.widgets.charts import Bar, draw_bars


def describe_comparisons(campaign: Campaign, width: int) -> list[str]:
    """A table for each workload that ran on the array and on a drive alone: figure by device."""
    names = {
        drive.name: _("{role} drive").format(role=name_role(drive.role))
        for drive in campaign.drives
        if drive.role in {"backing", "cache"}
    } | {ARRAY: name_device(ARRAY)}
    indexes = dict.fromkeys(step.workload_index for step in campaign.steps if step.on_array)
    beside = [
        [step for step in campaign.steps if step.workload_index == index and step.figures]
        for index in indexes
    ]
    return [
        _compare(
            steps, [shorten_name(names.get(step.device, step.device), 15) for step in steps], width
        )
        for steps in beside
        if len(steps) > 1 and any(step.on_array for step in steps)
    ]


def _compare(steps: list[Step], titles: list[str], width: int) -> str:
    names = list(dict.fromkeys(figure.name for step in steps for figure in step.figures))
    name = min(max([len(steps[0].kind), *map(len, names)]), 26)
    columns = [
        max([len(title), *(len(_bracket_short(figure)) for figure in step.figures)])
        for step, title in zip(steps, titles, strict=True)
    ]
    head = "".join(f"  {title:>{column}}" for title, column in zip(titles, columns, strict=True))
    lines = [f"{steps[0].kind:{name}}{head}  {_('Page cache')}"]
    for label in names:
        figures = [next((f for f in step.figures if f.name == label), None) for step in steps]
        cells = "".join(
            f"  {_bracket_short(figure) if figure else '-':>{column}}"
            for figure, column in zip(figures, columns, strict=True)
        )
        cache = " / ".join(dict.fromkeys(figure.cache for figure in figures if figure))
        start = f"{shorten(label, name):{name}}{cells}"
        line = f"{start}  {cache}"
        lines += [start, f"{cache:>{width}}"] if len(line) > width else [line]
    return "\n".join(lines)


def _bracket_short(figure: Figure) -> str:
    return figure.short if figure.valid else f"({figure.short})"


def draw_comparisons(campaign: Campaign, width: int) -> list[str]:
    """A group of bars for each figure of a workload that ran on several drives."""
    blocks = []
    for index in dict.fromkeys(step.workload_index for step in campaign.steps):
        steps = [s for s in campaign.steps if s.workload_index == index and s.figures]
        names = dict.fromkeys(f.name for step in steps for f in step.figures if f.value > 0)
        groups = [group for name in names if (group := _draw_group(name, steps, width))]
        if groups:
            are_times = all(f.short.endswith(" s") for step in steps for f in step.figures)
            title = _("{kind} side by side")
            if are_times:
                title = _("{kind} side by side, shorter is better")
            blocks.append("\n".join([title.format(kind=steps[0].kind), *groups]))
    return blocks


def _draw_group(name: str, steps: Sequence[Step], width: int) -> str:
    pairs = [
        (step, figure)
        for step in steps
        for figure in step.figures
        if figure.name == name and figure.value > 0
    ]
    if len({step.device for step, _ in pairs}) < 2:
        return ""
    bars = [
        Bar(name_device(step.device), figure.value, f"{_bracket_short(figure)}  {figure.cache}")
        for step, figure in pairs
    ]
    return f" {shorten(name, width - 1)}\n{draw_bars(bars, width=width)}"
