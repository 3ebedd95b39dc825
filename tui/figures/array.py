# SPDX-License-Identifier: Apache-2.0
"""An array's inner figures during a step, from its rows in `results`. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from appliance.samples.variants import CACHE_MODES, ArrayVariant
from appliance.store.read.figures import FigureRow
from appliance.workloads.fio.keys import FioVariant
from tui.charset import one_line
from tui.format import show_bytes, show_number
from tui.language import _
from tui.model.campaigns import Figure

_FEW = 3


def is_inner(row: FigureRow) -> bool:
    """Whether the row tells of the array's inside: no figure of the workload."""
    return isinstance(row.variant, ArrayVariant)


def describe_array(rows: Sequence[FigureRow]) -> tuple[str, ...]:
    """Lines: hits and dirty data over the step, the warm-ups, and what did not meet it clean."""
    return tuple(
        line for line in (_sum_up(rows), _describe_warm_ups(rows), _describe_unclean(rows)) if line
    )


def add_hits(figures: Iterable[Figure], rows: Sequence[FigureRow]) -> tuple[Figure, ...]:
    """The figures, each with the share of its part's reads that the array's cache answered.

    A figure of several parts (`direct/1`, `direct/2`) has no such single share.
    """
    hits = {
        this.part: row.value
        for row in rows
        if isinstance(this := row.variant, ArrayVariant) and row.metric == "hit_ratio"
    }
    shares = {part: _("{share} hit").format(share=_show_share(hit)) for part, hit in hits.items()}
    return tuple(
        replace(figure, text=f"{figure.text}  {shares[figure.name]}")
        if figure.name in shares
        else figure
        for figure in figures
    )


def _sum_up(rows: Sequence[FigureRow]) -> str:
    totals = {row.metric: row for row in rows if row.variant == ArrayVariant()}
    if not totals:
        return ""
    met = {row.array_mode for row in rows if row.array_mode and not is_inner(row)}
    modes = [mode for mode in CACHE_MODES if mode in met]
    parts = modes if len(modes) < 2 else [_("{count} cache modes").format(count=len(modes))]
    if "hit_ratio" in totals:
        share = _show_share(totals["hit_ratio"].value).strip()
        parts.append(_("hit ratio {share}").format(share=share))
    if "bypassed_bytes" in totals:
        amount = show_bytes(totals["bypassed_bytes"].value)
        parts.append(_("bypassed {amount}").format(amount=amount))
    if "dirty_end_bytes" in totals:
        amount = show_bytes(totals["dirty_end_bytes"].value)
        parts.append(_("dirty at end {amount}").format(amount=amount))
    text = ", ".join(parts)
    if all(row.valid for row in totals.values()):
        return text
    return _("({figures}: interrupted)").format(figures=text)


def _describe_warm_ups(rows: Sequence[FigureRow]) -> str:
    rounds = {
        this.mode: row
        for row in rows
        if isinstance(this := row.variant, FioVariant) and row.metric == "warm_up_rounds"
    }
    if not rounds:
        return ""
    unsettled = " " + _("NOT SETTLED")
    parts = [
        f"{mode} {rounds[mode].value:.0f}{'' if rounds[mode].valid else unsettled}"
        for mode in CACHE_MODES
        if mode in rounds
    ]
    return _("warm-up rounds: {all}").format(all=", ".join(parts))


def _describe_unclean(rows: Sequence[FigureRow]) -> str:
    """What began while something was only in the cache."""
    met = {
        one_line(str(row.variant)): row.array_dirty_bytes
        for row in rows
        if row.array_dirty_bytes and not is_inner(row)
    }
    if not met:
        return ""
    parts = [f"{name} {show_bytes(dirty)}" for name, dirty in list(met.items())[:_FEW]]
    names = ", ".join(parts)
    if len(met) > _FEW:
        names = _("{names} and {count} more").format(names=names, count=len(met) - _FEW)
    return _("not clean at its start: {names}").format(names=names)


def _show_share(ratio: float) -> str:
    return f"{show_number(ratio * 100, '5.1f')} %"
