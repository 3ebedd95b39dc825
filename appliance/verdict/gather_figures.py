# SPDX-License-Identifier: Apache-2.0
"""A step's stored results as figures for the verdict. Pure.

Never takes the figure of a cache for one of a drive.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from appliance.phrases import N_, Phrase, join_phrases
from appliance.samples.variants import Variant
from appliance.store.read.figures import FigureRow
from appliance.verdict.evidence import Figure
from appliance.verdict.limits import LIMITS, LimitKind

MB = 1_000_000
MS_NS = 1_000_000
_PAST_THE_CACHE = frozenset({"cold", "bypass"})

type FigureSource = tuple[Variant, str, float]
"""Which metric of which variant a limit is about, and what one unit of the limit is in it."""


def find_worst(kind: LimitKind, figures: Sequence[Figure]) -> Figure:
    """Of several steps the one that speaks most against the drive; unmeasured where one is.

    A figure that is beyond a limit counts whatever else was not measured: the worst known one is
    taken, and the detail says what is missing. One that is held against no limit counts only where
    there is no other.
    """
    origin = frozenset().union(*(figure.origin for figure in figures))
    excuse = join_phrases(dict.fromkeys(figure.excuse for figure in figures))
    missing = [figure.detail for figure in figures if figure.value is None]
    measured = [figure for figure in figures if figure.value is not None]
    known = [figure for figure in measured if figure.is_held] or measured
    if not known:
        detail = join_phrases(dict.fromkeys(missing))
        return Figure(None, detail, origin, excuse=excuse)
    worse = max if kind.direction == "most" else min
    worst = worse(known, key=lambda each: each.value or 0.0)
    of_several = Phrase(N_("the worst of {count} steps"), count=len(known))
    notes = [worst.detail, of_several if len(known) > 1 else "", *missing]
    return replace(
        worst,
        detail=join_phrases(dict.fromkeys(notes)),
        origin=origin,
        excuse=excuse,
        # One step that speaks of the whole drive is enough.
        in_part=worst.in_part if all(figure.in_part for figure in known) else "",
    )


def excuse_skipped(
    taken: Mapping[str, Figure], planned: Iterable[str], *, excuse: str
) -> dict[str, Figure]:
    """The figures of a step that a person skipped: what it owes for `planned` is no drive's fault.

    What it had found still counts.
    """
    owed = {name: Figure(None) for name in planned} | dict(taken)
    return {
        name: replace(figure, excuse=excuse) if figure.value is None else figure
        for name, figure in owed.items()
    }


def set_aside(taken: Mapping[str, Figure], names: Iterable[str], *, why: str) -> dict[str, Figure]:
    """The measured ones of `names`, to be held against no limit: drives of one model are compared.

    What was set aside before keeps its reason.
    """
    return {
        name: replace(figure, set_aside=join_phrases((figure.set_aside, why)))
        for name in names
        if (figure := taken.get(name, Figure(None))).value is not None
    }


def take(rows: Sequence[FigureRow], sources: Mapping[str, FigureSource]) -> dict[str, Figure]:
    """Figures by their limits' names: only what is the drive's and counts."""
    figures = {}
    for name, (variant, metric, unit) in sources.items():
        matches = [row for row in rows if (row.variant, row.metric) == (variant, metric)]
        if not matches:
            # Of a buffered write there is a rate, with the flush at its end, and no latency.
            is_latency = metric.startswith("lat_") and "write" in str(variant)
            if is_latency and any(row.variant == variant for row in rows):
                figures[name] = Figure(
                    None, N_("RAM took the writes: only past the page cache it is its own")
                )
            continue
        good = [row for row in matches if row.valid and row.page_cache in _PAST_THE_CACHE]
        proven = [row for row in good if row.page_cache_proof == "proven"]
        if proven:
            worst = max if LIMITS[name].direction == "most" else min
            figures[name] = Figure(worst(row.value for row in proven) / unit)
        elif good:
            unproven = N_("that it met a {what} cache is not proven")
            figures[name] = Figure(None, Phrase(unproven, what=good[0].page_cache))
        elif any(not row.valid for row in matches):
            wrong = N_("the figure does not count: something went wrong under it")
            figures[name] = Figure(None, wrong)
        else:
            only = N_("measured with a {what} page cache only")
            figures[name] = Figure(None, Phrase(only, what=matches[0].page_cache))
    return figures


def sum_metric(rows: Iterable[FigureRow], variant: Variant, metric: str) -> float | None:
    """Over all of its rows; None where there is none."""
    values = [row.value for row in rows if (row.variant, row.metric) == (variant, metric)]
    return sum(values) if values else None
