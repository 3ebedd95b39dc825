# SPDX-License-Identifier: Apache-2.0
"""A verdict in words. Pure."""

import re
from typing import TYPE_CHECKING

from tui.format import show_number
from tui.language import N_, _
from tui.model.engine_words import say

if TYPE_CHECKING:
    from appliance.store.tables.verdicts import VerdictRow

SIGNS = {"reject": "×", "accept with remarks": "!", "quick look": "¼", "accept": "+"}
"""Of a verdict; a drive that is not rejected after a quick look has none of a full acceptance."""
WORDS = {
    SIGNS["reject"]: N_("REJECT"),
    SIGNS["accept with remarks"]: N_("remarks"),
    SIGNS["quick look"]: N_("quick look"),
    SIGNS["accept"]: N_("accept"),
}
"""Of each sign, as short as a column of a table needs it."""
_OUTCOMES = {"reject": N_("reject: {reason}"), "remark": N_("remark: {reason}")}


def find_sign(verdict: "VerdictRow") -> str:
    """Of the verdict on one drive."""
    if verdict.verdict != "reject" and verdict.depth == "quick look":
        return SIGNS["quick look"]
    return SIGNS[verdict.verdict]


def describe_depth(verdict: "VerdictRow") -> str:
    """`quick look, 2 % read`, or the depth alone where all was read."""
    if verdict.depth != "quick look":
        return _(verdict.depth)
    return f"{_('quick look')}, {describe_share(verdict)}"


def describe_share(verdict: "VerdictRow") -> str:
    """How much of a drive was read that was looked at quickly: `2 % read`."""
    if not verdict.read_percent:
        return _("surface not read")
    share = verdict.read_percent
    percent = show_number(share, ".1f") if share < 1 else show_number(min(round(share), 99), "d")
    return _("{share} read").format(share=f"{percent} %")


def list_reasons(verdict: "VerdictRow") -> list[str]:
    """What kept a drive from being accepted; reasons to reject it come first, marked as such."""
    texts = [say(text) for text in _split_reasons(verdict.reasons)]
    outcomes = verdict.outcomes.split(";") if verdict.outcomes else []
    if len(outcomes) != len(texts):  # nothing is guessed: the stick may have damaged some
        return texts
    return [
        _(_OUTCOMES[outcome]).format(reason=text)
        for outcome, text in zip(outcomes, texts, strict=True)
    ]


def say_reasons(verdict: "VerdictRow") -> str:
    """All of them in a line."""
    return "; ".join(map(say, _split_reasons(verdict.reasons)))


def _split_reasons(reasons: str) -> list[str]:
    """One text per reason. Within brackets a semicolon separates parts of one."""
    texts, depth = [""], 0
    for part in re.split(r"(; |[()])", reasons):
        depth = max(0, depth + (part == "(") - (part == ")"))
        if part == "; " and not depth:
            texts.append("")
        else:
            texts[-1] += part
    return [reason for reason in texts if reason]
