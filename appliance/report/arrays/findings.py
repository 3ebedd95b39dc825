# SPDX-License-Identifier: Apache-2.0
"""Conclusions from an array's figures, in plain sentences, each by a stated rule. Pure.

Only figures of all three places that may speak make a sentence about their order, and one run of
each is called what it is.
"""

from collections.abc import Iterable, Sequence

from appliance.report.arrays.cache_modes import find_warm_ups
from appliance.report.arrays.compare import Comparison, find_comparisons, pick_headlines
from appliance.report.arrays.section import find_peak, find_step_modes
from appliance.report.arrays.tables import find_hit_ratio, is_measured
from appliance.report.blocks import (
    count,
    format_bytes,
    format_number,
    format_share,
    format_times,
    say_start,
)
from appliance.report.boots.findings import Finding
from appliance.report.figures import ARRAY, Figure, StepFigures, Workload
from appliance.report.section import name_kind
from appliance.statistics import stats
from appliance.units import format_minutes
from appliance.workloads.sweep import report as sweep

_GAIN = 1.0 + stats.TOLERANCE

ARRAY_RULES = (
    (
        "Array: set beside its cache drive alone and its backing drive alone where all three"
        " figures may speak. One run of each, so a distance below"
        f" {stats.TOLERANCE * 100:.0f} % is called about as fast, unless the array is between them."
    ),
    (
        "Share of the cache drive's advantage: of the seconds that the cache drive alone saves"
        " against the backing drive alone, or of the rate that it gains, how much the array"
        f" reaches; only where the cache drive alone is better by a factor of {_GAIN:.1f}."
    ),
    (
        "Hit ratio of an array: the share of the bytes that it delivered which did not come from"
        " its backing drive."
    ),
)


def find_order_findings(workloads: Sequence[Workload]) -> tuple[Finding, ...]:
    """How the array compares with its drives: what people made it for."""
    return tuple(
        _judge_order(workload, one)
        for workload in workloads
        for one in pick_headlines(find_comparisons(workload))
    )


def find_array_findings(workloads: Sequence[Workload]) -> tuple[Finding, ...]:
    """What the array's cache answered, what was not clean, and last what can be lost."""
    findings: list[Finding] = []
    for workload in workloads:
        for step in workload.steps:
            if step.place == ARRAY:
                findings += _judge_pairs(step)
                findings += _judge_warm_up(step)
                findings += _judge_cleanness(workload, step)
    return (*findings, *_judge_price(workloads))


def find_covered(workload: Workload) -> frozenset[str]:
    """Subjects whose three places are in one sentence already, and no other drive beside them."""
    if any(step.place == "drive" for step in workload.steps):
        return frozenset()
    return frozenset(
        _name_subject(workload, one) for one in pick_headlines(find_comparisons(workload))
    )


def _name_subject(workload: Workload, one: Comparison) -> str:
    return f"{name_kind(workload.kind)}, {one.name}"


def _judge_order(workload: Workload, one: Comparison) -> Finding:
    gain, distance, advantage = one.gain or 0.0, one.distance or 0.0, one.advantage or 0.0
    cache, backing = _say_place(workload, one, "cache"), _say_place(workload, one, "backing")
    took = "took" if one.unit == "s" else "reached"
    subject, array = _name_subject(workload, one), f"the array {took} {_say_value(one, ARRAY)}"
    expected = advantage >= 1.0
    if not expected:
        text = (
            f"{array}; here the cache drive alone ({cache}) was no faster than the backing drive"
            f" alone ({backing}), so a gain was not to be expected"
        )
    elif gain >= 1.0 and distance >= 1.0:
        text = f"{array}, between the cache drive alone ({cache}) and the backing drive alone"
        text += f" ({backing})"
    elif distance < 1.0:
        expected = distance > 1 / _GAIN
        text = (
            f"{array}, about as fast as the cache drive alone ({cache}); the backing drive alone:"
            f" {backing}"
            if expected
            else f"{array}, better than the cache drive alone ({cache}), which is not the expected"
            f" order; the backing drive alone: {backing}"
        )
    else:
        expected = gain > 1 / _GAIN
        text = (
            f"{array}, about as fast as the backing drive alone ({backing}); the cache drive alone:"
            f" {cache}"
            if expected
            else f"{array}, worse than the backing drive alone ({backing}), which is not the"
            f" expected order; the cache drive alone: {cache}"
        )
    text += f". {gain:.{2 if gain < 10 else 0}f} times as fast as the backing drive alone"
    if one.share is not None:
        text += f", {format_share(one.share)} of the cache drive's advantage"
    figures = [figure for place in one.places.values() for figure in place.figures]
    text += f". {_say_state(figures, one.places[ARRAY].figures)}"
    kind = "remark" if not expected else "gain" if gain >= _GAIN else "flat"
    return Finding(kind, subject, text)


