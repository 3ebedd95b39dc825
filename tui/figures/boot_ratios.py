# SPDX-License-Identifier: Apache-2.0
"""How many times faster one drive's settled boots were than another's, in words. Pure."""

from textwrap import wrap

from tui.charset import drawable
from tui.figures.ratio_words import say_ratio
from tui.language import _
from tui.model.campaigns import BootRatio, Campaign


def describe_boot_ratios(campaign: Campaign, width: int) -> list[str]:
    """A block with a line for each drive beside the fastest one; none where none has settled."""
    said = [_describe(each) for each in campaign.boot_ratios]
    if campaign.unsettled:
        drives = ", ".join(campaign.unsettled)
        said.append(_("not settled, so not compared: {drives}").format(drives=drives))
    if not said:
        return []
    lines = [_("Settled boots side by side, with the interval of their ratio")]
    for text in said:
        lines += wrap(drawable(text), width, initial_indent="  ", subsequent_indent="    ")
    return ["\n".join(lines)]


def _describe(ratio: BootRatio) -> str:
    pair = _("{one} against {other}").format(one=ratio.one, other=ratio.other)
    one, other = ("; ".join(", ".join(map(_, each)) for each in p) for p in ratio.proofs)
    if one != other:
        # No word without the interval that belongs to it.
        why = _("{one} against {other}").format(one=one, other=other)
        return f"{pair}: {_('not compared')}: {why}"
    counts = _("n = {one} and {other}").format(one=ratio.counts[0], other=ratio.counts[1])
    return f"{pair}: {_say(ratio)} ({counts}; {one})"


def _say(ratio: BootRatio) -> str:
    if ratio.interval is None:
        return _("too few boots for an interval")
    return say_ratio(ratio.value, ratio.interval)
