# SPDX-License-Identifier: Apache-2.0
"""The array and its members alone: the same test in three places. Pure.

The one place that says what may be set side by side; the table of a page and its sentences both
come from here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from appliance.report.blocks import (
    DASH,
    CompareCell,
    CompareView,
    describe_array,
    format_number,
    format_rate,
    format_share,
    format_times,
    say_start,
)
from appliance.report.figures import Figure, Workload
from appliance.report.section import read_rows
from appliance.statistics import stats
from appliance.units import format_seconds

PLACES = ("cache", "backing", "array")
_HEADS = {"cache": "cache drive alone", "backing": "backing drive alone", "array": "array"}


@dataclass(frozen=True, slots=True)
class Measured:
    """One place's figure."""

    value: float
    figures: tuple[Figure, ...]
    """What it was taken from. None: counted on the whole device during the whole step."""

    @property
    def is_tellable(self) -> bool:
        """Whether a sentence may be built on it."""
        return bool(self.figures) and all(figure.is_tellable for figure in self.figures)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One test in its places; a place that did not run or does not count is absent."""

    name: str
    unit: str
    """s | MB/s | IOPS"""
    places: dict[str, Measured]
    headline: bool = True
    """Whether it is worth a sentence; parts of a whole are not."""

    @property
    def gain(self) -> float | None:
        """How many times as good as the backing drive alone the array is."""
        return self._compare("array", "backing")

    @property
    def distance(self) -> float | None:
        """How many times as good as the array the cache drive alone is."""
        return self._compare("cache", "array")

    @property
    def advantage(self) -> float | None:
        """How many times as good as the backing drive alone the cache drive alone is."""
        return self._compare("cache", "backing")

    @property
    def share(self) -> float | None:
        """Of what the cache drive is better than the backing drive, how much the array reaches.

        In the figure's own unit: seconds saved, or rate gained. None where the cache drive is not
        better by more than the tolerance: a share of next to nothing means nothing.
        """
        advantage = self.advantage
        if advantage is None or advantage < 1.0 + stats.TOLERANCE or "array" not in self.places:
            return None
        cache, backing, array = (self.places[place].value for place in PLACES)
        return (array - backing) / (cache - backing)

    def format(self, place: str) -> str:
        """The figure, without its unit."""
        value = self.places[place].value
        if self.unit == "s":
            return format_seconds(value)
        return format_rate(value) if self.unit == "MB/s" else format_number(value)

    def _compare(self, one: str, other: str) -> float | None:
        if not {one, other} <= self.places.keys():
            return None
        good, bad = self.places[one].value, self.places[other].value
        if self.unit == "s":
            good, bad = bad, good
        return good / bad if bad > 0 else None


def find_comparisons(workload: Workload) -> tuple[Comparison, ...]:
    """All that the array and at least one of its members did alike; rates are bytes per second."""
    steps = {place: step for place in PLACES if (step := workload.find_step(place)) is not None}
    if "array" not in steps or len(steps) < 2:
        return ()
    rows: dict[tuple[str, str, bool], dict[str, Measured]] = {}
    for place, step in steps.items():
        for name, unit, headline, value, figures in read_rows(step):
            if value is not None:
                rows.setdefault((name, unit, headline), {})[place] = Measured(value, figures)
    return tuple(
        Comparison(name=name, unit=unit, places=places, headline=headline)
        for (name, unit, headline), places in rows.items()
        if "array" in places and len(places) > 1
    )


def make_comparison(workload: Workload) -> CompareView | None:
    """The table; None where there is nothing to set side by side."""
    comparisons = find_comparisons(workload)
    if not comparisons:
        return None
    places = [place for place in PLACES if workload.find_step(place)]
    return CompareView(
        heads=tuple(_head(workload, place) for place in places),
        lines=tuple(
            (
                f"{one.name}, {one.unit}",
                tuple(_make_cell(one, place) for place in places),
                format_times(one.gain),
                format_share(one.share),
            )
            for one in comparisons
        ),
    )


def _head(workload: Workload, place: str) -> str:
    step = workload.find_step(place)
    if step is None or place == "array":
        return _HEADS[place]
    return f"{step.label.removesuffix(f' ({place})')}, {_HEADS[place]}"


def _make_cell(one: Comparison, place: str) -> CompareCell:
    measured = one.places.get(place)
    if measured is None:
        return CompareCell(value=DASH, state="no valid figure")
    if not measured.figures:
        return CompareCell(value=one.format(place), state="whole step")
    caches = [cache for figure in measured.figures for cache in figure.caches]
    states = ", ".join(dict.fromkeys(cache.page_cache for cache in caches))
    if all(cache.proof == "proven" for cache in caches):
        state = f"{states}, proven"
    elif measured.is_tellable:
        state = say_start(measured.figures).removeprefix("page cache ")
    else:
        state = f"{states}, not proven"
    dirty = any(figure.dirty_bytes for figure in measured.figures)
    array = describe_array(measured.figures)
    return CompareCell(
        value=one.format(place),
        state=state + (f"; {array}" if array else ""),
        doubt="" if measured.is_tellable and not dirty else "dirty" if dirty else "unproven",
    )


def pick_headlines(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Those that a sentence may be built on: worth one, in all three places, and proven."""
    return tuple(
        one
        for one in comparisons
        if one.headline
        and one.places.keys() == set(PLACES)
        and all(measured.is_tellable for measured in one.places.values())
    )
