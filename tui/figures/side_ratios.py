# SPDX-License-Identifier: Apache-2.0
"""Comparisons of several drives side by side: how many times faster, with the interval. Pure.

As the report says it, in the interface's language; settled boots have a block of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil
from textwrap import wrap

from tui.charset import drawable, shorten
from tui.format import show_number
from tui.language import N_, _
from tui.model.campaigns import BootRatio, Campaign
from tui.model.engine_words import name_device

_WORDS = (
    *(N_("began cold"), N_("first touches"), N_("repeats"), N_("all phases"), N_("mean speed")),
    *(N_("place by place"), N_("over record sizes"), N_("settled boots")),
)
"""Of the engine's names those that are no word of a plan."""

_COUNTED = {
    "slices": N_("{count} stretches of {together} slices"),
    "record sizes": N_("{count} record sizes"),
}


@dataclass(frozen=True, slots=True)
class SideRatio:
    """One thing that a drive measured, beside the fastest one that measured it alike."""

    one: str
    """The fastest."""
    other: str
    subject: str
    """`surface, place by place`"""
    state: str
    """The page cache that both met: `began cold, proven`."""
    counts: tuple[int, int]
    """Values of both."""
    value: float
    """How many times as fast the first one is."""
    interval: tuple[float, float] | None
    """With 95 % confidence, of all pairs at once where two are picked; None where there are too few
    values."""
    places: str = ""
    """What each value is of, where they were compared in pairs: a key of `_COUNTED`."""
    together: int = 1
    """So many places count as one."""
    range: tuple[float, float] = (1.0, 1.0)
    """Of the pairs the least and the largest ratio."""
    is_otherwise: bool = False
    """Whether both are of different campaigns, and settings of machine or drive were others."""
    picked_from: int = 2
    """Of so many drives that measured it alike they are the fastest and the slowest."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two drives that may be of different campaigns."""

    ratios: tuple[SideRatio, ...]
    refused: tuple[tuple[str, tuple[str, ...]], ...]
    """What both measured and is not compared: in what it differs, words of `WORDS`, or nothing
    where there are no values."""


WORDS = {
    "cache": N_("state of the caches"),
    "seed": N_("seed"),
    "size": N_("size"),
    "image": N_("version of Kaltstart"),
    "plan": N_("keys of the plan"),
}
"""In what two series may differ, as the command has it and for people."""


def describe_comparison(comparison: Comparison, width: int) -> list[str]:
    """Lines: each ratio with its interval, or without one, and what was not compared and why."""
    lines: list[str] = []
    for ratio in comparison.ratios:
        phrase = say_ratio(ratio.value, ratio.interval)
        text = (
            f"{_translate(ratio.subject)}: {phrase} "
            f"({_say_counts(ratio)}; {_translate(ratio.state)})"
        )
        lines += wrap(drawable(text), width, subsequent_indent="  ")
    if any(ratio.interval is None for ratio in comparison.ratios):
        text = _("Without an interval there are too few values: chance may do as much.")
        lines += ["", *wrap(text, width)]
    for subject, words in comparison.refused:
        why = _("no settled boots, or no values")
        if words:
            named = ", ".join(_(WORDS[word]) for word in words)
            why = _("not measured alike: {named}").format(named=named)
        text = _("{subject}: not compared, {why}").format(subject=_translate(subject), why=why)
        lines += wrap(drawable(text), width, subsequent_indent="  ")
    if any(ratio.is_otherwise for ratio in comparison.ratios):
        lines += ["", *wrap(_say_otherwise(), width)]
    return lines or [_("They have measured nothing alike.")]


def _say_otherwise() -> str:
    return _("settings of machine or drive are not the same in both campaigns: see their reports")


def describe_side_ratios(ratios: Sequence[SideRatio], width: int) -> list[str]:
    """A block: a line for each ratio that has an interval, and the names of those that have not."""
    if not ratios:
        return []
    lines = [_("Tests side by side, with the interval of their ratio")]
    known = [ratio for ratio in ratios if ratio.interval is not None]
    for subject, group in groupby(known, key=lambda each: each.subject):
        lines.append(shorten(f"  {_translate(subject)}", width))
        for ratio in group:
            lines += wrap(
                drawable(_describe(ratio)), width, initial_indent="    ", subsequent_indent="      "
            )
    few = [ratio for ratio in ratios if ratio.interval is None]
    for title, is_single in (
        (_("one value each, so no interval"), True),
        (_("too few values for an interval"), False),
    ):
        names = dict.fromkeys(
            _translate(ratio.subject) for ratio in few if (max(ratio.counts) == 1) is is_single
        )
        if names:
            text = f"{title}: {'; '.join(names)}"
            lines += wrap(drawable(text), width, initial_indent="  ", subsequent_indent="    ")
    if any(ratio.is_otherwise for ratio in ratios):
        lines += wrap(_say_otherwise(), width, initial_indent="  ", subsequent_indent="    ")
    return ["\n".join(lines)]


