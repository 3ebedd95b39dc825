# SPDX-License-Identifier: Apache-2.0
"""The spread of a workload's repeated samples.

A box where there are enough of them, a list where there are few; never without the cache state.
Pure.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from appliance.store.read.figures import FigureRow, SampleRow
from appliance.workloads.fio.keys import FioVariant
from appliance.workloads.lottery.keys import LotteryVariant
from tui.charset import one_line, shorten, shorten_name
from tui.figures.steps import name_cache
from tui.format import show_number
from tui.language import _
from tui.model.campaigns import Campaign, Spread
from tui.model.engine_words import name_device
from tui.widgets.charts import Box, draw_boxes

LEAST_FOR_A_BOX = 5
"""Quartiles of fewer would be drawn from next to nothing."""

_DEVICE = 20


def find_spreads(
    kind: str, rows: Sequence[FigureRow], samples: Sequence[SampleRow]
) -> tuple[Spread, ...]:
    """All there are in a step, without their quartiles. What is not valid is left out."""
    match kind:
        case "lottery":
            return tuple(_find_passes(rows, samples))
        case "surface":
            valid = [row for row in rows if row.valid]
            cache = name_cache({row.page_cache for row in valid}, valid)
            rates = tuple(sample.bytes_s / 1e6 for sample in samples)
            return (Spread("slices", cache, "MB/s", rates),) if valid and len(rates) > 1 else ()
        case "fio":
            return tuple(_find_rounds(rows))
        case _:
            return ()


def _find_passes(rows: Sequence[FigureRow], samples: Sequence[SampleRow]) -> Iterable[Spread]:
    met = dict.fromkeys((sample.pass_name, sample.page_cache) for sample in samples)
    for name, page_cache in met:
        pass_rows = [
            row
            for row in rows
            if isinstance(row.variant, LotteryVariant) and row.variant.reading == name
        ]
        rates = tuple(
            sample.bytes_s / 1e6
            for sample in samples
            if (sample.pass_name, sample.page_cache) == (name, page_cache)
        )
        if len(rates) > 1 and all(row.valid for row in pass_rows):
            yield Spread(one_line(name), name_cache([page_cache], pass_rows), "MB/s", rates)


def _find_rounds(rows: Sequence[FigureRow]) -> Iterable[Spread]:
    rounds: dict[FioVariant, list[FigureRow]] = {}
    for row in rows:
        this = row.variant
        if not isinstance(this, FioVariant) or not this.is_test or not this.round:
            continue
        if row.valid and row.metric == ("iops" if "rand-" in this.test else "bw_bytes_s"):
            rounds.setdefault(replace(this, round=0), []).append(row)
    for variant, round_rows in rounds.items():
        is_iops = round_rows[0].metric == "iops"
        values = tuple(row.value if is_iops else row.value / 1e6 for row in round_rows)
        if len(values) > 1:
            cache = name_cache({row.page_cache for row in round_rows}, round_rows)
            yield Spread(one_line(str(variant)), cache, "IOPS" if is_iops else "MB/s", values)


def draw_spreads(campaign: Campaign, width: int) -> list[str]:
    """A picture for each that at least one device has, all devices on one axis."""
    blocks = []
    for index in dict.fromkeys(step.workload_index for step in campaign.steps):
        steps = [step for step in campaign.steps if step.workload_index == index]
        spreads = [(step.device, spread) for step in steps for spread in step.spreads]
        for name, cache, unit in dict.fromkeys((s.name, s.cache, s.unit) for _device, s in spreads):
            group = [
                (device, spread)
                for device, spread in spreads
                if (spread.name, spread.cache, spread.unit) == (name, cache, unit)
            ]
            title = _("{test}: {unit} of each sample, {cache}").format(
                test=f"{steps[0].kind} {name}", unit=unit, cache=cache
            )
            blocks.append(_draw_group(title, group, width))
    return blocks


def _draw_group(title: str, own: Sequence[tuple[str, Spread]], width: int) -> str:
    boxes = [_make_box(device, spread) for device, spread in own if spread.quartiles is not None]
    lines = [draw_boxes(title, boxes, width=width) if boxes else shorten(title, width)]
    for device, spread in own:
        if spread.quartiles is None:
            values = "  ".join(show_number(value, ",.2f") for value in spread.values)
            lines.append(shorten(f"{_label(device, spread)}  {values}", width))
    return "\n".join(lines)


def _make_box(device: str, spread: Spread) -> Box:
    lower, median, upper = spread.quartiles or (0.0, 0.0, 0.0)
    values = spread.values
    return Box(_label(device, spread), min(values), lower, median, upper, max(values))


def _label(device: str, spread: Spread) -> str:
    return f"{shorten_name(name_device(device), _DEVICE)} n={len(spread.values)}"