def _say_place(workload: Workload, one: Comparison, place: str) -> str:
    step = workload.find_step(place)
    label = "" if step is None else step.label.removesuffix(f" ({place})")
    return f"{label}, {_say_value(one, place)}"


def _say_value(one: Comparison, place: str) -> str:
    value = one.places[place].value
    if one.unit == "s" and value >= 60:
        return format_minutes(value)
    return f"{one.format(place)} {one.unit}"


def _say_state(figures: Sequence[Figure], array: Sequence[Figure]) -> str:
    start = say_start(figures)
    dirty_bytes = max(figure.dirty_bytes for figure in array)
    clean = (
        f"the array was not clean: up to {format_bytes(dirty_bytes)} dirty when it began"
        if dirty_bytes
        else "the array was clean when it began"
    )
    return f"{start[0].upper()}{start[1:]}; {clean}; n = 1 each."


def _judge_pairs(step: StepFigures) -> Iterable[Finding]:
    """What asking for blocks again changes on the largest set."""
    points = sweep.find_points(step)
    for test in dict.fromkeys(point.test for point in points):
        pairs = sweep.find_pairs(points, test)
        if not pairs:
            continue
        pair = pairs[-1]
        once, again = pair.once.figure.get("iops"), pair.repeated.figure.get("iops")
        if pair.ratio is None or not (
            pair.once.figure.is_tellable and pair.repeated.figure.is_tellable
        ):
            continue
        hits = (
            find_hit_ratio(step, pair.once.figure.name),
            find_hit_ratio(step, pair.repeated.figure.name),
        )
        clause = (
            f"; the cache drive answered {format_share(hits[0])} and {format_share(hits[1])}"
            if None not in hits
            else ""
        )
        yield Finding(
            "flat",
            f"{step.label}, sweep, {test} on {pair.size}",
            f"{format_number(once)} IOPS with each block asked for once (randommap),"
            f" {format_number(again)} IOPS with blocks asked for again by chance (norandommap):"
            f" {format_times(pair.ratio)}{clause}.",
        )


def _judge_warm_up(step: StepFigures) -> Iterable[Finding]:
    for one in find_warm_ups(step):
        last = f" at a hit ratio of {format_share(one.hit_ratios[-1])}" if one.hit_ratios else ""
        rounds = count(one.rounds, "round")
        if one.settled:
            text = f"{one.mode}: the warmed cache settled after {rounds}{last}."
            yield Finding("flat", f"{step.label}, warm-up", text)
        else:
            text = (
                f"{one.mode}: the cache had not settled after {rounds}{last}; the figures of this"
                " mode are those of a cache that was still learning."
            )
            yield Finding("remark", f"{step.label}, warm-up", text)


def _judge_cleanness(workload: Workload, step: StepFigures) -> Iterable[Finding]:
    figures = [figure for figure in step.figures if is_measured(figure)]
    dirty = [figure.dirty_bytes for figure in figures if figure.dirty_bytes]
    if dirty:
        kind = workload.kind
        yield Finding(
            "remark",
            step.label,
            f"{kind}: {len(dirty)} of {count(len(figures), 'figure')} began while up to"
            f" {format_bytes(max(dirty))} were dirty; writing back went on beside them.",
        )


def _judge_price(workloads: Sequence[Workload]) -> Iterable[Finding]:
    steps = [step for workload in workloads for step in workload.steps if step.place == ARRAY]
    if not any("writeback" in find_step_modes(step) for step in steps):
        return
    peak = find_peak(steps)
    if peak:
        yield Finding(
            "remark",
            "array, the price of writeback",
            f"up to {format_bytes(peak)} were on the cache drive only. Had it died then, they"
            " would have been lost, and most likely the file system with them.",
        )