def _describe(ratio: SideRatio) -> str:
    pair = _("{one} against {other}").format(
        one=name_device(ratio.one), other=name_device(ratio.other)
    )
    phrase = say_ratio(ratio.value, ratio.interval)
    picked = _say_picked(ratio.picked_from)
    return f"{pair}: {phrase} ({picked}{_say_counts(ratio)}; {_translate(ratio.state)})"


def _say_picked(picked_from: int) -> str:
    """Why there is no other, and why the interval is wide."""
    if picked_from == 2:
        return ""
    return _("the fastest and the slowest of {count}").format(count=picked_from) + "; "


def _say_counts(ratio: SideRatio) -> str:
    if not ratio.places:
        return _("n = {one} and {other}").format(one=ratio.counts[0], other=ratio.counts[1])
    counted = _(_COUNTED.get(ratio.places, ratio.places)).format(
        count=ratio.counts[0], together=ratio.together
    )
    low, high = map(say_times, ratio.range)
    return _("{counted}, from {low} to {high}").format(counted=counted, low=low, high=high)


def _translate(text: str) -> str:
    return ", ".join(map(_, text.split(", ")))


def say_ratio(value: float, interval: tuple[float, float] | None) -> str:
    """`1.94 times faster, 1.88 to 2.01`, or how large a difference may be that is not seen."""
    if interval is None:
        return say_times(value)
    low, high = interval
    if low <= 1.0 <= high:
        # Rounded up: it is a bound.
        hidden = ceil((max(high, 1.0 / low) - 1.0) * 1000.0) / 10.0
        share = f"{show_number(hidden, '.1f')} %"
        return _("no difference larger than {share} can be seen").format(share=share)
    if value < 1.0:
        return _("{times} times slower, {low} to {high}").format(
            times=_show(1.0 / value), low=_show(1.0 / high), high=_show(1.0 / low)
        )
    return _("{times} times faster, {low} to {high}").format(
        times=_show(value), low=_show(low), high=_show(high)
    )


def say_times(value: float) -> str:
    """The same without an interval."""
    if value < 1.0:
        return _("{times} times slower").format(times=_show(1.0 / value))
    return _("{times} times faster").format(times=_show(value))


def _show(value: float) -> str:
    """Two decimals below ten; three near 1, where two would say that nothing differs."""
    return show_number(value, ".3f" if value < 1.01 else ".2f" if value < 10 else ".0f")


def describe_boot_ratios(campaign: Campaign, width: int) -> list[str]:
    """A block with a line for each drive beside the fastest one; none where none has settled."""
    texts = [_describe_boots(ratio) for ratio in campaign.boot_ratios]
    if campaign.unsettled:
        drives = ", ".join(campaign.unsettled)
        texts.append(_("not settled, so not compared: {drives}").format(drives=drives))
    if not texts:
        return []
    lines = [_("Settled boots side by side, with the interval of their ratio")]
    for text in texts:
        lines += wrap(drawable(text), width, initial_indent="  ", subsequent_indent="    ")
    return ["\n".join(lines)]


def _describe_boots(ratio: BootRatio) -> str:
    pair = _("{one} against {other}").format(one=ratio.one, other=ratio.other)
    one, other = ("; ".join(", ".join(map(_, words)) for words in p) for p in ratio.proofs)
    if one != other:
        # No word without the interval that belongs to it.
        why = _("{one} against {other}").format(one=one, other=other)
        return f"{pair}: {_('not compared')}: {why}"
    counts = _("n = {one} and {other}").format(one=ratio.counts[0], other=ratio.counts[1])
    phrase = _("too few boots for an interval")
    if ratio.interval is not None:
        phrase = say_ratio(ratio.value, ratio.interval)
    return f"{pair}: {phrase} ({_say_picked(ratio.picked_from)}{counts}; {one})"
