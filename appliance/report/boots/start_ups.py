# SPDX-License-Identifier: Apache-2.0
"""What start-up waited for: a drive's first boot above a settled one, unit by unit. Pure.

Only timed boots are compared: a charted one is slowed down by its sampling, and comes after the
drive has learned.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from appliance.report.blocks import ChartView
from appliance.report.boots.views import DriveView
from appliance.report.charts.plots import COLORS, add_x_labels
from appliance.report.charts.svg import (
    Drawing,
    Scale,
    add_box,
    add_line,
    add_text,
    find_scale,
    format_tick,
)
from appliance.report.series import Series
from appliance.samples.unit_times import UnitTime
from appliance.store.read.campaign import BootRow, StartUpRow
from appliance.store.tables.boots import parse_units
from appliance.units import format_seconds

_DASH = format_seconds(None)
_SLOWEST = 6
"""Units of each boot that are drawn."""
_MOST_ROWS = 20
_ROW = 32
_BAR = 12
_LONGEST_NAME = 32


@dataclass(frozen=True, slots=True)
class StartUpView:
    """One drive's start-ups, cold or warm."""

    drive: DriveView
    label: str
    charts: tuple[ChartView, ...]
    boots: tuple[str, ...]
    """What the one boot or the two are called."""
    chain: tuple[tuple[str, ...], ...]
    """Of the critical chains, in time's order: unit, then per boot when it began and was ready."""
    units: tuple[tuple[str, ...], ...]
    """The slowest ones: unit, then per boot its seconds; of two also the difference."""


@dataclass(frozen=True, slots=True)
class _StartUp:
    name: str
    boot: BootRow
    units: Mapping[str, UnitTime]

    @property
    def phases(self) -> tuple[tuple[str, float, float], ...]:
        """Name, begin and end of its parts, in seconds since the kernel's start."""
        parts, begin_s = [], 0.0
        for name, seconds in (
            ("kernel", self.boot.kernel_s),
            ("initrd", self.boot.initrd_s),
            ("userspace", self.boot.userspace_s),
            ("session", self.boot.session_s),
        ):
            end_s = begin_s + (seconds or 0.0)
            parts.append((name, begin_s, end_s))
            begin_s = end_s
        return tuple(parts)


def view_start_ups(
    drive: DriveView,
    all_series: Sequence[Series],
    boots: Sequence[BootRow],
    start_ups: Sequence[StartUpRow],
) -> tuple[StartUpView, ...]:
    """Of one drive, each of its series that has units; all sequences are the drive's own."""
    units = {row.boot_id: _index(row.units) for row in start_ups}
    timed = {boot.cycle: boot for boot in boots if boot.is_timed and units.get(boot.id)}
    views = []
    for number, series in enumerate(all_series):
        pair = [
            _StartUp(name, timed[cycle], units[timed[cycle].id])
            for cycle, name in _choose(series, frozenset(timed))
        ]
        if pair:
            views.append(_view(drive, series.label, pair, name=f"{drive.color}-{number}"))
    return tuple(views)


def _index(text: str) -> dict[str, UnitTime]:
    """By their names; empty where the stick has spoilt them."""
    with suppress(ValueError, TypeError, RecursionError):
        return {unit.unit: unit for unit in parse_units(text)}
    return {}


def _choose(series: Series, known: frozenset[int]) -> list[tuple[int, str]]:
    """The first boot and the settled one nearest to their median, or the last one; with names."""
    cycles = [cycle for cycle in series.cycles if cycle in known]
    if not cycles:
        return []
    first = cycles[0]
    chosen = [(first, f"boot {first}")]
    seconds = dict(zip(series.cycles, series.boot_s, strict=True))
    median_s = series.settled_s
    settled = [
        cycle for cycle in cycles[1:] if series.settled_from and cycle >= series.settled_from
    ]
    if settled and median_s is not None:
        cycle = min(settled, key=lambda each: abs(seconds[each] - median_s))
        chosen.append((cycle, f"boot {cycle}, settled"))
    elif len(cycles) > 1:
        chosen.append((cycles[-1], f"boot {cycles[-1]}, not known to be settled"))
    return chosen


def _view(drive: DriveView, label: str, pair: Sequence[_StartUp], *, name: str) -> StartUpView:
    end_s = max(start_up.phases[-1][2] for start_up in pair)
    slowest = {
        unit.unit
        for start_up in pair
        for unit in sorted(start_up.units.values(), key=lambda unit: -unit.seconds)[:_SLOWEST]
    }
    order = sorted(slowest, key=lambda unit: _find_begin(unit, pair))
    charts = tuple(
        ChartView(
            title=f"{start_up.name}: {format_seconds(start_up.boot.boot_s)} s",
            svg=_draw(
                start_up, order, color=drive.color, end_s=end_s, name=f"start-up-{name}-{side}"
            ),
            legend=(),
        )
        for side, start_up in enumerate(pair)
    )
    names = {unit: unit_time for boot in pair for unit, unit_time in boot.units.items()}
    chain = [unit for unit in names if any(_is_in_chain(boot.units.get(unit)) for boot in pair)]
    by_length = sorted(
        names, key=lambda unit: -max(_seconds(start_up.units.get(unit)) or 0.0 for start_up in pair)
    )
    return StartUpView(
        drive=drive,
        label=label,
        charts=charts,
        boots=tuple(start_up.name for start_up in pair),
        chain=tuple(
            (
                unit,
                *(cell for start_up in pair for cell in _format_place(start_up.units.get(unit))),
            )
            for unit in sorted(chain, key=lambda unit: _find_begin(unit, pair))
        ),
        units=tuple(_format_unit(unit, pair) for unit in by_length[:_MOST_ROWS]),
    )


