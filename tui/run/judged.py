# SPDX-License-Identifier: Apache-2.0
"""How many drives of a campaign are accepted, in letters to be read across a room. Pure.

Shown by sign, word and place, so that no colour is needed. A quick look has a word and a sign of
its own: nothing of it looks like a full acceptance.
"""

from collections import Counter
from dataclasses import dataclass

from rich.text import Text

from tui.charset import drawable_lines
from tui.language import N_, _
from tui.model.campaigns import Campaign
from tui.model.verdicts import SIGNS, find_sign
from tui.roles import SIGNS as ROLES
from tui.widgets.big_words import draw_words

_WORDS = {
    "×": N_("REJECT"),
    "!": N_("REMARKS"),
    "¼": N_("QUICK LOOK"),
    "+": N_("ACCEPT"),
}
"""In this order: what the user must act on comes first."""
_HEIGHT = 6
"""Lines of one figure, with the one below it."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What is drawn of a campaign that has ended."""

    bad: str
    """Rejected drives, in large letters; empty where there are none."""
    good: Text
    """All others, in large letters, each in the colour of its sign."""
    rest: str
    """What there was no room for, and what it is about, in a line."""
    is_clean: bool
    """Every drive is accepted, without remarks, and was looked at from end to end."""


def draw_judged(campaign: Campaign | None, *, width: int, height: int) -> Judged | None:
    """None where no drive of it was judged. `height`: how many lines there are for the letters."""
    if campaign is None or campaign.state != "done" or not campaign.verdicts:
        return None
    if not campaign.is_judged or campaign.judging_problem:
        return None
    counts = Counter(map(find_sign, campaign.verdicts))
    signs = [sign for sign in _WORDS if counts[sign]]
    # Rejected drives first, then what most of the others are.
    most = sorted(signs, key=lambda sign: (sign != SIGNS["reject"], -counts[sign]))
    most = most[: max(1, height // _HEIGHT)]
    large = [sign for sign in signs if sign in most]
    small = [_describe(sign, counts[sign]) for sign in signs if sign not in large]
    if missing := len(campaign.drives) - len(campaign.verdicts):
        small.append(_("{count} not judged").format(count=missing))
    if counts["¼"]:
        small.append(_("¼: not rejected, but a part of the drive was never read"))
    remarks = sum(
        find_sign(verdict) == "¼" and verdict.verdict != "accept" for verdict in campaign.verdicts
    )
    if remarks:
        small.append(_("!: {count} of them with remarks").format(count=remarks))
    figures = {sign: draw_words(_describe(sign, counts[sign]), width=width) for sign in large}
    bad = figures.pop("×", "")
    good = [Text(drawable_lines(words), ROLES[sign]) for sign, words in figures.items()]
    return Judged(
        bad=bad,
        good=Text("\n\n").join(good),
        rest="; ".join(small),
        is_clean=signs == ["+"] and not missing,
    )


def list_ways_on(campaign: Campaign | None) -> list[tuple[str, str]]:
    """The key to what a campaign that has ended has measured, and its label."""
    return [("4", _("Results"))] if campaign is not None and campaign.state == "done" else []


def _describe(sign: str, count: int) -> str:
    return f"{sign} {count} {_(_WORDS[sign])}"