def _find_begin(unit: str, pair: Sequence[_StartUp]) -> tuple[float, float, str]:
    unit_time = next(start_up.units[unit] for start_up in pair if unit in start_up.units)
    return unit_time.began_s, unit_time.ready_s, unit


def _is_in_chain(unit: UnitTime | None) -> bool:
    return unit is not None and unit.chain is not None


def _seconds(unit: UnitTime | None) -> float | None:
    return None if unit is None else unit.seconds


def _format_place(unit: UnitTime | None) -> tuple[str, str]:
    """When it began and was ready, if the boot waited for it."""
    if unit is None or unit.chain is None:
        return _DASH, _DASH
    return format_seconds(unit.began_s), format_seconds(unit.ready_s)


def _format_unit(unit: str, pair: Sequence[_StartUp]) -> tuple[str, ...]:
    seconds = [_seconds(start_up.units.get(unit)) for start_up in pair]
    cells = (unit, *map(format_seconds, seconds))
    if len(seconds) < 2:
        return cells
    before_s, after_s = seconds
    if before_s is None or after_s is None:
        return (*cells, _DASH)
    return (*cells, f"{after_s - before_s:+.3f}")


def _draw(start_up: _StartUp, order: Sequence[str], *, color: int, end_s: float, name: str) -> str:
    """A bar of the start-up's parts, then one per unit, on an axis from the kernel's start."""
    scale = find_scale(0.0, end_s)
    rows = [
        (f"{_shorten(unit)} {_name_seconds(start_up, unit)}", start_up.units.get(unit))
        for unit in order
    ]
    height = _ROW * (len(rows) + 1.0)
    parts = ", ".join(
        f"{part} {end - begin:.1f}" for part, begin, end in start_up.phases if end > begin
    )
    drawing = Drawing(
        name,
        title=f"Seconds since the kernel's start, {start_up.name}",
        description=_describe(start_up, order),
        height=height,
        left=10,
        right=16,
        classes="rows",
    )
    frame = drawing.add_group("axis")
    for tick in scale.ticks:
        x = 100 * scale.place(tick)
        add_line(frame, x=(x, x), y=(0, height), classes="grid")
    add_x_labels(
        frame, [(100 * scale.place(tick), format_tick(tick)) for tick in scale.ticks], height=height
    )
    marks = drawing.add_group("marks")
    add_text(marks, "seconds since the kernel's start", x=50, y=height + 35, anchor="middle")
    add_text(marks, parts, x=0, y=8)
    bars = drawing.add_group(f"bar piece color-{color % COLORS}")
    for number, (part, begin_s, part_end_s) in enumerate(start_up.phases):
        _add_bar(
            bars, scale, begin_s, part_end_s, row=0, classes=f"phase-{number}",
            says=f"{part}: {part_end_s - begin_s:.3f} s",
        )  # fmt: skip
    for number, (label, unit) in enumerate(rows, start=1):
        add_text(marks, label, x=0, y=_ROW * number + 8)
        if unit is not None:
            says = f"{unit.unit}: {unit.began_s:.3f} to {unit.ready_s:.3f} s"
            _add_bar(bars, scale, unit.began_s, unit.ready_s, row=number, classes="", says=says)
    return drawing.render()


def _add_bar(
    group: ET.Element,
    scale: Scale,
    begin_s: float,
    end_s: float,
    *,
    row: int,
    classes: str,
    says: str,
) -> None:
    begin, end = 100 * scale.place(begin_s), 100 * scale.place(end_s)
    add_box(
        group, x=begin, width=max(end - begin, 0.2), y=_ROW * row + 17, height=_BAR,
        classes=classes, says=says,
    )  # fmt: skip


def _shorten(unit: str) -> str:
    """What fits above its bar on a narrow page; the whole name is in the tables."""
    name = unit.removesuffix(".service")
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _name_seconds(start_up: _StartUp, unit: str) -> str:
    seconds = _seconds(start_up.units.get(unit))
    # Stored is neither what took no millisecond, nor what was not begun or ready in that boot.
    return "not stored" if seconds is None else f"{seconds:.2f} s"


def _describe(start_up: _StartUp, order: Sequence[str]) -> str:
    """What a person who does not see the bars needs to know of them."""
    parts = [f"{part} {begin:.2f} to {end:.2f}" for part, begin, end in start_up.phases]
    parts += [
        f"{unit} {unit_time.began_s:.2f} to {unit_time.ready_s:.2f}"
        for unit in order
        if (unit_time := start_up.units.get(unit)) is not None
    ]
    return f"Seconds since the kernel's start: {'; '.join(parts)}."
